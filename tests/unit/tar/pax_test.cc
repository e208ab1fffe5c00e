#include "tar/pax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tar_writer.h"

namespace tarn::tar {
namespace {

using support::TarWriter;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

struct Parsed {
  PaxValues values;
  PaxOutcome outcome;
  std::vector<std::pair<FindingCode, Severity>> problems;
};

Parsed Parse(std::string_view records, size_t xattr_limit = 1 << 20) {
  Parsed parsed;
  parsed.outcome = ParsePaxRecords(records, xattr_limit, &parsed.values,
                                   [&](FindingCode code, Severity severity, const std::string& detail) {
                                     EXPECT_FALSE(detail.empty());
                                     parsed.problems.emplace_back(code, severity);
                                   });
  return parsed;
}
std::string Record(std::string_view keyword, std::string_view value) {
  return TarWriter::PaxRecord(keyword, value);
}

TEST(Pax, LengthEndsARecordNotTheNewline) {
  const Parsed parsed = Parse(Record("path", "a\nb\0c"s) + Record("uid", "7"));
  EXPECT_EQ(parsed.values.path, "a\nb\0c"s);
  EXPECT_EQ(parsed.values.uid, 7U);
  EXPECT_THAT(parsed.problems, IsEmpty());
}

TEST(Pax, TheLastOfSeveralRecordsWins) {
  EXPECT_EQ(Parse(Record("path", "one") + Record("path", "two")).values.path, "two");
}

TEST(Pax, AnEmptyValueTakesBack) {
  const Parsed parsed = Parse(Record("path", "one") + Record("path", ""));
  EXPECT_FALSE(parsed.values.Has(kPaxPath));
  EXPECT_EQ(parsed.values.erased & kPaxPath, kPaxPath);
  EXPECT_TRUE(Parse(Record("path", "") + Record("path", "x")).values.Has(kPaxPath));
}

TEST(Pax, BadFramingSpoilsTheMember) {
  for (const std::string& bad :
       {"0 path=x\n"s, "-9 path=x\n"s, "99999999999999999999999 path=x\n"s, "20 path=x\n"s, "8 path=x\n"s,
        "9 pathx=\n\n"s, "path=x\n"s, "7 path\n"s, "3"s, "2 "s, " "s}) {
    const Parsed parsed = Parse(Record("uid", "7") + bad);
    EXPECT_TRUE(parsed.outcome.spoils) << bad;
    EXPECT_FALSE(parsed.outcome.size_unknown) << bad;
    EXPECT_EQ(parsed.values.uid, 7U) << "records before the bad one count";
    EXPECT_THAT(parsed.problems, ElementsAre(Pair(FindingCode::kBadPaxRecord, Severity::kError))) << bad;
  }
}

TEST(Pax, AnEmptyKeywordIsIgnoredWithAWarning) {
  const Parsed parsed = Parse("5 =x\n" + Record("path", "p"));
  EXPECT_FALSE(parsed.outcome.spoils);
  EXPECT_EQ(parsed.values.path, "p");
  EXPECT_THAT(parsed.problems, ElementsAre(Pair(FindingCode::kBadPaxRecord, Severity::kWarning)));
}

TEST(Pax, PaddingOfZerosInTheSizeIsNoRecord) {
  const Parsed parsed = Parse(Record("path", "p") + std::string(7, '\0'));
  EXPECT_FALSE(parsed.outcome.spoils);
  EXPECT_THAT(parsed.problems, IsEmpty());
}

TEST(Pax, ASizeThatCannotBeIsAnError) {
  const std::vector<std::pair<std::string, FindingCode>> cases{
      {"-1", FindingCode::kNegativeSize},
      {"9223372036854775808", FindingCode::kSizeOverflow},
      {"99999999999999999999999999", FindingCode::kSizeOverflow},
      {"12x", FindingCode::kBadPaxValue},
  };
  for (const auto& [value, code] : cases) {
    const Parsed parsed = Parse(Record("size", value));
    EXPECT_TRUE(parsed.outcome.size_unknown) << value;
    EXPECT_THAT(parsed.problems, ElementsAre(Pair(code, Severity::kError))) << value;
  }
}

TEST(Pax, AnOwnerOrTimeThatIsNoNumberIsIgnored) {
  for (const char* keyword : {"uid", "gid", "mtime", "SCHILY.devmajor", "SCHILY.devminor"}) {
    const Parsed parsed = Parse(Record(keyword, "none"));
    EXPECT_FALSE(parsed.outcome.spoils);
    EXPECT_EQ(parsed.values.set, 0U) << keyword;
    EXPECT_THAT(parsed.problems, ElementsAre(Pair(FindingCode::kBadPaxValue, Severity::kWarning))) << keyword;
  }
}

TEST(Pax, XattrsComeInBothSpellings) {
  const Parsed parsed =
      Parse(Record("SCHILY.xattr.user.a", "\0\xff"s) + Record("LIBARCHIVE.xattr.user.b%20c", "aGk="));
  EXPECT_THAT(parsed.values.xattrs, ElementsAre(Pair("user.a", "\0\xff"s), Pair("user.b c", "hi")));
}

TEST(Pax, XattrsOfBadNameOrValueAreIgnoredWithAWarning) {
  const Parsed parsed = Parse(Record("SCHILY.xattr.", "x") + Record("SCHILY.xattr.a\0b"s, "x") +
                              Record("LIBARCHIVE.xattr.user.b", "!!"));
  EXPECT_THAT(parsed.values.xattrs, IsEmpty());
  EXPECT_EQ(parsed.problems.size(), 3U);
  for (const auto& problem : parsed.problems) {
    EXPECT_EQ(problem, std::pair(FindingCode::kBadPaxValue, Severity::kWarning));
  }
}

TEST(Pax, XattrsBeyondTheLimitAreLeftOut) {
  const Parsed parsed =
      Parse(Record("SCHILY.xattr.user.a", "12345678") + Record("SCHILY.xattr.user.b", "1"), 14);
  EXPECT_THAT(parsed.values.xattrs, ElementsAre(Pair("user.a", "12345678")));
  EXPECT_THAT(parsed.problems, ElementsAre(Pair(FindingCode::kLimitReached, Severity::kWarning)));
}

TEST(Pax, TheLastOfEqualXattrsWinsAndOwnBeatGlobal) {
  const Parsed global = Parse(Record("SCHILY.xattr.user.a", "g") + Record("SCHILY.xattr.user.z", "g"));
  const Parsed own = Parse(Record("SCHILY.xattr.user.a", "1") + Record("SCHILY.xattr.user.a", "2"));
  std::vector<std::pair<std::string, std::string>> xattrs;
  MergeXattrs(global.values, own.values, &xattrs);
  EXPECT_THAT(xattrs, ElementsAre(Pair("user.a", "2"), Pair("user.z", "g")));
}

TEST(Pax, SparsePairsComeInTurn) {
  EXPECT_TRUE(Parse(Record("GNU.sparse.numbytes", "1")).values.sparse_trouble);
  EXPECT_TRUE(
      Parse(Record("GNU.sparse.offset", "1") + Record("GNU.sparse.offset", "1")).values.sparse_trouble);
  EXPECT_TRUE(Parse(Record("GNU.sparse.offset", "x")).values.sparse_trouble);
  EXPECT_TRUE(Parse(Record("GNU.sparse.map", "1,2,3")).values.sparse_trouble);
  EXPECT_TRUE(Parse(Record("GNU.sparse.map", "1,,3")).values.sparse_trouble);
  const Parsed good = Parse(Record("GNU.sparse.offset", "1") + Record("GNU.sparse.numbytes", "2"));
  EXPECT_FALSE(good.values.sparse_trouble);
  ASSERT_EQ(good.values.sparse_entries.size(), 1U);
  EXPECT_EQ(good.values.sparse_entries[0].offset, 1U);
  EXPECT_EQ(good.values.sparse_entries[0].length, 2U);
}

}  // namespace
}  // namespace tarn::tar

#include "tarn/tar/finding.h"

#include <gtest/gtest.h>

#include <set>

namespace tarn::tar {
namespace {

TEST(FindingCode, EveryCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int code = static_cast<int>(FindingCode::kTruncatedHeader);
       code <= static_cast<int>(FindingCode::kLimitReached); ++code) {
    names.insert(FindingCodeName(static_cast<FindingCode>(code)));
  }
  EXPECT_EQ(names.size(), 25U);
  EXPECT_EQ(names.count("UNKNOWN"), 0U);
  EXPECT_EQ(FindingCodeName(FindingCode::kTruncatedHeader), "TRUNCATED_HEADER");
  EXPECT_EQ(FindingCodeName(FindingCode::kDanglingExtension), "DANGLING_EXTENSION");
  EXPECT_EQ(FindingCodeName(FindingCode::kLimitReached), "LIMIT_REACHED");
}

TEST(FindingList, KeepsSoManyOfEachSeverityAndCountsAll) {
  FindingList list(2);
  for (int i = 0; i < 5; ++i) list.Add({FindingCode::kBadName, Severity::kWarning, 0, "", ""});
  list.Add({FindingCode::kBadChecksum, Severity::kError, 7, "", ""});
  EXPECT_EQ(list.warnings(), 5U);
  EXPECT_EQ(list.errors(), 1U);
  ASSERT_EQ(list.kept().size(), 3U) << "an error is kept however many warnings came before it";
  EXPECT_EQ(list.kept()[2].offset, 7U);
}

}  // namespace
}  // namespace tarn::tar

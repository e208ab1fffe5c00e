// Damage and limits: each ends in a finding with its offset, keeps the members before it, and goes on behind
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tarn/tar/header_walker.h"
#include "tests/support/pseudo_random.h"
#include "tests/support/tar_writer.h"
#include "tests/support/walked.h"

namespace tarn::tar {
namespace {

using support::TarDialect;
using support::TarHeader;
using support::TarWriter;
using support::WalkBytes;
using support::Walked;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

std::string Record(std::string_view keyword, std::string_view value) {
  return TarWriter::PaxRecord(keyword, value);
}

// before, whatever `add` writes, after.
template <typename Function>
Walked Around(Function add, const WalkOptions& options = {}) {
  TarWriter writer;
  writer.AddFile("before", "b");
  add(&writer);
  writer.AddFile("after", "a");
  return WalkBytes(writer.Finish(), options);
}

TEST(Damage, ABadChecksumIsReportedAndTheNextHeaderFound) {
  const Walked walked = Around([](TarWriter* writer) {
    TarHeader header = TarWriter::Named("broken");
    header.after_checksum = {{0, "B"}};
    writer->AddFile(header, std::string(2000, 'x'));
  });
  EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
  ASSERT_THAT(walked.Codes(), ElementsAre("error BAD_CHECKSUM@1024"));
  EXPECT_EQ(walked.findings[0].member, "before");
  EXPECT_NE(walked.findings[0].detail.find("the next header is at 3584"), std::string::npos);
}

TEST(Damage, AZeroChecksumFieldIsNoChecksum) {
  const Walked walked = Around([](TarWriter* writer) {
    TarHeader header = TarWriter::Named("broken");
    header.after_checksum = {{148, std::string(8, '\0')}};
    writer->Add(header);
  });
  EXPECT_THAT(walked.Codes(), ElementsAre("error BAD_CHECKSUM@1024"));
  EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
}

TEST(Damage, AFirstBlockThatIsNoHeaderIsNoTar) {
  for (const std::string& bytes :
       {support::PseudoRandom(1).Bytes(4096), std::string("hello"), std::string(600, 't')}) {
    const Walked walked = WalkBytes(bytes);
    EXPECT_THAT(walked.members, IsEmpty());
    EXPECT_THAT(walked.Codes(), ElementsAre("error NOT_A_TAR@0"));
  }
  EXPECT_THAT(WalkBytes("").Codes(), ElementsAre("error NOT_A_TAR@0"));
}

TEST(Damage, ReadingPastZerosDoesNotMakeATar) {
  WalkOptions options;
  options.ignore_zeros = true;
  const std::string bytes = std::string(2048, '\0') + support::PseudoRandom(2).Bytes(4096);
  for (const WalkOptions& either : {WalkOptions(), options}) {
    const Walked walked = WalkBytes(bytes, either);
    EXPECT_EQ(walked.errors, 1U);
    EXPECT_EQ(walked.Codes().at(0), "error NOT_A_TAR@0");
  }
}

TEST(Damage, ACompressedStreamIsNamed) {
  for (const size_t size : {40U, 4000U}) {
    const Walked walked = WalkBytes("\x1f\x8b\x08\0"s + support::PseudoRandom(3).Bytes(size));
    EXPECT_THAT(walked.Codes(), ElementsAre("error COMPRESSED@0"));
    EXPECT_NE(walked.findings[0].detail.find("gzip"), std::string::npos);
  }
}

TEST(Damage, ASizeThatCannotBeLosesTheMemberOnly) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"-0000000001\0"s, "BAD_NUMBER"},
      {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s, "NEGATIVE_SIZE"},
      {"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"s, "SIZE_OVERFLOW"},
      {"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xfe\0"s, "SIZE_OVERFLOW"},
      {"\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s, "SIZE_OVERFLOW"},
  };
  for (const auto& [field, code] : cases) {
    const Walked walked = Around([&, bytes = field](TarWriter* writer) {
      TarHeader header = TarWriter::Named("sized");
      header.patches = {{124, bytes}};
      writer->Add(header);
    });
    EXPECT_THAT(walked.Names(), ElementsAre("before", "after")) << code;
    EXPECT_THAT(walked.Codes(), ElementsAre("error " + code + "@1024"));
  }
}

TEST(Damage, APaxSizeThatCannotBeLosesTheMemberOnly) {
  for (const auto& [value, code] : std::vector<std::pair<std::string, std::string>>{
           {"-5", "NEGATIVE_SIZE"}, {"99999999999999999999", "SIZE_OVERFLOW"}, {"many", "BAD_PAX_VALUE"}}) {
    const Walked walked = Around([size = value](TarWriter* writer) {
      writer->AddPax(Record("size", size));
      writer->AddFile("sized", "x");
    });
    EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
    EXPECT_THAT(walked.Codes(), ElementsAre("error " + code + "@1024"));
  }
}

TEST(Damage, AVolumeLabelOfNegativeSizeEndsTheLoop) {
  const Walked walked = Around([](TarWriter* writer) {
    TarHeader header = TarWriter::Named("label");
    header.type = 'V';
    header.dialect = TarDialect::kGnu;
    header.patches = {{124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\0"s}};
    writer->Add(header);
  });
  EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
  EXPECT_THAT(walked.Codes(), ElementsAre("error NEGATIVE_SIZE@1024"));
}

TEST(Damage, BadPaxRecordsLoseTheMemberBehindThem) {
  const Walked walked = Around([](TarWriter* writer) {
    writer->AddPax("0 path=x\n");
    writer->AddFile("f", "hello");
  });
  EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
  EXPECT_THAT(walked.Codes(), ElementsAre("error BAD_PAX_RECORD@1024"));
}

TEST(Damage, AnUnusableTimeKeepsTheHeadersOwn) {
  const Walked walked = Around([](TarWriter* writer) {
    writer->AddPax(Record("mtime", "yesterday"));
    writer->AddFile("f", "hello");
  });
  EXPECT_THAT(walked.Codes(), ElementsAre("warning BAD_PAX_VALUE@1024"));
  EXPECT_EQ(walked.members.at(1).mtime, 1'700'000'000);
}

TEST(Damage, AnExtendedHeaderWithoutMemberIsReported) {
  TarWriter at_marker;
  at_marker.AddPax(Record("path", "gone"));
  EXPECT_THAT(WalkBytes(at_marker.Finish()).Codes(), ElementsAre("error DANGLING_EXTENSION@0"));
  TarWriter at_end;
  at_end.AddFile("a", "x");
  at_end.AddGnuLong('L', "gone");
  EXPECT_THAT(WalkBytes(at_end.bytes()).Codes(), ElementsAre("error DANGLING_EXTENSION@1024"));
}

TEST(Damage, WhatWasPendingDoesNotStickToTheNextArchive) {
  TarWriter writer;
  writer.AddPax(Record("path", "pending"));
  writer.AddZeroBlocks(2);
  writer.AddFile("second", "x");
  WalkOptions options;
  options.ignore_zeros = true;
  const Walked walked = WalkBytes(writer.Finish(), options);
  EXPECT_THAT(walked.Names(), ElementsAre("second"));
  EXPECT_THAT(walked.Codes(), ElementsAre("error DANGLING_EXTENSION@0"));
}

TEST(Damage, AContinuationFromAnotherVolumeIsReported) {
  const Walked walked = Around([](TarWriter* writer) {
    TarHeader header = TarWriter::Named("part");
    header.type = 'M';
    header.dialect = TarDialect::kGnu;
    writer->AddFile(header, "rest of it");
  });
  EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
  EXPECT_THAT(walked.Codes(), ElementsAre("error MULTIVOLUME@1024"));
}

TEST(Ending, MarkersAreHeldAgainstTheirRule) {
  TarWriter writer;
  writer.AddFile("a", "x");
  EXPECT_THAT(WalkBytes(writer.bytes()).Codes(), ElementsAre("warning MISSING_EOF@1024"));
  EXPECT_THAT(WalkBytes(writer.bytes() + std::string(512, '\0')).Codes(),
              ElementsAre("warning LONE_ZERO_BLOCK@1024"));
  EXPECT_THAT(WalkBytes(writer.bytes() + std::string(1024, '\0')).Codes(), IsEmpty());
  EXPECT_THAT(WalkBytes(writer.bytes() + std::string(9216, '\0')).Codes(), IsEmpty()) << "record padding";
  EXPECT_THAT(WalkBytes(std::string(1024, '\0')).Codes(), IsEmpty()) << "the canonical empty archive";
  EXPECT_THAT(WalkBytes(std::string(512, '\0')).Codes(), ElementsAre("warning LONE_ZERO_BLOCK@0"));
}

TEST(Ending, TrailingBytesAreAWarning) {
  TarWriter writer;
  writer.AddFile("a", "x");
  writer.Finish();
  EXPECT_THAT(WalkBytes(writer.bytes() + "x").Codes(), ElementsAre("warning DATA_AFTER_EOF@2048"));
  EXPECT_THAT(WalkBytes(writer.bytes() + std::string(700, '\0') + "x").Codes(),
              ElementsAre("warning DATA_AFTER_EOF@2560"));
}

TEST(Ending, ALoneZeroBlockBeforeAHeaderIsNotTheEnd) {
  const Walked walked = Around([](TarWriter* writer) { writer->AddZeroBlocks(1); });
  EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
  EXPECT_THAT(walked.Codes(), ElementsAre("warning LONE_ZERO_BLOCK@1024"));
}

TEST(Ending, MissingPaddingIsNotMissingData) {
  TarWriter writer;
  writer.AddFile("a", std::string(700, 'x'));
  const Walked walked = WalkBytes(std::string_view(writer.bytes()).substr(0, 512 + 700));
  EXPECT_EQ(walked.members.size(), 1U);
  EXPECT_THAT(walked.Codes(), ElementsAre("warning MISSING_EOF@1212"));
}

// Cuts a good archive at every byte and holds the answer against what a reader may believe.
TEST(Ending, EveryCutIsSaidAndNoMemberBeforeItIsLost) {
  TarWriter writer;
  writer.AddFile("first", std::string(600, '1'));
  writer.AddPax(Record("path", "second") + Record("mtime", "5.5"));
  writer.AddFile("x", std::string(20, '2'));
  writer.AddGnuLong('L', std::string(150, 'n'));
  writer.AddFile("y", std::string(512, '3'));
  TarHeader sparse = TarWriter::Named("sparse");
  sparse.dialect = TarDialect::kGnu;
  sparse.type = 'S';
  sparse.patches = {{386, TarWriter::Segment(512, 10)}, {482, "\x01"}, {483, TarWriter::Number12(9999)}};
  sparse.size = 20;
  writer.Add(sparse);
  std::string extension = TarWriter::Segment(2048, 10);
  writer.AddData(extension);
  writer.AddData(std::string(20, '4'));
  const std::string good = writer.Finish();
  const Walked whole = WalkBytes(good);
  ASSERT_EQ(whole.members.size(), 4U);
  ASSERT_THAT(whole.Codes(), IsEmpty());
  const uint64_t data_end = good.size() - 1024;

  for (size_t cut = 0; cut < good.size(); ++cut) {
    const Walked walked = WalkBytes(std::string_view(good).substr(0, cut));
    ASSERT_FALSE(walked.findings.empty()) << "cut at " << cut;
    size_t complete = 0;
    for (const Member& member : whole.members) {
      if (member.data_offset + member.stored_size <= cut) ++complete;
    }
    ASSERT_GE(walked.members.size(), complete) << "cut at " << cut;
    ASSERT_LE(walked.members.size(), complete + 1) << "cut at " << cut;
    for (size_t i = 0; i < complete; ++i) {
      ASSERT_EQ(walked.members[i].name, whole.members[i].name);
      ASSERT_EQ(walked.members[i].extents, whole.members[i].extents);
    }
    if (walked.members.size() > complete) {
      // The member that was cut is listed as the header has it, and said to be cut.
      ASSERT_EQ(walked.findings.back().code, FindingCode::kTruncatedData) << "cut at " << cut;
    }
    if (cut >= data_end) {
      ASSERT_EQ(walked.errors, 0U) << "cut at " << cut;
    }
    for (const Finding& finding : walked.findings) ASSERT_LE(finding.offset, cut);
  }
}

// Flips bits of a good archive: the walk must end, in order and within the file.
TEST(Damage, NoFlippedBitMakesTheWalkLoseItsWay) {
  TarWriter writer;
  for (int i = 0; i < 6; ++i) {
    writer.AddPax(Record("path", "name" + std::to_string(i)) + Record("SCHILY.xattr.user.k", "v"));
    writer.AddFile("x", std::string(static_cast<size_t>(100 * i), 'd'));
  }
  const std::string good = writer.Finish();
  support::PseudoRandom random(4);
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good;
    for (uint64_t flips = 1 + random.Below(3); flips > 0; --flips) {
      bad[random.Below(bad.size())] ^= static_cast<char>(1U << random.Below(8));
    }
    const Walked walked = WalkBytes(bad);
    uint64_t offset = 0;
    for (const Member& member : walked.members) {
      ASSERT_GE(member.header_offset, offset);
      ASSERT_LE(member.data_offset + member.stored_size, bad.size());
      offset = member.data_offset;
    }
  }
}

WalkOptions Limited() {
  WalkOptions options;
  options.limits = {.extension_bytes = 1000,
                    .pending_extension_bytes = 1500,
                    .global_bytes = 1200,
                    .sparse_extents = 8,
                    .xattr_bytes = 50};
  return options;
}

TEST(Limits, OneExtendedHeader) {
  const auto add = [](TarWriter* writer) {
    writer->AddGnuLong('L', std::string(1000, 'n'));
    writer->AddFile("long", "x");
  };
  const Walked walked = Around(add, Limited());
  EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
  EXPECT_THAT(walked.Codes(), ElementsAre("error EXTENSION_TOO_LARGE@1024"));
  EXPECT_THAT(Around(add).Codes(), IsEmpty());
}

TEST(Limits, AClaimIsHeldAgainstTheLimitBeforeTheFile) {
  TarWriter writer;
  TarHeader header = TarWriter::Named("x");
  header.type = 'x';
  header.size = uint64_t{8} << 30;
  writer.Add(header);
  EXPECT_THAT(WalkBytes(writer.Finish()).Codes(), ElementsAre("error EXTENSION_TOO_LARGE@0"));
}

TEST(Limits, AllExtendedHeadersBeforeOneMember) {
  const Walked walked = Around(
      [](TarWriter* writer) {
        writer->AddPax(Record("comment", std::string(900, 'c')));
        writer->AddPax(Record("comment", std::string(900, 'c')));
        writer->AddFile("long", "x");
      },
      Limited());
  EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
  EXPECT_THAT(walked.Codes(), ElementsAre("error LIMIT_REACHED@2560"));
}

TEST(Limits, GlobalHeaders) {
  const Walked walked = Around(
      [](TarWriter* writer) {
        writer->AddPax(Record("comment", std::string(900, 'c')), 'g');
        writer->AddPax(Record("comment", std::string(900, 'c')), 'g');
      },
      Limited());
  EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
  EXPECT_THAT(walked.Codes(), ElementsAre("error LIMIT_REACHED@2560"));
}

TEST(Limits, Xattrs) {
  const Walked walked = Around(
      [](TarWriter* writer) {
        writer->AddPax(Record("SCHILY.xattr.user.a", std::string(30, 'a')) +
                       Record("SCHILY.xattr.user.b", std::string(30, 'b')));
        writer->AddFile("f", "x");
      },
      Limited());
  EXPECT_THAT(walked.Codes(), ElementsAre("warning LIMIT_REACHED@1024"));
  EXPECT_EQ(walked.members.at(1).xattrs.size(), 1U);
}

TEST(Limits, SparseExtents) {
  const auto map = [](int segments) {
    std::string text;
    for (int i = 0; i < segments; ++i) text += (i == 0 ? "" : ",") + std::to_string(2 * i) + ",1";
    return text;
  };
  for (const int segments : {4, 5}) {
    const Walked walked = Around(
        [&](TarWriter* writer) {
          writer->AddPax(Record("GNU.sparse.map", map(segments)) + Record("GNU.sparse.size", "100"));
          writer->AddFile("f", std::string(static_cast<size_t>(segments), 'x'));
        },
        Limited());
    if (segments == 4) {
      EXPECT_THAT(walked.Codes(), IsEmpty());
    } else {
      EXPECT_THAT(walked.Codes(), ElementsAre("error LIMIT_REACHED@2048"));
      EXPECT_THAT(walked.Names(), ElementsAre("before", "after"));
    }
  }
}

TEST(Limits, FindingsKept) {
  TarWriter writer;
  for (int i = 0; i < 50; ++i) {
    writer.AddPax(Record("mtime", "never"));
    writer.AddFile("f", "");
  }
  writer.Finish();
  support::StepReader reader(writer.bytes(), 4096);
  FindingList findings(10);
  HeaderWalker walker(&reader, &findings);
  Member member;
  while (*walker.Next(&member)) {
  }
  EXPECT_EQ(findings.kept().size(), 10U);
  EXPECT_EQ(findings.warnings(), 50U);
}

}  // namespace
}  // namespace tarn::tar

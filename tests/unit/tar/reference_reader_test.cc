#include "tarn/tar/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/memory_file.h"
#include "tests/support/tar_writer.h"

namespace tarn::tar {
namespace {

using support::MemoryFile;
using support::TarHeader;
using support::TarWriter;
using testing::IsEmpty;

std::string Record(std::string_view keyword, std::string_view value) {
  return TarWriter::PaxRecord(keyword, value);
}

ReferenceReport Compare(const std::string& bytes) {
  const MemoryFile file(bytes);
  Result<ReferenceReport> report = CompareWithReference(file, bytes.size());
  EXPECT_TRUE(report.ok());
  return report.ok() ? std::move(report).value() : ReferenceReport();
}

std::vector<std::string> Lines(const ReferenceReport& report) {
  std::vector<std::string> lines;
  for (const Difference& d : report.differences) {
    lines.push_back(d.member + " " + d.field + ": " + d.ours + " / " + d.theirs + " (" + d.reason + ")");
  }
  return lines;
}

TEST(Reference, SoundArchivesOfEveryKindAreTheSame) {
  TarWriter writer;
  writer.AddDirectory("d/");
  writer.AddFile("d/a", std::string(3000, 'a'));
  writer.AddPax(Record("path", "d/" + std::string(200, 'p')) + Record("mtime", "5.25") +
                Record("uid", "3000000"));
  writer.AddFile("x", "pax");
  writer.AddGnuLong('L', std::string(300, 'l'));
  writer.AddFile("y", "gnu");
  writer.AddLink("s", '2', "d/a");
  writer.AddLink("h", '1', "d/a");
  writer.AddPax(Record("GNU.sparse.size", "100") + Record("GNU.sparse.map", "10,4,50,1"));
  writer.AddFile("sparse", "01234");
  const ReferenceReport report = Compare(writer.Finish());
  EXPECT_THAT(Lines(report), IsEmpty());
  EXPECT_EQ(report.members, 7U);
  EXPECT_EQ(report.reference_members, 7U);
}

TEST(Reference, KnownDifferencesCarryTheirReason) {
  TarWriter global;
  global.AddPax(Record("uid", "7"), 'g');
  global.AddFile("a", "x");
  TarWriter negative;
  negative.AddPax(Record("mtime", "-1.5"));
  negative.AddFile("a", "x");
  TarWriter lone;
  lone.AddFile("a", "x");
  lone.AddZeroBlocks(1);
  lone.AddFile("b", "y");
  TarWriter damaged;
  damaged.AddFile("a", "x");
  TarHeader bad;
  bad.after_checksum = {{0, "?"}};
  damaged.Add(bad);
  damaged.AddFile("b", "y");
  for (TarWriter* writer : {&global, &negative, &lone, &damaged}) {
    const ReferenceReport report = Compare(writer->Finish());
    EXPECT_GT(report.explained, 0U);
    EXPECT_EQ(report.unexplained, 0U) << testing::PrintToString(Lines(report));
    for (const Difference& difference : report.differences) EXPECT_NE(difference.reason, "");
  }
}

TEST(Reference, TheVersionIsNamed) {
  EXPECT_THAT(ReferenceName(), testing::MatchesRegex("libarchive [0-9.]+"));
}

}  // namespace
}  // namespace tarn::tar

#include "indexer/classify.h"

#include <gtest/gtest.h>

#include "indexer/first_block.h"
#include "tests/support/scratch.h"
#include "tests/support/tar_writer.h"

namespace tarn::indexer {
namespace {

using support::TarDialect;
using support::TarHeader;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(FirstBlockTest, EveryDialectIsATar) {
  for (const TarDialect dialect : {TarDialect::kV7, TarDialect::kUstar, TarDialect::kGnu}) {
    TarHeader header;
    header.dialect = dialect;
    EXPECT_TRUE(IsTarBlock(Bytes(support::TarWriter::Block(header))));
    header.checksum = support::TarChecksum::kSigned;
    header.name = "\xe4\xf6\xfc";
    EXPECT_TRUE(IsTarBlock(Bytes(support::TarWriter::Block(header))));
  }
}

TEST(FirstBlockTest, AnArchiveOfNoMembersIsATar) {
  EXPECT_TRUE(IsTarBlock(Bytes(std::string(512, '\0'))));
}

TEST(FirstBlockTest, ADamagedHeaderWithMagicIsATarThatTheWalkReports) {
  TarHeader header;
  header.after_checksum = {{0, "other name"}};
  EXPECT_TRUE(IsTarBlock(Bytes(support::TarWriter::Block(header))));
  header.dialect = TarDialect::kV7;
  EXPECT_FALSE(IsTarBlock(Bytes(support::TarWriter::Block(header))));
}

TEST(FirstBlockTest, WhatIsNoHeaderIsNoTar) {
  EXPECT_FALSE(IsTarBlock({}));
  EXPECT_FALSE(IsTarBlock(Bytes(std::string(511, '\0'))));
  EXPECT_FALSE(IsTarBlock(Bytes(std::string(512, 'x'))));
  EXPECT_FALSE(IsTarBlock(Bytes(std::string(512, ' '))));
}

TEST(FirstBlockTest, CompressorsAreKnownByTheirMagic) {
  EXPECT_EQ(CompressorOf(Bytes("\x1f\x8b\x08")), "gzip");
  EXPECT_EQ(CompressorOf(Bytes("BZh9")), "bzip2");
  EXPECT_EQ(CompressorOf(Bytes("\x28\xb5\x2f\xfd....")), "zstd");
  EXPECT_EQ(CompressorOf(Bytes(std::string_view("\xfd"
                                                "7zXZ\0\0",
                                                7))),
            "xz");
  EXPECT_EQ(CompressorOf(Bytes("ustar")), "");
  EXPECT_EQ(CompressorOf({}), "");
}

TEST(FirstBlockTest, NamesOfCompressedArchives) {
  for (const char* name : {"a.tar.gz", "x/a.tar.zst", "a.tgz", "a.txz", "a.tar.old"}) {
    EXPECT_TRUE(NamesCompressedArchive(name)) << name;
  }
  for (const char* name : {"a.gz", "a.tar", "tar.gz/a", "a.tar/b.gz", "labels.csv"}) {
    EXPECT_FALSE(NamesCompressedArchive(name)) << name;
  }
}

class ClassifyTest : public ::testing::Test {
 protected:
  FileClass Of(const std::string& name, std::string_view contents, const Selection& selection = {}) {
    const auto file = io::OpenFile(scratch_.Write(name, contents));
    EXPECT_TRUE(file.ok());
    const Result<FileClass> result = Classify(**file, name, selection);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return *result;
  }
  static std::string Tar() {
    support::TarWriter writer;
    writer.AddFile("f", "data");
    return writer.Finish();
  }

  const support::Scratch scratch_;
};

TEST_F(ClassifyTest, NameAndFirstBlockMakeAnArchive) {
  EXPECT_TRUE(Of("a.tar", Tar()).is_archive);
  EXPECT_FALSE(Of("a.bin", Tar()).is_archive);
  EXPECT_TRUE(
      Of("a.bin", Tar(), Selection{.include = {}, .exclude = {}, .archive_glob = {"*.bin"}}).is_archive);
}

TEST_F(ClassifyTest, ACompressedArchiveIsALooseFileWithAFinding) {
  for (const char* name : {"a.tar", "a.tar.gz", "a.tgz"}) {
    const FileClass result = Of(name, "\x1f\x8b\x08 and so on");
    EXPECT_FALSE(result.is_archive);
    ASSERT_TRUE(result.finding.has_value()) << name;
    EXPECT_EQ(result.finding->code, tar::FindingCode::kCompressed);
    EXPECT_NE(result.finding->detail.find("gzip"), std::string::npos);
  }
}

TEST_F(ClassifyTest, ACompressedFileThatIsNamedLikeNoArchiveIsNothingSpecial) {
  EXPECT_FALSE(Of("labels.csv.gz", "\x1f\x8b\x08").finding.has_value());
  EXPECT_FALSE(Of("a.tar.txt", "words").finding.has_value());
}

TEST_F(ClassifyTest, AFileThatIsOnlyNamedLikeATarIsALooseFileWithAFinding) {
  const FileClass result = Of("a.tar", std::string(2000, 'x'));
  EXPECT_FALSE(result.is_archive);
  ASSERT_TRUE(result.finding.has_value());
  EXPECT_EQ(result.finding->code, tar::FindingCode::kNotATar);
  EXPECT_TRUE(Of("empty.tar", "").finding.has_value());
}

}  // namespace
}  // namespace tarn::indexer

#include "tar/header_block.h"

#include <gtest/gtest.h>

#include "tests/support/tar_writer.h"

namespace tarn::tar {
namespace {

using support::TarChecksum;
using support::TarDialect;
using support::TarHeader;
using support::TarWriter;

Dialect DialectOf(const TarHeader& header) {
  const std::string bytes = TarWriter::Block(header);
  return HeaderBlock(bytes.data()).dialect();
}

TEST(HeaderBlock, DialectIsToldByMagic) {
  TarHeader header;
  EXPECT_EQ(DialectOf(header), Dialect::kUstar);
  header.dialect = TarDialect::kGnu;
  EXPECT_EQ(DialectOf(header), Dialect::kGnu);
  header.dialect = TarDialect::kV7;
  EXPECT_EQ(DialectOf(header), Dialect::kV7);
  header.patches = {{508, std::string("tar\0", 4)}};
  EXPECT_EQ(DialectOf(header), Dialect::kOldStar);
}

TEST(HeaderBlock, StarTimesShortenThePrefix) {
  TarHeader header;
  header.prefix = std::string(155, 'p');
  header.patches = {{475, std::string(1, '\0')}, {476, "14524600000 "}, {488, "14524600000 "}};
  const std::string bytes = TarWriter::Block(header);
  const HeaderBlock block(bytes.data());
  EXPECT_EQ(block.dialect(), Dialect::kXstar);
  EXPECT_EQ(block.prefix(block.dialect()), std::string(130, 'p'));
}

TEST(HeaderBlock, LongPrefixIsNoStarTime) {
  TarHeader header;
  header.prefix = std::string(155, '1');
  EXPECT_EQ(DialectOf(header), Dialect::kUstar);
}

TEST(HeaderBlock, SignedAndUnsignedChecksumsCount) {
  TarHeader header;
  header.name = "caf\xe9\xff";
  std::string bytes = TarWriter::Block(header);
  EXPECT_TRUE(HeaderBlock(bytes.data()).IsHeader());
  header.checksum = TarChecksum::kSigned;
  bytes = TarWriter::Block(header);
  EXPECT_TRUE(HeaderBlock(bytes.data()).IsHeader());
  bytes[0] = 'd';
  EXPECT_FALSE(HeaderBlock(bytes.data()).IsHeader());
}

TEST(HeaderBlock, EveryBitOfTheBlockCounts) {
  const std::string good = TarWriter::Block(TarHeader());
  for (size_t i = 0; i < good.size(); ++i) {
    if (i >= 148 && i < 156) continue;
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_FALSE(HeaderBlock(bad.data()).IsHeader()) << "byte " << i;
  }
}

TEST(HeaderBlock, NothingButAChecksumIsNoHeader) {
  std::string bytes(512, '\0');
  EXPECT_TRUE(HeaderBlock(bytes.data()).IsZero());
  EXPECT_FALSE(HeaderBlock(bytes.data()).IsHeader());
  bytes.replace(148, 8, std::string("0000400\0", 8));
  EXPECT_FALSE(HeaderBlock(bytes.data()).IsHeader());
  EXPECT_FALSE(HeaderBlock(bytes.data()).IsZero());
}

TEST(Compression, IsToldByTheFirstBytes) {
  EXPECT_EQ(CompressionOf(std::string_view("\x1f\x8b\x08", 3)), "gzip");
  EXPECT_EQ(CompressionOf(std::string_view("\x28\xb5\x2f\xfd", 4)), "zstd");
  EXPECT_EQ(CompressionOf(std::string_view("\x5e\x2a\x4d\x18", 4)), "zstd");
  EXPECT_EQ(CompressionOf(std::string_view("\xfd"
                                           "7zXZ\0",
                                           6)),
            "xz");
  EXPECT_EQ(CompressionOf("BZh91AY"), "bzip2");
  EXPECT_EQ(CompressionOf("LZIP"), "lzip");
  EXPECT_EQ(CompressionOf("\x1f"), "");
  EXPECT_EQ(CompressionOf("plain text"), "");
}

}  // namespace
}  // namespace tarn::tar

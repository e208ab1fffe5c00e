#include "tarn/base/archive_id.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

TEST(ArchiveIdTest, DigestPrintsHighBytesFirst) {
  const Digest digest{.high = 0x0123456789abcdefULL, .low = 1};
  EXPECT_EQ(digest.ToHex(), "0123456789abcdef0000000000000001");
  EXPECT_EQ(Digest::FromHex(digest.ToHex()), digest);
}

TEST(ArchiveIdTest, DigestOfAnotherLengthOrAlphabetIsRefused) {
  EXPECT_EQ(Digest::FromHex(""), std::nullopt);
  EXPECT_EQ(Digest::FromHex("0123456789abcdef000000000000001"), std::nullopt);
  EXPECT_EQ(Digest::FromHex("0123456789abcdef00000000000000010"), std::nullopt);
  EXPECT_EQ(Digest::FromHex("0123456789abcdef000000000000000g"), std::nullopt);
}

TEST(ArchiveIdTest, EncodedFormSortsBySizeThenDigest) {
  const ArchiveId small{.size = 2, .digest = {9, 9}};
  const ArchiveId large{.size = 256, .digest = {0, 1}};
  std::string small_bytes, large_bytes;
  small.AppendTo(&small_bytes);
  large.AppendTo(&large_bytes);
  EXPECT_EQ(small_bytes.size(), ArchiveId::kEncodedBytes);
  EXPECT_LT(small_bytes, large_bytes);
  EXPECT_EQ(ArchiveId::Decode(large_bytes.data()), large);
}

TEST(ArchiveIdTest, OneIdentityHasOneSpelling) {
  const ArchiveId id{.size = 1048576, .digest = {0xff, 0}};
  EXPECT_EQ(id.ToString(), "1048576-00000000000000ff0000000000000000");
  EXPECT_EQ(ArchiveId::FromString(id.ToString()), id);
  for (const char* text :
       {"", "-", "01048576-00000000000000ff0000000000000000", "1048576_00000000000000ff0000000000000000",
        "1048576-00000000000000ff000000000000000", "-00000000000000ff0000000000000000",
        "+1-00000000000000ff0000000000000000", "1048576-00000000000000FF0000000000000000x",
        "99999999999999999999-00000000000000ff0000000000000000"}) {
    EXPECT_EQ(ArchiveId::FromString(text), std::nullopt) << text;
  }
}

TEST(ArchiveIdTest, OnlyAllZerosIsNull) {
  EXPECT_TRUE(ArchiveId{}.IsNull());
  EXPECT_FALSE((ArchiveId{.size = 1, .digest = {}}.IsNull()));
  EXPECT_FALSE((ArchiveId{.size = 0, .digest = {0, 1}}.IsNull()));
}

}  // namespace
}  // namespace tarn

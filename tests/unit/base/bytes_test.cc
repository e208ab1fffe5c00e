#include "tarn/base/bytes.h"

#include <gtest/gtest.h>

#include <limits>

namespace tarn {
namespace {

std::string Varint(uint64_t value) {
  std::string bytes;
  AppendVarint(&bytes, value);
  return bytes;
}

TEST(BytesTest, BigEndianKeysSortAsNumbersDo) {
  const uint32_t numbers[] = {0, 1, 255, 256, 65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff};
  std::string previous;
  for (const uint32_t number : numbers) {
    std::string key;
    AppendBigEndian32(&key, number);
    EXPECT_EQ(key.size(), 4U);
    EXPECT_EQ(ReadBigEndian32(key.data()), number);
    EXPECT_LT(previous, key);
    previous = key;
  }
}

TEST(BytesTest, BigEndianWritesTheMostSignificantByteFirst) {
  std::string bytes;
  AppendBigEndian16(&bytes, 0x0102);
  AppendBigEndian64(&bytes, 0x030405060708090aULL);
  EXPECT_EQ(ToHex(bytes), "0102030405060708090a");
  ByteReader reader(bytes);
  EXPECT_EQ(reader.BigEndian16(), 0x0102);
  EXPECT_EQ(reader.BigEndian64(), 0x030405060708090aULL);
  EXPECT_TRUE(reader.AtEnd());
}

TEST(BytesTest, VarintsComeBackWhatTheyWere) {
  for (int shift = 0; shift < 64; ++shift) {
    for (const uint64_t value :
         {(uint64_t{1} << shift) - 1, uint64_t{1} << shift, (uint64_t{1} << shift) + 1}) {
      const std::string bytes = Varint(value);
      ByteReader reader(bytes);
      EXPECT_EQ(reader.Varint(), value);
      EXPECT_TRUE(reader.AtEnd());
    }
  }
  EXPECT_EQ(Varint(0).size(), 1U);
  EXPECT_EQ(Varint(127).size(), 1U);
  EXPECT_EQ(Varint(128).size(), 2U);
  EXPECT_EQ(Varint(std::numeric_limits<uint64_t>::max()).size(), 10U);
}

TEST(BytesTest, ANumberHasOneSpelling) {
  for (const std::string& bytes :
       {std::string("\x80\x00", 2), std::string("\xff\x80\x00", 3), std::string("\x81\x80\x80\x00", 4)}) {
    ByteReader reader(bytes);
    reader.Varint();
    EXPECT_FALSE(reader.ok()) << ToHex(bytes);
  }
}

TEST(BytesTest, AVarintBeyond64BitsIsRefused) {
  ByteReader largest("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(largest.Varint(), std::numeric_limits<uint64_t>::max());
  EXPECT_TRUE(largest.AtEnd());
  ByteReader beyond("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  beyond.Varint();
  EXPECT_FALSE(beyond.ok());
  ByteReader endless(std::string_view("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12));
  endless.Varint();
  EXPECT_FALSE(endless.ok());
}

TEST(BytesTest, Varint32RefusesWhatDoesNotFit) {
  const std::string fits = Varint(UINT32_MAX);
  ByteReader reader(fits);
  EXPECT_EQ(reader.Varint32(), UINT32_MAX);
  EXPECT_TRUE(reader.AtEnd());
  const std::string larger = Varint(uint64_t{UINT32_MAX} + 1);
  ByteReader refuses(larger);
  EXPECT_EQ(refuses.Varint32(), 0U);
  EXPECT_FALSE(refuses.ok());
}

TEST(BytesTest, ACutRecordIsRefusedAtEveryLength) {
  std::string record;
  AppendVarint(&record, 300);
  AppendLengthPrefixed(&record, "name");
  AppendBigEndian32(&record, 7);
  for (size_t length = 0; length < record.size(); ++length) {
    ByteReader reader(std::string_view(record).substr(0, length));
    reader.Varint();
    reader.LengthPrefixed();
    reader.BigEndian32();
    EXPECT_FALSE(reader.AtEnd()) << length;
  }
}

TEST(BytesTest, AfterAFailureNothingIsConsumed) {
  ByteReader reader(
      "\x05"
      "ab");
  EXPECT_EQ(reader.LengthPrefixed(), "");
  EXPECT_FALSE(reader.ok());
  const size_t remaining = reader.remaining();
  EXPECT_EQ(reader.Byte(), 0);
  EXPECT_EQ(reader.Varint(), 0U);
  EXPECT_EQ(reader.remaining(), remaining);
}

TEST(BytesTest, ALengthNearTheLargestNumberDoesNotWrap) {
  const std::string record = Varint(std::numeric_limits<uint64_t>::max()) + "abc";
  ByteReader reader(record);
  EXPECT_EQ(reader.LengthPrefixed(), "");
  EXPECT_FALSE(reader.ok());
}

TEST(BytesTest, ZigZagKeepsSmallNumbersSmall) {
  EXPECT_EQ(ZigZag(0), 0U);
  EXPECT_EQ(ZigZag(-1), 1U);
  EXPECT_EQ(ZigZag(1), 2U);
  EXPECT_EQ(ZigZag(-2), 3U);
  for (const int64_t value :
       {std::numeric_limits<int64_t>::min(), int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(UnZigZag(ZigZag(value)), value);
  }
}

TEST(BytesTest, EveryByteOfANameCanBeShownAndReadBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string shown = EscapeName(all);
  for (const char c : shown) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  EXPECT_EQ(UnescapeName(shown), all);
  EXPECT_EQ(EscapeName("a\\b\n"), "a\\x5cb\\x0a");
}

TEST(BytesTest, ABackslashThatStartsNoByteIsRefused) {
  for (const char* text : {"\\", "\\x", "\\x1", "\\y00", "\\xg0", "a\\"})
    EXPECT_EQ(UnescapeName(text), std::nullopt);
}

TEST(BytesTest, HexHasTwoCharactersAByte) {
  EXPECT_EQ(ToHex(std::string_view("\x00\x0f\xf0\xff", 4)), "000ff0ff");
  EXPECT_EQ(FromHex("000FF0ff"), std::string("\x00\x0f\xf0\xff", 4));
  EXPECT_EQ(FromHex("0"), std::nullopt);
  EXPECT_EQ(FromHex("0g"), std::nullopt);
}

TEST(BytesTest, SizesForPeopleHaveBinaryUnits) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(uint64_t{1} << 60), "1.0 EiB");
}

}  // namespace
}  // namespace tarn

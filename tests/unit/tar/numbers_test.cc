#include "tar/numbers.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tarn::tar {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

int64_t Good(std::string_view field) {
  const HeaderNumber number = ParseHeaderNumber(field);
  EXPECT_EQ(number.state, NumberState::kGood);
  return number.value;
}

TEST(HeaderNumber, OctalEndsAtSpaceNulOrTheEndOfTheField) {
  EXPECT_EQ(Good("0000644\0"s), 0644);
  EXPECT_EQ(Good("000644 \0"s), 0644);
  EXPECT_EQ(Good("00000000644 "s), 0644);
  EXPECT_EQ(Good("77777777"), 077777777);
  EXPECT_EQ(Good("777777777777"), 0777777777777);
  EXPECT_EQ(Good("12\0garbage!"s), 012);
}

TEST(HeaderNumber, LeadingSpacesAndOneLeadingNulAreSkipped) {
  EXPECT_EQ(Good("     644 "), 0644);
  EXPECT_EQ(Good("\00001722000\0"s), 01722000);
  EXPECT_EQ(Good("\0\0000016\0"s), 0) << "two NULs: the field is empty";
}

TEST(HeaderNumber, BlankFieldsAreZero) {
  EXPECT_EQ(Good(""), 0);
  EXPECT_EQ(Good("        "), 0);
  EXPECT_EQ(Good(std::string(12, '\0')), 0);
}

TEST(HeaderNumber, AnythingElseIsMalformed) {
  for (const std::string& field : {"-0000000001"s, "0000008\0"s, "0x12\0"s, "12a\0"s, "+12"s}) {
    EXPECT_EQ(ParseHeaderNumber(field).state, NumberState::kMalformed) << field;
  }
}

TEST(HeaderNumber, Base256IsSigned) {
  EXPECT_EQ(Good("\x80\0\0\0\0\0\x01\x02"s), 0x102);
  EXPECT_EQ(Good("\xff\xff\xff\xff\xff\xff\xff\xfe"s), -2);
  EXPECT_EQ(Good("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"s), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Good("\xff\xff\xff\xff\x80\0\0\0\0\0\0\0"s), std::numeric_limits<int64_t>::min());
}

TEST(HeaderNumber, Base256BeyondInt64Overflows) {
  for (const std::string& field :
       {"\x80\0\0\0\x80\0\0\0\0\0\0\0"s, "\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,
        "\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff"s, "\xff\x01\0\0\0\0\0\0\0\0\0\0"s}) {
    EXPECT_EQ(ParseHeaderNumber(field).state, NumberState::kOverflow);
  }
}

TEST(Decimal, DigitsOnlyAndWithin64Bits) {
  EXPECT_EQ(ParseDecimal("0"), 0U);
  EXPECT_EQ(ParseDecimal("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  for (const char* text :
       {"", "18446744073709551616", "99999999999999999999999", "-1", "+1", " 1", "1 ", "0x1"}) {
    EXPECT_FALSE(ParseDecimal(text)) << text;
  }
}

void ExpectTime(std::string_view text, int64_t seconds, uint32_t nanoseconds, bool exact = true) {
  const std::optional<PaxTime> time = ParsePaxTime(text);
  ASSERT_TRUE(time) << text;
  EXPECT_EQ(time->seconds, seconds) << text;
  EXPECT_EQ(time->nanoseconds, nanoseconds) << text;
  EXPECT_EQ(time->exact, exact) << text;
}

TEST(PaxTime, FractionsAreCutDownToTheNanosecond) {
  ExpectTime("1700000000", 1700000000, 0);
  ExpectTime("1.5", 1, 500'000'000);
  ExpectTime("1.", 1, 0);
  ExpectTime("1.123456789987654321", 1, 123'456'789);
  ExpectTime("1.9999999999", 1, 999'999'999);
}

TEST(PaxTime, NegativeTimesRoundDown) {
  ExpectTime("-1", -1, 0);
  ExpectTime("-1.5", -2, 500'000'000);
  ExpectTime("-0.5", -1, 500'000'000);
  ExpectTime("-1.9999999999", -2, 0);
  ExpectTime("-0.0000000001", -1, 999'999'999);
}

TEST(PaxTime, WhatFollowsTheNumberIsSaid) {
  ExpectTime("1748089464.951928467a", 1748089464, 951'928'467, false);
}

TEST(PaxTime, WhatBeginsWithNoNumberIsNoTime) {
  for (const char* text : {"", "-", ".5", "yesterday", "9223372036854775808", "99999999999999999999999"}) {
    EXPECT_FALSE(ParsePaxTime(text)) << text;
  }
}

}  // namespace
}  // namespace tarn::tar

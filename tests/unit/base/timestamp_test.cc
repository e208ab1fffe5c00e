#include "tarn/base/timestamp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarn {
namespace {

TEST(TimestampTest, MomentsParseToWhatTheyPrint) {
  for (const char* const text : {"1970-01-01T00:00:00Z", "2026-11-30T18:25:19Z", "2024-02-29T23:59:59Z",
                                 "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"}) {
    const auto seconds = ParseTimestamp(text);
    ASSERT_TRUE(seconds.ok()) << seconds.status().ToString();
    EXPECT_EQ(FormatTimestamp(*seconds), text);
  }
  EXPECT_EQ(*ParseTimestamp("2001-09-09T01:46:40Z"), 1'000'000'000);
}

TEST(TimestampTest, OffsetsFractionsAndOtherSpellingsOfOneMomentAgree) {
  const int64_t moment = *ParseTimestamp("2026-11-30T18:25:19Z");
  for (const char* const text : {"2026-11-30t18:25:19z", "2026-11-30 18:25:19Z", "2026-11-30T19:25:19+01:00",
                                 "2026-11-30T12:55:19.999-05:30", "2026-11-30T18:25:19+00:00"}) {
    const auto seconds = ParseTimestamp(text);
    ASSERT_TRUE(seconds.ok()) << text;
    EXPECT_EQ(*seconds, moment) << text;
  }
}

TEST(TimestampTest, WhatIsNoMomentIsRefusedWithAnExample) {
  for (const char* const text :
       {"", "tomorrow", "2026-11-30", "2026-11-30T18:25:19", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-11-30T24:00:00Z", "2026-11-30T18:60:00Z", "2026-11-30T18:25:19.Z", "2026-11-30T18:25:19+0100",
        "2026-11-30T18:25:19Zx", "26-11-30T18:25:19Z", "2026-11-30T18:25:19+24:00"}) {
    const auto seconds = ParseTimestamp(text);
    EXPECT_EQ(seconds.code(), ErrorCode::kInvalidArgument) << text;
    EXPECT_THAT(seconds.status().hint(), testing::HasSubstr("2026-11-30T18:00:00Z"));
  }
}

TEST(TimestampTest, SpansNameTheirUnit) {
  EXPECT_EQ(*ParseDuration("0"), 0);
  EXPECT_EQ(*ParseDuration("0s"), 0);
  EXPECT_EQ(*ParseDuration("90s"), 90);
  EXPECT_EQ(*ParseDuration("15m"), 900);
  EXPECT_EQ(*ParseDuration("12h"), 43200);
  EXPECT_EQ(*ParseDuration("7d"), 604800);
  EXPECT_EQ(*ParseDuration("2w"), 1209600);
  for (const char* const text : {"", "7", "d", "-1d", "1.5h", "7 d", "7dd", "7D", "99999999999999999d"}) {
    EXPECT_EQ(ParseDuration(text).code(), ErrorCode::kInvalidArgument) << text;
  }
}

TEST(TimestampTest, SpansPrintInTheLargestUnitThatFits) {
  EXPECT_EQ(FormatDuration(0), "0s");
  EXPECT_EQ(FormatDuration(5400), "90m");
  EXPECT_EQ(FormatDuration(604800), "7d");
  EXPECT_EQ(FormatDuration(61), "61s");
}

}  // namespace
}  // namespace tarn

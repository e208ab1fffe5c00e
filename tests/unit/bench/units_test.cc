#include "bench/units.h"

#include <gtest/gtest.h>

#include "bench/size_distribution.h"

namespace tarn::bench {
namespace {

using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(UnitsTest, DecimalAndBinaryUnitsAreToldApart) {
  EXPECT_EQ(*ParseBytes("4096"), 4096U);
  EXPECT_EQ(*ParseBytes("4k"), 4096U);
  EXPECT_EQ(*ParseBytes("4KiB"), 4096U);
  EXPECT_EQ(*ParseBytes("4KB"), 4000U);
  EXPECT_EQ(*ParseBytes("1.5 GiB"), 3U << 29);
  EXPECT_EQ(*ParseRate("1GB/s"), 1'000'000'000U);
  EXPECT_EQ(*ParseRate("1MiB"), 1U << 20);
}

TEST(UnitsTest, WhatIsNoSizeIsUsage) {
  for (const char* text : {"", "k", "-1", "4XB", "4 k B", "1e30GiB", "nan", "4k/s"})
    EXPECT_EQ(ParseBytes(text).code(), ErrorCode::kInvalidArgument) << text;
  EXPECT_EQ(ParseRate("0").code(), ErrorCode::kInvalidArgument);
}

TEST(UnitsTest, TimesHaveUnits) {
  EXPECT_EQ(*ParseDuration("1ms"), 1ms);
  EXPECT_EQ(*ParseDuration("250us"), 250us);
  EXPECT_EQ(*ParseDuration("1.5ms"), 1500us);
  EXPECT_EQ(*ParseDuration("2s"), 2s);
  EXPECT_EQ(*ParseDuration("0"), 0s);
  EXPECT_EQ(ParseDuration("5").code(), ErrorCode::kInvalidArgument);
}

TEST(UnitsTest, CountsAreWholeAndAtLeastOne) {
  EXPECT_EQ(*ParseCounts("1,4,16"), (std::vector<unsigned>{1, 4, 16}));
  for (const char* text : {"", "0", "1,,2", "1.5", "1,x"})
    EXPECT_EQ(ParseCounts(text).code(), ErrorCode::kInvalidArgument) << text;
}

TEST(SizeDistributionTest, SizesStayInTheirRangesInTheirShares) {
  const auto sizes = SizeDistribution::Parse("1k/1:2k-3k/3");
  ASSERT_TRUE(sizes.ok());
  Random random(1);
  unsigned small = 0;
  for (int i = 0; i < 40'000; ++i) {
    const uint64_t size = sizes->Next(&random);
    if (size == 1024) {
      ++small;
    } else {
      ASSERT_GE(size, 2048U);
      ASSERT_LE(size, 3072U);
    }
  }
  EXPECT_NEAR(small, 10'000, 500);
  EXPECT_EQ(sizes->largest(), 3072U);
}

TEST(SizeDistributionTest, WhatIsNoHistogramIsUsage) {
  for (const char* text : {"", "1k/0", "3k-2k", "1k/x", "1k:", "1k//2"})
    EXPECT_EQ(SizeDistribution::Parse(text).code(), ErrorCode::kInvalidArgument) << text;
}

}  // namespace
}  // namespace tarn::bench

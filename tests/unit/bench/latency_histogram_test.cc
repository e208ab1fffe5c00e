#include "bench/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/random.h"

namespace tarn::bench {
namespace {

TEST(LatencyHistogramTest, EveryBucketHoldsItsLargestValueAndTheNextOneDoesNot) {
  for (size_t bucket = 0; bucket + 1 < LatencyHistogram::kBuckets; ++bucket) {
    const uint64_t largest = LatencyHistogram::LargestOf(bucket);
    ASSERT_EQ(LatencyHistogram::BucketOf(largest), bucket);
    ASSERT_EQ(LatencyHistogram::BucketOf(largest + 1), bucket + 1);
  }
}

TEST(LatencyHistogramTest, ABucketIsAtMostAHundredAndTwentyEighthWide) {
  for (size_t bucket = 128; bucket < LatencyHistogram::kBuckets; ++bucket) {
    const uint64_t smallest = LatencyHistogram::LargestOf(bucket - 1) + 1;
    ASSERT_LE(static_cast<double>(LatencyHistogram::LargestOf(bucket) - smallest + 1),
              static_cast<double>(smallest) / 128);
  }
}

// Percentiles of the sorted values themselves, by nearest rank.
TEST(LatencyHistogramTest, PercentilesAreThoseOfTheSortedValuesToWithinABucket) {
  Random random(7);
  LatencyHistogram histogram;
  std::vector<uint64_t> values;
  for (int i = 0; i < 10'000; ++i) {
    values.push_back(static_cast<uint64_t>(std::exp(random.Unit() * 20)));
    histogram.Add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.0, 1.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99}) {
    const auto rank = std::max<size_t>(1, static_cast<size_t>(std::ceil(percent / 100 * 10'000 - 1e-6)));
    const auto exact = static_cast<double>(values[rank - 1]);
    const auto found = static_cast<double>(histogram.Percentile(percent));
    EXPECT_GE(found, exact) << percent;
    EXPECT_LE(found, exact * (1 + 1.0 / 128) + 1) << percent;
  }
  EXPECT_EQ(histogram.Percentile(100), values.back());
  EXPECT_EQ(histogram.min(), values.front());
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(LatencyHistogramTest, TheRankOfAPercentageIsNotMovedByRounding) {
  LatencyHistogram histogram;
  for (uint64_t value = 1; value <= 1000; ++value) histogram.Add(value <= 999 ? 1 : 100);
  EXPECT_EQ(histogram.Percentile(99.9), 1U);
  EXPECT_EQ(histogram.Percentile(99.91), 100U);
}

TEST(LatencyHistogramTest, MergingIsAddingAllValues) {
  Random random(3);
  LatencyHistogram all;
  LatencyHistogram parts[3];
  for (int i = 0; i < 3000; ++i) {
    const uint64_t value = random.Below(uint64_t{1} << 36);
    all.Add(value);
    parts[i % 3].Add(value);
  }
  LatencyHistogram merged;
  for (const LatencyHistogram& part : parts) merged.Merge(part);
  EXPECT_EQ(merged.count(), all.count());
  EXPECT_EQ(merged.min(), all.min());
  EXPECT_EQ(merged.max(), all.max());
  EXPECT_DOUBLE_EQ(merged.mean(), all.mean());
  for (double percent = 0; percent <= 100; percent += 0.5)
    EXPECT_EQ(merged.Percentile(percent), all.Percentile(percent));
}

TEST(LatencyHistogramTest, NothingInItIsZeroAndValuesBeyondTheLastBucketKeepTheirMaximum) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Percentile(99), 0U);
  EXPECT_EQ(histogram.min(), 0U);
  histogram.Add(uint64_t{1} << 45);
  EXPECT_EQ(histogram.max(), uint64_t{1} << 45);
  EXPECT_EQ(histogram.Percentile(50), uint64_t{1} << 45);
}

}  // namespace
}  // namespace tarn::bench

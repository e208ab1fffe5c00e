#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tarn::bench {
namespace {

TEST(StatisticsTest, TheMedianIsTheMiddleOneOrTheMeanOfTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(Summarize({5, 1, 3}).median, 3);
  EXPECT_DOUBLE_EQ(Summarize({4, 1, 3, 2}).median, 2.5);
}

TEST(StatisticsTest, OneRunThatMetOtherWorkDoesNotMoveTheMedian) {
  EXPECT_DOUBLE_EQ(Summarize({10, 11, 12, 13, 1000}).median, 12);
}

TEST(StatisticsTest, SpreadIsOfTheSample) {
  const Spread spread = Summarize({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(spread.runs, 8U);
  EXPECT_DOUBLE_EQ(spread.min, 2);
  EXPECT_DOUBLE_EQ(spread.max, 9);
  EXPECT_DOUBLE_EQ(spread.mean, 5);
  EXPECT_DOUBLE_EQ(spread.stdev, std::sqrt(32.0 / 7));
}

TEST(StatisticsTest, OneRunHasNoDeviationAndNoneHasNothing) {
  EXPECT_DOUBLE_EQ(Summarize({7}).stdev, 0);
  EXPECT_EQ(Summarize({}).runs, 0U);
}

}  // namespace
}  // namespace tarn::bench

#include "tarn/base/token_bucket.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(TokenBucketTest, WithoutARateNothingWaits) {
  TokenBucket bucket;
  EXPECT_EQ(bucket.Take(uint64_t{1} << 60, seconds(1)), nanoseconds(0));
}

TEST(TokenBucketTest, WhatIsTakenBeforeItCameIsWaitedFor) {
  TokenBucket bucket;
  bucket.SetRate(1000, seconds(10));
  EXPECT_EQ(bucket.Take(500, seconds(10)), milliseconds(500));
  EXPECT_EQ(bucket.Take(500, seconds(10)), milliseconds(1000));
  EXPECT_EQ(bucket.Take(0, seconds(11)), nanoseconds(0));
}

TEST(TokenBucketTest, AnIdleTimeIsNotMadeUpForByABurst) {
  TokenBucket bucket;
  bucket.SetRate(1000, seconds(10));
  EXPECT_EQ(bucket.Take(100, seconds(100)), nanoseconds(0));  // a tenth of a second's worth
  EXPECT_EQ(bucket.Take(100, seconds(100)), milliseconds(100));
}

TEST(TokenBucketTest, AnotherRateHoldsForWhatIsOwedToo) {
  TokenBucket bucket;
  bucket.SetRate(1000, seconds(10));
  EXPECT_EQ(bucket.Take(2000, seconds(10)), seconds(2));
  bucket.SetRate(4000, seconds(10));
  EXPECT_EQ(bucket.Take(0, seconds(10)), milliseconds(500));
  bucket.SetRate(0, seconds(10));
  EXPECT_EQ(bucket.Take(5000, seconds(10)), nanoseconds(0));
}

}  // namespace
}  // namespace tarn

#include "bench/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace tarn::bench {

static_assert(std::is_trivially_copyable_v<LatencyHistogram>, "it lives in shared memory");

size_t LatencyHistogram::BucketOf(uint64_t nanoseconds) {
  constexpr uint64_t kLargest = (uint64_t{1} << kValueBits) - 1;
  const uint64_t value = std::min(nanoseconds, kLargest);
  const auto bits = static_cast<unsigned>(std::bit_width(value));
  if (bits <= kSubBits) return static_cast<size_t>(value);
  const unsigned octave = bits - kSubBits;  // 1 for the first power of two that is cut up
  const uint64_t sub = (value >> (octave - 1)) - (uint64_t{1} << kSubBits);
  return (size_t{octave} << kSubBits) + static_cast<size_t>(sub);
}

uint64_t LatencyHistogram::LargestOf(size_t bucket) {
  const auto octave = static_cast<unsigned>(bucket >> kSubBits);
  if (octave == 0) return bucket;
  const uint64_t sub = bucket & ((size_t{1} << kSubBits) - 1);
  return (((uint64_t{1} << kSubBits) + sub + 1) << (octave - 1)) - 1;
}

void LatencyHistogram::Add(uint64_t nanoseconds) {
  ++buckets_[BucketOf(nanoseconds)];
  ++count_;
  sum_ += nanoseconds;
  min_ = std::min(min_, nanoseconds);
  max_ = std::max(max_, nanoseconds);
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
}

uint64_t LatencyHistogram::Percentile(double percent) const {
  if (count_ == 0) return 0;
  const double exact = percent / 100 * static_cast<double>(count_);
  // A hair below the product, so that 99.9 % of 1,000 is rank 999 whatever the rounding.
  const auto rank = std::clamp<uint64_t>(static_cast<uint64_t>(std::ceil(exact - 1e-9 * exact)), 1, count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    // The last bucket also has what lies beyond it.
    if (seen >= rank) return i + 1 == kBuckets ? max_ : std::min(LargestOf(i), max_);
  }
  return max_;
}

}  // namespace tarn::bench

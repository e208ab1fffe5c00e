// LatencyHistogram: every latency of a run, in fixed memory and to within 0.8 %.
//
// As HdrHistogram has it: each power of two is cut into 128 equal buckets, so the relative error is the same
// from microseconds to minutes, nothing is sampled, and histograms of threads and processes add up exactly.
// Trivially copyable: it lives in memory that forked readers share. Smallest and largest value are exact.
#ifndef TARN_BENCH_LATENCY_HISTOGRAM_H_
#define TARN_BENCH_LATENCY_HISTOGRAM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace tarn::bench {

class LatencyHistogram {
 public:
  static constexpr unsigned kSubBits = 7;     // 128 buckets for each power of two
  static constexpr unsigned kValueBits = 40;  // values of 2^40 ns (18 minutes) and more share the last bucket
  static constexpr size_t kBuckets = size_t{kValueBits - kSubBits + 1} << kSubBits;

  void Add(uint64_t nanoseconds);
  void Merge(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }

  // The smallest value that `percent` (0 to 100) of all values do not exceed (nearest rank), rounded up to
  // the end of its bucket but never beyond the largest value. 0 when there are none.
  uint64_t Percentile(double percent) const;

  // Which bucket holds a value, and the largest value of a bucket.
  static size_t BucketOf(uint64_t nanoseconds);
  static uint64_t LargestOf(size_t bucket);

 private:
  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
};

}  // namespace tarn::bench

#endif  // TARN_BENCH_LATENCY_HISTOGRAM_H_

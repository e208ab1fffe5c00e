// Throttle: how fast a publish may read, so that those who train from the same file server do not notice it.
//
// Two limits, of bytes and of requests a second, each a bucket of tokens; and a back-off that watches how
// long the source takes to answer. Limits can be changed while reads go on.
#ifndef TARN_INDEXER_THROTTLE_H_
#define TARN_INDEXER_THROTTLE_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "tarn/base/status.h"
#include "tarn/base/token_bucket.h"

namespace tarn::indexer {

// What is asked of a throttle.
struct ReadLimits {
  uint64_t bytes_per_second = 0;     // 0: no limit
  uint64_t requests_per_second = 0;  // 0: no limit
  bool back_off = false;             // slow down while the source answers slowly
  bool operator==(const ReadLimits&) const = default;
};

// Whether the source answers slower than at the start: the median of the last requests is above twice what
// requests of that size took at first. Requests are told apart by size in powers of two, because an archive
// of few bytes is read in one small one. The pause it asks for grows while that is so, to at most 63 times
// what a request took at first, and shrinks again afterwards.
class BackOff {
 public:
  using Duration = std::chrono::nanoseconds;
  static constexpr size_t kFirst = 16;   // requests of a size that say what is usual
  static constexpr size_t kRecent = 16;  // requests between two looks
  static constexpr double kSlow = 2.0;

  void Add(size_t bytes, Duration took);
  // Before the next request.
  Duration pause() const;
  bool slow() const { return level_ > 0; }

 private:
  static constexpr unsigned kMaxLevel = 6;
  struct SizeClass {
    std::vector<Duration> first;
    Duration usual{0};  // their median, once there are enough
  };

  std::array<SizeClass, 65> classes_;
  std::vector<double> recent_;  // how many times the usual
  Duration usual_{0};           // of the size that came last
  unsigned level_ = 0;          // the pause is 2^level - 1 times the usual
};

// What reads call. All functions from any thread.
class Throttle {
 public:
  // Time since some start, and a way to wait; tests bring their own.
  struct Clock {
    std::function<std::chrono::nanoseconds()> now;
    std::function<void(std::chrono::nanoseconds)> sleep;
  };
  // Gives the limits that hold now; asked about once a second while reads go on. Nothing: as before.
  using LimitSource = std::function<std::optional<ReadLimits>()>;

  explicit Throttle(const ReadLimits& limits);
  Throttle(const ReadLimits& limits, Clock clock);

  void Follow(LimitSource source);
  ReadLimits limits() const;

  // Waits until `bytes` may be asked for. kCancelled when a signal asked to stop meanwhile.
  Status BeforeRead(size_t bytes);
  // A request to the source took this long.
  void AfterRead(size_t bytes, std::chrono::nanoseconds took);

 private:
  void Set(const ReadLimits& limits, std::chrono::nanoseconds now);  // with mutex_ held
  void LookForLimits(std::chrono::nanoseconds now);

  const Clock clock_;
  mutable std::mutex mutex_;
  ReadLimits limits_;  // guarded by mutex_, like the rest
  TokenBucket bytes_;
  TokenBucket requests_;
  BackOff back_off_;
  LimitSource source_;
  std::chrono::nanoseconds next_look_{0};
  uint64_t changes_ = 0;  // of the limits: who waits takes its time again
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_THROTTLE_H_

// ReadCounters: ReadTotals, counted by many threads at once without a line of memory that all of them write.
#ifndef TARN_DATASET_READ_COUNTERS_H_
#define TARN_DATASET_READ_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tarn/dataset/archive_bytes.h"

namespace tarn::dataset {

class ReadCounters {
 public:
  void CountRead(uint64_t bytes) {
    Shard& shard = OfThisThread();
    shard.reads.fetch_add(1, std::memory_order_relaxed);
    shard.read_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  void CountAhead(uint64_t bytes) { OfThisThread().ahead_bytes.fetch_add(bytes, std::memory_order_relaxed); }
  void CountDropped(uint64_t bytes) {
    OfThisThread().dropped_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  void CountChecked(uint64_t bytes) {
    if (bytes != 0) OfThisThread().checked_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  void CountLooks(uint64_t looks) { OfThisThread().looks.fetch_add(looks, std::memory_order_relaxed); }
  void CountRetry() { OfThisThread().retries.fetch_add(1, std::memory_order_relaxed); }
  void CountStale() { OfThisThread().stale.fetch_add(1, std::memory_order_relaxed); }
  void CountFailed() { OfThisThread().failed.fetch_add(1, std::memory_order_relaxed); }

  ReadTotals Sum() const {
    ReadTotals totals;
    for (const Shard& shard : shards_) {
      totals.reads += shard.reads.load(std::memory_order_relaxed);
      totals.read_bytes += shard.read_bytes.load(std::memory_order_relaxed);
      totals.ahead_bytes += shard.ahead_bytes.load(std::memory_order_relaxed);
      totals.dropped_bytes += shard.dropped_bytes.load(std::memory_order_relaxed);
      totals.checked_bytes += shard.checked_bytes.load(std::memory_order_relaxed);
      totals.looks += shard.looks.load(std::memory_order_relaxed);
      totals.retries += shard.retries.load(std::memory_order_relaxed);
      totals.stale += shard.stale.load(std::memory_order_relaxed);
      totals.failed += shard.failed.load(std::memory_order_relaxed);
    }
    return totals;
  }

 private:
  struct alignas(64) Shard {
    std::atomic<uint64_t> reads{0};
    std::atomic<uint64_t> read_bytes{0};
    std::atomic<uint64_t> ahead_bytes{0};
    std::atomic<uint64_t> dropped_bytes{0};
    std::atomic<uint64_t> checked_bytes{0};
    std::atomic<uint64_t> looks{0};
    std::atomic<uint64_t> retries{0};
    std::atomic<uint64_t> stale{0};
    std::atomic<uint64_t> failed{0};
  };

  // Threads take shards in turn.
  Shard& OfThisThread() {
    static std::atomic<size_t> next{0};
    thread_local const size_t mine = next.fetch_add(1, std::memory_order_relaxed);
    return shards_[mine % shards_.size()];
  }

  std::array<Shard, 16> shards_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_READ_COUNTERS_H_

#include "bench/far_server.h"

#include <algorithm>

namespace tarn::bench {

uint64_t FarServer::ReplyAt(uint64_t now, uint64_t bytes) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const std::lock_guard lock(mutex_);
  uint64_t start = now;
  if (options_.iops > 0) {
    start = std::max(now, turn_free_);
    turn_free_ = start + kSecond / options_.iops;
  }
  const uint64_t ready = start + options_.latency_ns;
  if (options_.bytes_per_second == 0 || bytes == 0) return ready;
  const uint64_t begin = std::max(ready, link_free_);
  const double sending = static_cast<double>(bytes) / static_cast<double>(options_.bytes_per_second);
  link_free_ = begin + static_cast<uint64_t>(sending * static_cast<double>(kSecond));
  return link_free_;
}

}  // namespace tarn::bench

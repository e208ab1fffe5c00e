// FarServer: when a file server far away would have answered.
//
//     a request arrives, waits for its turn (iops), takes the latency, and its bytes share one link
//     (bandwidth)
//
// Requests overlap in their latency, as they do on a network, and queue for the link, as they do there. Times
// are nanoseconds of one clock. Thread-safe.
#ifndef TARN_BENCH_FAR_SERVER_H_
#define TARN_BENCH_FAR_SERVER_H_

#include <cstdint>
#include <mutex>

namespace tarn::bench {

struct FarServerOptions {
  uint64_t latency_ns = 0;        // of each request, there and back
  uint64_t bytes_per_second = 0;  // of the link; 0: without limit
  uint64_t iops = 0;              // requests a second; 0: without limit
};

class FarServer {
 public:
  explicit FarServer(const FarServerOptions& options) : options_(options) {}

  // When the reply of a request with `bytes` of data that arrives at `now` is complete: never before `now`.
  // Calls in rising order of `now`, as threads make them more or less.
  uint64_t ReplyAt(uint64_t now, uint64_t bytes);

 private:
  const FarServerOptions options_;
  std::mutex mutex_;
  uint64_t turn_free_ = 0;  // when the next request may start
  uint64_t link_free_ = 0;  // when the link has sent all it took on
};

}  // namespace tarn::bench

#endif  // TARN_BENCH_FAR_SERVER_H_

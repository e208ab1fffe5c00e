// TokenBucket: so much a second and no more, for bytes, requests, looks.
#ifndef TARN_BASE_TOKEN_BUCKET_H_
#define TARN_BASE_TOKEN_BUCKET_H_

#include <chrono>
#include <cstdint>

namespace tarn {

// Tokens that come at a steady rate. A request takes its tokens at once, also those that are not there yet,
// and waits until they would have come: requests larger than the bucket are possible, and the average holds.
// Not thread-safe.
class TokenBucket {
 public:
  using Time = std::chrono::nanoseconds;  // of a clock that never goes back

  // 0: no limit. What waits already waits as long as the new rate says. A bucket holds what comes in a tenth
  // of a second, so that an idle time is not made up for by a burst.
  void SetRate(uint64_t per_second, Time now);
  // Takes tokens; gives how long to wait for them. Zero without a limit.
  Time Take(uint64_t tokens, Time now);

 private:
  void Refill(Time now);

  double per_second_ = 0;
  double tokens_ = 0;  // negative: taken before they came
  Time at_{0};         // when tokens_ was right
};

}  // namespace tarn

#endif  // TARN_BASE_TOKEN_BUCKET_H_

#include "tarn/base/token_bucket.h"

#include <algorithm>

namespace tarn {
namespace {

using std::chrono::nanoseconds;

constexpr double kBurstSeconds = 0.1;

double Seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

nanoseconds FromSeconds(double seconds) {
  // A rate of a byte an hour is possible; a wait that does not fit the type is not.
  constexpr double kLongest = 3600.0 * 24 * 365;
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(std::min(seconds, kLongest)));
}

}  // namespace

void TokenBucket::Refill(Time now) {
  tokens_ = std::min(tokens_ + per_second_ * Seconds(now - at_), per_second_ * kBurstSeconds);
  at_ = now;
}

void TokenBucket::SetRate(uint64_t per_second, Time now) {
  Refill(now);
  per_second_ = static_cast<double>(per_second);
  tokens_ = std::min(tokens_, per_second_ * kBurstSeconds);
  if (per_second == 0) tokens_ = 0;
}

TokenBucket::Time TokenBucket::Take(uint64_t tokens, Time now) {
  if (per_second_ <= 0) return Time{0};
  Refill(now);
  tokens_ -= static_cast<double>(tokens);
  return tokens_ >= 0 ? Time{0} : FromSeconds(-tokens_ / per_second_);
}

}  // namespace tarn

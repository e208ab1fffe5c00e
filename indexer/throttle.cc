#include "indexer/throttle.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

#include "indexer/stop_signal.h"

namespace tarn::indexer {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kLookInterval = std::chrono::seconds(1);
constexpr nanoseconds kLongestSleep = std::chrono::milliseconds(100);  // then signals are looked for

double Seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

template <typename Value>
Value Median(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Throttle::Clock RealClock() {
  return {.now = [] { return nanoseconds(std::chrono::steady_clock::now().time_since_epoch()); },
          .sleep = [](nanoseconds time) { std::this_thread::sleep_for(time); }};
}

}  // namespace

// ---- BackOff ----------------------------------------------------------------------------------------------

void BackOff::Add(size_t bytes, Duration took) {
  SizeClass& size = classes_.at(static_cast<size_t>(std::bit_width(bytes)));
  if (size.usual.count() == 0) {
    size.first.push_back(took);
    if (size.first.size() < kFirst) return;
    size.usual = std::max(Median(std::move(size.first)), Duration{1});
    size.first = {};
    return;
  }
  usual_ = size.usual;
  recent_.push_back(Seconds(took) / Seconds(size.usual));
  if (recent_.size() < kRecent) return;
  const bool slow = Median(std::move(recent_)) > kSlow;
  recent_ = {};
  if (slow && level_ < kMaxLevel) ++level_;
  if (!slow && level_ > 0) --level_;
}

BackOff::Duration BackOff::pause() const {
  return usual_ * ((1U << level_) - 1);
}

// ---- Throttle ---------------------------------------------------------------------------------------------

Throttle::Throttle(const ReadLimits& limits) : Throttle(limits, RealClock()) {}

Throttle::Throttle(const ReadLimits& limits, Clock clock) : clock_(std::move(clock)) {
  Set(limits, clock_.now());
}

void Throttle::Set(const ReadLimits& limits, nanoseconds now) {
  if (limits == limits_) return;
  if (limits.back_off && !limits_.back_off) back_off_ = BackOff();
  limits_ = limits;
  bytes_.SetRate(limits.bytes_per_second, now);
  requests_.SetRate(limits.requests_per_second, now);
  ++changes_;
}

void Throttle::Follow(LimitSource source) {
  const std::lock_guard guard(mutex_);
  source_ = std::move(source);
  next_look_ = clock_.now() + kLookInterval;
}

ReadLimits Throttle::limits() const {
  const std::lock_guard guard(mutex_);
  return limits_;
}

void Throttle::LookForLimits(nanoseconds now) {
  if (!source_ || now < next_look_) return;
  next_look_ = now + kLookInterval;
  if (const std::optional<ReadLimits> limits = source_()) Set(*limits, now);
}

Status Throttle::BeforeRead(size_t bytes) {
  uint64_t taken_at = 0;  // the change of limits that `until` is right for
  nanoseconds until{0};
  for (bool taken = false;;) {
    TARN_RETURN_IF_ERROR(StopSignal::Check());
    nanoseconds now = clock_.now();
    {
      const std::lock_guard guard(mutex_);
      LookForLimits(now);
      if (!taken || taken_at != changes_) {
        nanoseconds wait = std::max(bytes_.Take(taken ? 0 : bytes, now), requests_.Take(taken ? 0 : 1, now));
        if (limits_.back_off) wait = std::max(wait, back_off_.pause());
        until = now + wait;
        taken_at = changes_;
        taken = true;
      }
    }
    if (now >= until) return Status::Ok();
    clock_.sleep(std::min(until - now, kLongestSleep));
  }
}

void Throttle::AfterRead(size_t bytes, nanoseconds took) {
  const std::lock_guard guard(mutex_);
  if (limits_.back_off) back_off_.Add(bytes, took);
}

}  // namespace tarn::indexer

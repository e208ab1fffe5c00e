// When a run counts. A figure whose premise does not hold is marked, said loudly and fails the command: most
// wrong benchmarks of storage are caches that answered.
#ifndef TARN_BENCH_VALIDITY_H_
#define TARN_BENCH_VALIDITY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "bench/cache_state.h"

namespace tarn::bench {

struct RunFacts {
  CacheState cache = CacheState::kCold;
  uint64_t steps = 0;         // done, the ramp included
  uint64_t bytes = 0;         // delivered
  uint64_t unique_bytes = 0;  // delivered, repeats counted once
  uint64_t errors = 0;
  std::string first_error{};
  std::optional<uint64_t> source_bytes{};   // what the source's own counter says; nothing: no counter
  std::optional<uint64_t> process_bytes{};  // what reader and server read from storage; nothing: not known
};

// Of the bytes that a cold run delivers, how much the source must have given: the rest is what readahead of
// the ramp and rounding may explain.
inline constexpr double kColdShare = 0.95;
// Of the bytes that a warm or first run delivers, how much may come from storage after all.
inline constexpr double kWarmShare = 0.05;

// Why the run does not count; nothing when it does.
std::optional<std::string> WhyInvalid(const RunFacts& facts);

}  // namespace tarn::bench

#endif  // TARN_BENCH_VALIDITY_H_

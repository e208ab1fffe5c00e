// One measured run of one contestant: threads and processes that take steps of a plan until none is left.
//
// Steps are dealt out one at a time, so that all readers finish together and the run has no tail of idle
// ones. The first `ramp` steps are read and not counted. Time is that of the readers: from the first counted
// step to the end of the last.
#ifndef TARN_BENCH_MEASURE_H_
#define TARN_BENCH_MEASURE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "bench/access_plan.h"
#include "bench/contestant.h"
#include "bench/latency_histogram.h"
#include "tarn/base/result.h"

namespace tarn::bench {

struct Load {
  unsigned processes = 1;
  unsigned threads = 1;  // of each process
  uint64_t ramp = 0;     // steps that are not counted
  uint64_t read_bytes = uint64_t{1} << 20;
  std::chrono::nanoseconds time_limit{0};  // no step starts later than this after the start; 0: no limit
};

struct Measurement {
  double seconds = 0;      // wall time of the counted steps
  uint64_t steps = 0;      // counted
  uint64_t bytes = 0;      // of counted steps
  uint64_t requests = 0;   // read requests of counted steps
  uint64_t all_steps = 0;  // the ramp included
  uint64_t all_bytes = 0;
  uint64_t errors = 0;
  std::string first_error;
  bool has_latency = true;     // a command is timed as a whole
  LatencyHistogram latency;    // of counted steps, nanoseconds
  uint64_t client_cpu_ns = 0;  // user and system, of all steps
};

// `before` runs when all readers are ready and `after` when the last has finished: counters are read there.
Result<Measurement> Measure(const Contestant& contestant, const MemberList& list, const AccessPlan& plan,
                            const Load& load, const std::function<void()>& before,
                            const std::function<void()>& after);

}  // namespace tarn::bench

#endif  // TARN_BENCH_MEASURE_H_

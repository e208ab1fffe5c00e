// What `tarn-bench read` measured: configurations, contestants, runs; and how it is told.
//
// All forms (JSON, CSV, Markdown, SVG) are written from these structs and one table of metrics, so no two can
// differ. docs/performance.md describes the forms.
#ifndef TARN_BENCH_READ_REPORT_H_
#define TARN_BENCH_READ_REPORT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/access_plan.h"
#include "bench/cache_state.h"
#include "bench/contestant.h"
#include "bench/environment.h"
#include "bench/measure.h"
#include "bench/source_counter.h"
#include "bench/statistics.h"

namespace tarn::bench {

// Raised when a field changes its meaning or goes; new fields do not raise it.
inline constexpr int kReportSchemaVersion = 1;

struct RunResult {
  unsigned run = 0;       // from 1
  unsigned position = 0;  // in the order of the contestants of this run, from 1
  uint64_t seed = 0;      // of the run's plan
  std::string cache_method;
  Measurement measured;
  uint64_t unique_bytes = 0;
  std::optional<uint64_t> server_cpu_ns;  // of the mount's server processes; nothing where there is none
  std::optional<SourceCount> source;      // what the source counted during the run
  std::optional<uint64_t> process_bytes;  // what reader and server read from storage
  std::optional<std::string> invalid;     // why the run does not count
};

struct ContestantResult {
  Contestant contestant;
  std::vector<RunResult> runs;
};

struct Configuration {
  CacheState cache = CacheState::kCold;
  ReadUnit unit = ReadUnit::kMember;
  uint64_t block_bytes = 0;  // of unit block; else 0
  uint64_t read_bytes = 0;   // of unit stream; else 0
  Distribution distribution;
  unsigned threads = 1;  // of each process
  unsigned processes = 1;
};
std::string Describe(const Configuration& configuration);  // "cold member uniform, 1 process x 16 threads"

struct ConfigurationResult {
  Configuration configuration;
  std::vector<ContestantResult> contestants;  // raw first
};

struct ReadReport {
  Facts environment;
  std::vector<ConfigurationResult> results;
};

// One figure of a run.
struct Metric {
  const char* key;    // in JSON and CSV
  const char* title;  // for people, with its unit
  std::optional<double> (*value)(const RunResult&);
};
std::span<const Metric> Metrics();

// The runs of a contestant that count. Figures come from these alone.
std::vector<const RunResult*> ValidRuns(const ContestantResult& result);
// A metric over the valid runs; nothing when no run has it.
std::optional<Spread> Over(const ContestantResult& result, const Metric& metric);
std::optional<Spread> Over(const ContestantResult& result, std::string_view metric_key);
// Members per second over those of raw in the same run, over the runs in which both count.
std::optional<Spread> RatioToRaw(const ContestantResult& raw, const ContestantResult& result);

// "cold ..., mount, run 3: cached: ...": every run that does not count.
std::vector<std::string> InvalidRuns(const ReadReport& report);

std::string ToJson(const ReadReport& report);
std::string ToCsv(const ReadReport& report);
std::string ToMarkdown(const ReadReport& report);
std::string ToSvg(const ReadReport& report);

}  // namespace tarn::bench

#endif  // TARN_BENCH_READ_REPORT_H_

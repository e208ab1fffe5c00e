#include "bench/read_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace tarn::bench {
namespace {

using Value = std::optional<double>;

double PerSecond(const RunResult& run, double amount) {
  return run.measured.seconds > 0 ? amount / run.measured.seconds : 0;
}

template <int PercentTimesTen>
Value LatencyUs(const RunResult& run) {
  if (!run.measured.has_latency) return std::nullopt;
  return static_cast<double>(run.measured.latency.Percentile(PercentTimesTen / 10.0)) / 1000;
}

Value CpuUs(const RunResult& run, uint64_t nanoseconds) {
  if (run.measured.all_steps == 0) return std::nullopt;
  return static_cast<double>(nanoseconds) / 1000 / static_cast<double>(run.measured.all_steps);
}

Value OverDelivered(const RunResult& run, std::optional<uint64_t> bytes) {
  if (!bytes || run.measured.all_bytes == 0) return std::nullopt;
  return static_cast<double>(*bytes) / static_cast<double>(run.measured.all_bytes);
}

constexpr Metric kMetrics[] = {
    {"members_per_second", "members/s",
     [](const RunResult& run) -> Value { return PerSecond(run, static_cast<double>(run.measured.steps)); }},
    {"mb_per_second", "MB/s",
     [](const RunResult& run) -> Value {
       return PerSecond(run, static_cast<double>(run.measured.bytes)) / 1e6;
     }},
    {"mib_per_second", "MiB/s",
     [](const RunResult& run) -> Value {
       return PerSecond(run, static_cast<double>(run.measured.bytes)) / (1 << 20);
     }},
    {"iops", "IOPS",
     [](const RunResult& run) -> Value {
       if (!run.measured.has_latency) return std::nullopt;
       return PerSecond(run, static_cast<double>(run.measured.requests));
     }},
    {"latency_p50_us", "p50 us", LatencyUs<500>},
    {"latency_p90_us", "p90 us", LatencyUs<900>},
    {"latency_p95_us", "p95 us", LatencyUs<950>},
    {"latency_p99_us", "p99 us", LatencyUs<990>},
    {"latency_p99_9_us", "p99.9 us", LatencyUs<999>},
    {"latency_max_us", "max us", LatencyUs<1000>},
    {"client_cpu_us_per_member", "client CPU us/member",
     [](const RunResult& run) -> Value { return CpuUs(run, run.measured.client_cpu_ns); }},
    {"server_cpu_us_per_member", "server CPU us/member",
     [](const RunResult& run) -> Value {
       return run.server_cpu_ns ? CpuUs(run, *run.server_cpu_ns) : std::nullopt;
     }},
    {"cpu_us_per_member", "CPU us/member",
     [](const RunResult& run) -> Value {
       return CpuUs(run, run.measured.client_cpu_ns + run.server_cpu_ns.value_or(0));
     }},
    {"source_bytes_per_byte", "source bytes/byte",
     [](const RunResult& run) -> Value {
       return OverDelivered(run, run.source ? std::optional<uint64_t>(run.source->bytes) : std::nullopt);
     }},
    {"process_bytes_per_byte", "reader's and server's storage bytes/byte",
     [](const RunResult& run) -> Value { return OverDelivered(run, run.process_bytes); }},
};

std::optional<Spread> SpreadOf(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  return Summarize(std::move(values));
}

}  // namespace

std::string Describe(const Configuration& configuration) {
  std::string unit(ReadUnitName(configuration.unit));
  if (configuration.block_bytes > 0) unit += fmt::format(" of {} bytes", configuration.block_bytes);
  if (configuration.read_bytes > 0) unit += fmt::format(" by {} bytes", configuration.read_bytes);
  return fmt::format("{} {} {}, {} {} x {} {}", CacheStateName(configuration.cache), unit,
                     configuration.distribution.ToString(), configuration.processes,
                     configuration.processes == 1 ? "process" : "processes", configuration.threads,
                     configuration.threads == 1 ? "thread" : "threads");
}

std::span<const Metric> Metrics() {
  return kMetrics;
}

std::vector<const RunResult*> ValidRuns(const ContestantResult& result) {
  std::vector<const RunResult*> runs;
  for (const RunResult& run : result.runs) {
    if (!run.invalid) runs.push_back(&run);
  }
  return runs;
}

std::optional<Spread> Over(const ContestantResult& result, const Metric& metric) {
  std::vector<double> values;
  for (const RunResult* run : ValidRuns(result)) {
    if (const Value value = metric.value(*run)) values.push_back(*value);
  }
  return SpreadOf(std::move(values));
}

std::optional<Spread> Over(const ContestantResult& result, std::string_view metric_key) {
  const auto* metric = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                    [&](const Metric& candidate) { return metric_key == candidate.key; });
  return metric == std::end(kMetrics) ? std::nullopt : Over(result, *metric);
}

std::optional<Spread> RatioToRaw(const ContestantResult& raw, const ContestantResult& result) {
  std::vector<double> ratios;
  for (const RunResult* run : ValidRuns(result)) {
    for (const RunResult* limit : ValidRuns(raw)) {
      if (limit->run != run->run) continue;
      const double best = PerSecond(*limit, static_cast<double>(limit->measured.steps));
      if (best > 0) ratios.push_back(PerSecond(*run, static_cast<double>(run->measured.steps)) / best);
    }
  }
  return SpreadOf(std::move(ratios));
}

std::vector<std::string> InvalidRuns(const ReadReport& report) {
  std::vector<std::string> lines;
  for (const ConfigurationResult& result : report.results) {
    for (const ContestantResult& contestant : result.contestants) {
      for (const RunResult& run : contestant.runs) {
        if (!run.invalid) continue;
        lines.push_back(fmt::format("{}, {}, run {}: {}", Describe(result.configuration),
                                    contestant.contestant.name, run.run, *run.invalid));
      }
    }
  }
  return lines;
}

}  // namespace tarn::bench

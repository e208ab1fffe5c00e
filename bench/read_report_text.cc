// CSV for machines that like tables, Markdown for people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/read_report.h"

namespace tarn::bench {
namespace {

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + '"';
}

// Three significant digits, never in scientific notation.
std::string Short(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 100 || size == 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string Cell(const std::optional<Spread>& spread) {
  if (!spread) return "-";
  if (spread->runs < 2) return Short(spread->median);
  return fmt::format("{} ({}..{})", Short(spread->median), Short(spread->min), Short(spread->max));
}

std::string Median(const ContestantResult& result, std::string_view metric) {
  const auto spread = Over(result, metric);
  return spread ? Short(spread->median) : "-";
}

std::string MarkdownRow(const ContestantResult& raw, const ContestantResult& result) {
  const size_t valid = ValidRuns(result).size();
  std::string row = fmt::format("| {} | {} | {} | {} | {} |", result.contestant.name,
                                Cell(RatioToRaw(raw, result)), Cell(Over(result, "members_per_second")),
                                Median(result, "mb_per_second"), Median(result, "mib_per_second"));
  for (const char* key :
       {"iops", "latency_p50_us", "latency_p90_us", "latency_p95_us", "latency_p99_us", "latency_p99_9_us",
        "latency_max_us", "client_cpu_us_per_member", "server_cpu_us_per_member", "source_bytes_per_byte"})
    row += " " + Median(result, key) + " |";
  return row + (valid == result.runs.size() ? fmt::format(" {} |\n", valid)
                                            : fmt::format(" **{} of {}** |\n", valid, result.runs.size()));
}

std::string MarkdownTable(const ConfigurationResult& result) {
  std::string text = fmt::format("## {}\n\n", Describe(result.configuration));
  if (!result.contestants.empty() && !result.contestants.front().runs.empty()) {
    text += fmt::format("Caches: {}.\n\n", result.contestants.front().runs.front().cache_method);
  }
  text +=
      "| contestant | of raw | members/s | MB/s | MiB/s | IOPS | p50 us | p90 us | p95 us | p99 us | p99.9 "
      "us | "
      "max us | client CPU us/member | server CPU us/member | source bytes/byte | valid runs |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const ContestantResult& contestant : result.contestants)
    text += MarkdownRow(result.contestants.front(), contestant);
  return text + "\n";
}

}  // namespace

std::string ToCsv(const ReadReport& report) {
  std::string text =
      "cache,unit,block_bytes,read_bytes,distribution,processes,threads,contestant,run,position,seed,cache_"
      "method,"
      "seconds,steps,bytes,requests,errors";
  for (const Metric& metric : Metrics()) text += fmt::format(",{}", metric.key);
  text += ",valid,invalid_because\n";
  for (const ConfigurationResult& result : report.results) {
    const Configuration& what = result.configuration;
    for (const ContestantResult& contestant : result.contestants) {
      for (const RunResult& run : contestant.runs) {
        text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{:.6f},{},{},{},{}",
                            CacheStateName(what.cache), ReadUnitName(what.unit), what.block_bytes,
                            what.read_bytes, what.distribution.ToString(), what.processes, what.threads,
                            CsvField(contestant.contestant.name), run.run, run.position, run.seed,
                            CsvField(run.cache_method), run.measured.seconds, run.measured.steps,
                            run.measured.bytes, run.measured.requests, run.measured.errors);
        for (const Metric& metric : Metrics()) {
          const auto value = metric.value(run);
          text += value ? fmt::format(",{:.3f}", *value) : ",";
        }
        text += fmt::format(",{},{}\n", run.invalid ? "no" : "yes", CsvField(run.invalid.value_or("")));
      }
    }
  }
  return text;
}

std::string ToMarkdown(const ReadReport& report) {
  std::string text =
      fmt::format("# tarn-bench read: {}\n\n", FindFact(report.environment, "dataset", "name"));
  const auto invalid = InvalidRuns(report);
  if (!invalid.empty()) {
    text += fmt::format("**{} runs are INVALID and are in no figure:**\n\n", invalid.size());
    for (const std::string& line : invalid) text += fmt::format("- {}\n", line);
    text += "\n";
  }
  text +=
      "Medians of the valid runs (least..most). \"of raw\" is members/s over those of raw in the same "
      "run.\n\n";
  for (const ConfigurationResult& result : report.results) text += MarkdownTable(result);
  text += "## Environment\n\n| | | |\n|---|---|---|\n";
  for (const Fact& fact : report.environment)
    text += fmt::format("| {} | {} | {} |\n", fact.section, fact.key, fact.value);
  return text;
}

}  // namespace tarn::bench

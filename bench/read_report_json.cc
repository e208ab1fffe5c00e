// JSON: everything, with the version of its schema.
#include <nlohmann/json.hpp>

#include "bench/read_report.h"

namespace tarn::bench {
namespace {

using Json = nlohmann::ordered_json;

Json FromSpread(const Spread& spread) {
  return {{"runs", spread.runs}, {"median", spread.median}, {"min", spread.min},
          {"max", spread.max},   {"mean", spread.mean},     {"stdev", spread.stdev}};
}

Json FromRun(const RunResult& run) {
  Json json = {{"run", run.run},
               {"position", run.position},
               {"seed", run.seed},
               {"cache_method", run.cache_method},
               {"valid", !run.invalid.has_value()},
               {"seconds", run.measured.seconds},
               {"members", run.measured.steps},
               {"bytes", run.measured.bytes},
               {"requests", run.measured.requests},
               {"ramp_members", run.measured.all_steps - run.measured.steps},
               {"unique_bytes", run.unique_bytes},
               {"errors", run.measured.errors}};
  if (run.invalid) json["invalid_because"] = *run.invalid;
  if (run.source) {
    json["source_bytes"] = run.source->bytes;
    json["source_requests"] = run.source->requests;
  }
  if (run.process_bytes) json["process_bytes"] = *run.process_bytes;
  for (const Metric& metric : Metrics()) {
    if (const auto value = metric.value(run)) json[metric.key] = *value;
  }
  return json;
}

Json FromContestant(const ContestantResult& raw, const ContestantResult& result) {
  static constexpr const char* kKinds[] = {"raw", "files", "command"};
  Json json = {{"name", result.contestant.name},
               {"kind", kKinds[static_cast<size_t>(result.contestant.kind)]}};
  if (!result.contestant.where.empty()) json["where"] = result.contestant.where;
  json["valid"] = ValidRuns(result).size() == result.runs.size();
  if (const auto ratio = RatioToRaw(raw, result)) json["ratio_to_raw"] = FromSpread(*ratio);
  for (const Metric& metric : Metrics()) {
    if (const auto spread = Over(result, metric)) json["summary"][metric.key] = FromSpread(*spread);
  }
  json["runs"] = Json::array();
  for (const RunResult& run : result.runs) json["runs"].push_back(FromRun(run));
  return json;
}

Json FromConfiguration(const ConfigurationResult& result) {
  const Configuration& what = result.configuration;
  Json json = {{"cache", CacheStateName(what.cache)},
               {"unit", ReadUnitName(what.unit)},
               {"distribution", what.distribution.ToString()},
               {"processes", what.processes},
               {"threads", what.threads}};
  if (what.block_bytes > 0) json["block_bytes"] = what.block_bytes;
  if (what.read_bytes > 0) json["read_bytes"] = what.read_bytes;
  json["contestants"] = Json::array();
  for (const ContestantResult& contestant : result.contestants)
    json["contestants"].push_back(FromContestant(result.contestants.front(), contestant));
  return json;
}

}  // namespace

std::string ToJson(const ReadReport& report) {
  const auto invalid = InvalidRuns(report);
  Json json = {{"schema_version", kReportSchemaVersion},
               {"command", "read"},
               {"valid", invalid.empty()},
               {"invalid_runs", invalid}};
  for (const Fact& fact : report.environment) json["environment"][fact.section][fact.key] = fact.value;
  json["configurations"] = Json::array();
  for (const ConfigurationResult& result : report.results)
    json["configurations"].push_back(FromConfiguration(result));
  // Names are bytes; what is no UTF-8 is shown with replacement characters.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tarn::bench

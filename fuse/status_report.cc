#include "fuse/status_report.h"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/base/version.h"

namespace tarn::fuse {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json ToJson(const dataset::DatasetStates& states) {
  std::map<dataset::ArchiveVerdict::State, uint64_t> counts;
  for (const dataset::ArchiveVerdict& verdict : states.verdicts) ++counts[verdict.state];
  Json watch = {{"looked_at", states.looked_at == 0 ? Json() : Json(FormatTimestamp(states.looked_at))}};
  using State = dataset::ArchiveVerdict::State;
  for (const State state : {State::kVerified, State::kChanged, State::kMissing, State::kUnreadable}) {
    watch[std::string(dataset::VerdictName(state))] = counts[state];
  }
  watch["unpublished"] = states.unpublished ? Json(states.unpublished->count) : Json();
  return watch;
}

Json DatasetsToJson(const StatusFacts& facts) {
  Json list = Json::array();
  for (const dataset::CatalogDataset& dataset : facts.datasets) {
    if (dataset.generations.empty() && dataset.retired_in_use.empty()) continue;
    const auto watched = facts.watched.find(dataset.name);
    list.push_back({{"name", dataset.name},
                    {"number", dataset.number},
                    {"newest", dataset.generations.empty() ? Json() : Json(dataset.generations.back())},
                    {"generations", dataset.generations},
                    {"retired", dataset.retired_in_use},
                    {"watch", watched == facts.watched.end() ? Json() : ToJson(watched->second)}});
  }
  return list;
}

Json IndexToJson(const StatusFacts& facts) {
  Json index = {{"path", facts.root->path()},
                {"uuid", facts.root->uuid()},
                {"format_version", facts.root->format_version()},
                {"cache", nullptr}};
  if (facts.cache) {
    index["cache"] = {{"path", facts.cache->path},
                      {"bytes", facts.cache->bytes},
                      {"generations", facts.cache->generations}};
  }
  return index;
}

Json StatesToJson(const dataset::ArchiveOverview& archives) {
  Json states = Json::object();
  for (size_t state = 0; state < archives.by_state.size(); ++state) {
    states[std::string(dataset::ArchiveStateName(static_cast<dataset::ArchiveState>(state)))] =
        archives.by_state[state];
  }
  return states;
}

Json TroubledToJson(const StatusFacts& facts) {
  Json list = Json::array();
  std::set<std::pair<std::string, std::string>> listed;
  for (const dataset::TroubledArchive& archive : facts.archives.troubled) {
    listed.emplace(archive.dataset, archive.path);
    list.push_back({{"dataset", archive.dataset},
                    {"generation", archive.generation},
                    {"path", EscapeName(archive.path)},
                    {"archive_id", archive.id.ToString()},
                    {"state", dataset::ArchiveStateName(archive.state)},
                    {"since", FormatTimestamp(archive.since)},
                    {"seen_by", "mount"},
                    {"message", archive.message}});
  }
  // What nobody has asked for here.
  for (const auto& [dataset, states] : facts.watched) {
    for (const dataset::ArchiveVerdict& verdict : states.verdicts) {
      if (verdict.state == dataset::ArchiveVerdict::State::kVerified) continue;
      if (list.size() >= kMostTroubled || listed.contains({dataset, verdict.path})) continue;
      list.push_back({{"dataset", dataset},
                      {"generation", nullptr},
                      {"path", EscapeName(verdict.path)},
                      {"archive_id", verdict.id.ToString()},
                      {"state", dataset::VerdictName(verdict.state)},
                      {"since", FormatTimestamp(verdict.since)},
                      {"seen_by", "watch"},
                      {"message", verdict.message}});
    }
  }
  return list;
}

Json ToJson(const std::vector<SourceTotals>& sources) {
  Json list = Json::array();
  for (const SourceTotals& source : sources) {
    list.push_back({{"name", source.name},
                    {"calls", source.calls},
                    {"set_aside", source.set_aside},
                    {"timed_out", source.timed_out},
                    {"inside", source.inside},
                    {"waiting", source.waiting}});
  }
  return list;
}

}  // namespace

std::string StatusReport(const StatusFacts& facts) {
  const dataset::ReadTotals& reads = facts.reads;
  const Json report = {
      {"schema_version", kSchemaVersion},
      {"time", FormatTimestamp(SecondsNow())},
      {"tarn", VersionString()},
      {"pid", getpid()},
      {"index", IndexToJson(facts)},
      {"datasets", DatasetsToJson(facts)},
      {"archives", StatesToJson(facts.archives)},
      {"troubled", TroubledToJson(facts)},
      {"sources", ToJson(facts.sources)},
      {"reads",
       {{"reads", reads.reads},
        {"bytes", reads.read_bytes},
        {"bytes_ahead", reads.ahead_bytes},
        {"bytes_given_back", reads.dropped_bytes},
        {"bytes_checked", reads.checked_bytes},
        {"looks", reads.looks},
        {"retries", reads.retries},
        {"stale", reads.stale},
        {"failed", reads.failed}}},
  };
  // Names are bytes: what is no UTF-8 is shown as such, never a reason to have no status.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tarn::fuse

#include "fuse/status_report.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/base/version.h"

namespace tarn::fuse {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json ToJson(const std::vector<dataset::CatalogDataset>& datasets) {
  Json list = Json::array();
  for (const dataset::CatalogDataset& dataset : datasets) {
    if (dataset.generations.empty() && dataset.retired_in_use.empty()) continue;
    list.push_back({{"name", dataset.name},
                    {"number", dataset.number},
                    {"newest", dataset.generations.empty() ? Json() : Json(dataset.generations.back())},
                    {"generations", dataset.generations},
                    {"retired", dataset.retired_in_use}});
  }
  return list;
}

Json StatesToJson(const dataset::ArchiveOverview& archives) {
  Json states = Json::object();
  for (size_t state = 0; state < archives.by_state.size(); ++state) {
    states[std::string(dataset::ArchiveStateName(static_cast<dataset::ArchiveState>(state)))] =
        archives.by_state[state];
  }
  return states;
}

Json TroubledToJson(const dataset::ArchiveOverview& archives) {
  Json list = Json::array();
  for (const dataset::TroubledArchive& archive : archives.troubled) {
    list.push_back({{"dataset", archive.dataset},
                    {"generation", archive.generation},
                    {"path", EscapeName(archive.path)},
                    {"archive_id", archive.id.ToString()},
                    {"state", dataset::ArchiveStateName(archive.state)},
                    {"since", FormatTimestamp(archive.since)},
                    {"message", archive.message}});
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

std::string StatusReport(const index::IndexRoot& root, const std::vector<dataset::CatalogDataset>& datasets,
                         const dataset::ArchiveOverview& archives, const dataset::ReadTotals& reads,
                         const std::vector<SourceTotals>& sources) {
  const Json report = {
      {"schema_version", kSchemaVersion},
      {"time", FormatTimestamp(SecondsNow())},
      {"tarn", VersionString()},
      {"pid", getpid()},
      {"index", {{"path", root.path()}, {"uuid", root.uuid()}, {"format_version", root.format_version()}}},
      {"datasets", ToJson(datasets)},
      {"archives", StatesToJson(archives)},
      {"troubled", TroubledToJson(archives)},
      {"sources", ToJson(sources)},
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

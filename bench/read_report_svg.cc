// The picture of a read report: for each kind of run, members per second and tail latency over readers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/read_report.h"
#include "bench/svg_plot.h"

namespace tarn::bench {
namespace {

constexpr size_t kNotesShown = 8;

// Configurations that differ in nothing but their readers share a panel.
std::string PanelKey(const Configuration& what) {
  std::string key = fmt::format("{}, {}", CacheStateName(what.cache), ReadUnitName(what.unit));
  if (what.block_bytes > 0) key += fmt::format(" {} B", what.block_bytes);
  if (what.read_bytes > 0) key += fmt::format(" by {} B", what.read_bytes);
  return key + ", " + what.distribution.ToString();
}

std::string Readers(const Configuration& what) {
  return what.processes == 1 ? fmt::format("{}", what.threads)
                             : fmt::format("{}x{}", what.processes, what.threads);
}

void AddPoint(const std::string& name, size_t category, const Spread& spread, double scale,
              PlotPanel* panel) {
  auto series = std::find_if(panel->series.begin(), panel->series.end(),
                             [&](const PlotSeries& candidate) { return candidate.name == name; });
  if (series == panel->series.end()) series = panel->series.insert(series, PlotSeries{name, {}});
  series->points.push_back({category, spread.median * scale, spread.min * scale, spread.max * scale});
}

struct PanelPair {
  PlotPanel throughput;
  PlotPanel latency;
};

void AddResult(const ConfigurationResult& result, PanelPair* pair) {
  const size_t category = pair->throughput.categories.size();
  const std::string readers = Readers(result.configuration);
  pair->throughput.categories.push_back(readers);
  pair->latency.categories.push_back(readers);
  for (const ContestantResult& contestant : result.contestants) {
    const std::string& name = contestant.contestant.name;
    if (const auto rate = Over(contestant, "members_per_second"))
      AddPoint(name, category, *rate, 1, &pair->throughput);
    if (const auto tail = Over(contestant, "latency_p99_us"))
      AddPoint(name, category, *tail, 1e-3, &pair->latency);
  }
}

}  // namespace

std::string ToSvg(const ReadReport& report) {
  std::vector<std::string> order;
  std::map<std::string, PanelPair> pairs;
  for (const ConfigurationResult& result : report.results) {
    const std::string key = PanelKey(result.configuration);
    auto found = pairs.find(key);
    if (found == pairs.end()) {
      order.push_back(key);
      found = pairs.emplace(key, PanelPair{}).first;
      found->second.throughput = {key, "readers", "members/s", {}, {}};
      found->second.latency = {key + ": p99", "readers", "ms", {}, {}};
    }
    AddResult(result, &found->second);
  }
  std::vector<PlotPanel> panels;
  for (const std::string& key : order) {
    panels.push_back(pairs[key].throughput);
    panels.push_back(pairs[key].latency);
  }
  std::vector<std::string> notes = InvalidRuns(report);
  if (notes.size() > kNotesShown) {
    const size_t more = notes.size() - kNotesShown;
    notes.resize(kNotesShown);
    notes.push_back(fmt::format("... and {} more", more));
  }
  for (std::string& note : notes) note.insert(0, "INVALID: ");
  return RenderSvg("tarn-bench read: " + FindFact(report.environment, "dataset", "name"), panels, notes);
}

}  // namespace tarn::bench

// What a watch says: a line for each event while it runs, one report with --once.
#ifndef TARN_INDEXER_WATCH_REPORT_H_
#define TARN_INDEXER_WATCH_REPORT_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tarn/dataset/archive_patrol.h"
#include "tarn/dataset/archive_states.h"

namespace tarn::indexer {

// Writes events as they come: in the log, or as JSON lines on `out`.
class WatchLog {
 public:
  WatchLog(bool json, std::ostream* out) : json_(json), out_(out) {}

  // An archive is seen in another way than before.
  void Archive(const dataset::PatrolEvent& event) const;
  // Archives lie there that nobody published; `archives` may be none any more.
  void Unpublished(const std::string& dataset, const dataset::UnpublishedArchives& archives) const;
  void Published(const std::string& dataset, uint32_t generation) const;
  // The index, a source or a publish of `dataset` (may be empty) is in trouble.
  void Problem(const std::string& dataset, const Status& status) const;
  void Note(const std::string& line) const;

 private:
  const bool json_;
  std::ostream* const out_;
};

// What one dataset came to.
struct WatchedDataset {
  dataset::PatrolTotals totals;
  dataset::DatasetStates states;
  std::vector<uint32_t> published;  // generations

  // Every archive is there as it was published, or with the same bytes, and every one is published.
  bool Sound() const;
};

struct WatchReport {
  std::vector<WatchedDataset> datasets;
  std::vector<std::string> problems;  // one line each
  bool scrubbed = false;

  bool Sound() const;
};
void PrintWatchReport(const WatchReport& report, std::ostream& out);
void PrintWatchReportJson(const WatchReport& report, std::ostream& out);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_WATCH_REPORT_H_

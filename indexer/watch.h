// Watch: one process for the whole cluster that looks at all published archives, slowly, and writes what it
// saw into the STATES of each dataset.
#ifndef TARN_INDEXER_WATCH_H_
#define TARN_INDEXER_WATCH_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "indexer/glob.h"
#include "indexer/watch_report.h"
#include "tarn/base/result.h"
#include "tarn/io/random_access_file.h"

namespace tarn::indexer {

struct WatchOptions {
  std::string index;                                 // the index root
  std::vector<std::shared_ptr<io::Source>> sources;  // at least one
  std::vector<std::string> datasets;                 // empty: all, also those to come
  std::chrono::seconds interval{300};
  uint64_t stats_per_second = 500;
  std::chrono::seconds scrub_period{7 * 86400};  // 0: no scrub
  uint64_t scrub_bytes_per_second = uint64_t{64} << 20;
  Selection selection;  // what counts as an archive that could be published
  bool publish = false;
  int64_t settle_seconds = 60;  // younger archives are not published
  unsigned jobs = 1;            // of a publish
  bool json = false;
};

// Watches until a signal asks to stop, which is no failure. kBusy: another one watches this root; kChanged:
// the root was replaced by another one; other errors: the root or its datasets cannot be read at the start.
Status Watch(const WatchOptions& options, std::ostream* out);

// Looks at all once; with `scrub` all bytes are read too, as fast as the limit lets them. kBusy as above;
// kCancelled when a signal asked to stop.
Result<WatchReport> WatchOnce(const WatchOptions& options, bool scrub);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_WATCH_H_

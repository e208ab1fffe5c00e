// BundleBatch: finished bundles on their way into the index root, made to last together.
//
// A bundle may be seen in its place only when its bytes would survive a power cut, and a sync costs a round
// trip to the disk: for archives of a few members that is most of what a publish does. So bundles wait,
// written and checked, in staging until there are many, or until a few seconds have passed; then one sync
// covers all of them, and each gets its line in the journal and its name. Meanwhile the next batch grows. A
// process that is killed loses at most what is not in its place: these archives are read again.
#ifndef TARN_INDEXER_BUNDLE_BATCH_H_
#define TARN_INDEXER_BUNDLE_BATCH_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "indexer/journal.h"
#include "tarn/base/archive_id.h"
#include "tarn/base/status.h"
#include "tarn/index/index_root.h"

namespace tarn::indexer {

class BundleBatch {
 public:
  static constexpr size_t kMostBundles = 512;
  static constexpr uint64_t kMostArchiveBytes = uint64_t{64} << 20;  // what a kill makes to be read again
  static constexpr std::chrono::seconds kLongest{5};

  struct Finished {
    ArchiveId id;
    std::string file;      // closed, not synced
    bool replace = false;  // what is in its place: it is damaged, or holds less
    std::optional<JournalLine> line;
  };

  // `directory` must exist, in the root's staging; all must outlive this.
  BundleBatch(index::IndexRoot* root, Journal* journal, std::string directory)
      : root_(root), journal_(journal), directory_(std::move(directory)) {}

  // All from any thread. A path for the next bundle.
  std::string NewPath();
  // Takes over a bundle; puts the batch in place when it is full or old.
  Status Add(Finished bundle);
  // Puts it in place when it is old.
  Status FlushIfOld();
  // Puts it in place.
  Status Flush();

 private:
  using Clock = std::chrono::steady_clock;
  // A batch that is not full waits for the one before it.
  bool IsOld() const { return placing_ == 0 && !waiting_.empty() && Clock::now() - oldest_ >= kLongest; }
  Status Place(const std::vector<Finished>& bundles);

  index::IndexRoot* const root_;
  Journal* const journal_;
  const std::string directory_;
  std::atomic<uint64_t> paths_ = 0;
  std::mutex mutex_;
  std::vector<Finished> waiting_;  // guarded by mutex_, like the rest
  uint64_t archive_bytes_ = 0;
  unsigned placing_ = 0;  // batches that are being put in place
  Clock::time_point oldest_;
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_BUNDLE_BATCH_H_

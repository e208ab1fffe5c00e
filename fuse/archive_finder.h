// ArchiveFinder: where else an archive was published: in the newest generation of every dataset.
//
// Asked when an archive is not at its own place. All manifests are read at once and kept for a moment, so
// that a directory of archives that was moved costs one look at the index and not one for each.
#ifndef TARN_FUSE_ARCHIVE_FINDER_H_
#define TARN_FUSE_ARCHIVE_FINDER_H_

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/status.h"
#include "tarn/dataset/archive_bytes.h"

namespace tarn::fuse {

class ArchiveFinder {
 public:
  explicit ArchiveFinder(std::string index_root) : index_root_(std::move(index_root)) {}

  // Places in no particular order; none when the index cannot be read, which the log then says. Any thread.
  std::vector<dataset::KnownPlace> Find(const ArchiveId& id);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kKept{5};

  Status Read();

  const std::string index_root_;
  std::mutex mutex_;
  Clock::time_point read_at_;                                              // guarded by mutex_
  bool read_ = false;                                                      // guarded by mutex_
  std::unordered_map<ArchiveId, std::vector<dataset::KnownPlace>> known_;  // guarded by mutex_
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_ARCHIVE_FINDER_H_

// ArchiveFinder: where else an archive was published: in the newest generation of every dataset; and which
// files of the directories to be searched may be it.
//
// Asked when an archive is not at its own place. All manifests are read at once and kept for a moment, so
// that a directory of archives that was moved costs one look at the index and not one for each. The same
// holds for what a search finds: it lists whole trees.
#ifndef TARN_FUSE_ARCHIVE_FINDER_H_
#define TARN_FUSE_ARCHIVE_FINDER_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/dataset/archive_bytes.h"
#include "tarn/dataset/source_guard.h"
#include "tarn/io/random_access_file.h"

namespace tarn::fuse {

class ArchiveFinder {
 public:
  // `searched` have the numbers from `first_searched` on for `guard`, which must outlive this.
  ArchiveFinder(std::string index_root, std::vector<std::shared_ptr<io::Source>> searched,
                size_t first_searched, dataset::SourceGuard* guard)
      : index_root_(std::move(index_root)),
        searched_(std::move(searched)),
        first_searched_(first_searched),
        guard_(guard) {
    for (size_t i = 0; i < searched_.size(); ++i) listings_.push_back(std::make_unique<Listing>());
  }

  // Places in no particular order; none when the index cannot be read, which the log then says. Any thread.
  std::vector<dataset::KnownPlace> Find(const ArchiveId& id);
  // Files of the archive's size, those with its file name first. kBusy: the guard let nobody in. Any thread.
  Result<std::vector<dataset::FoundFile>> Search(const ArchiveId& id, const std::string& path);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kKept{5};

  static constexpr std::chrono::seconds kFoundKept{30};

  Status Read();
  void List(size_t number);

  const std::string index_root_;
  const std::vector<std::shared_ptr<io::Source>> searched_;
  const size_t first_searched_;
  dataset::SourceGuard* const guard_;
  std::mutex mutex_;
  Clock::time_point read_at_;                                              // guarded by mutex_
  bool read_ = false;                                                      // guarded by mutex_
  std::unordered_map<ArchiveId, std::vector<dataset::KnownPlace>> known_;  // guarded by mutex_

  struct Listing {
    std::mutex mutex;
    Clock::time_point listed_at;                                           // guarded by mutex
    bool listed = false;                                                   // guarded by mutex
    std::unordered_map<uint64_t, std::vector<std::string>> paths_by_size;  // guarded by mutex
  };
  std::vector<std::unique_ptr<Listing>> listings_;  // one for each of searched_
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_ARCHIVE_FINDER_H_

// CachedIndex: generations read from their copies on this machine, and the copies made.
//
// A generation that has a copy is read from it. One that has none is copied first if a job that names it
// would read it to the end and the copy takes a moment: the single one that is mounted, and the newest of a
// dataset, up to kCopyFirst. All others are read from the root, and a thread makes the copy behind; who opens
// the generation next reads that. No failure of the cache fails a reader: it is logged, and the root is read.
#ifndef TARN_FUSE_CACHED_INDEX_H_
#define TARN_FUSE_CACHED_INDEX_H_

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fuse/options.h"
#include "fuse/periodic_thread.h"
#include "fuse/status_report.h"
#include "tarn/base/result.h"
#include "tarn/dataset/catalog.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_cache.h"
#include "tarn/index/index_root.h"

namespace tarn::fuse {

class CachedIndex {
 public:
  // What is copied before a generation is opened; more is copied behind. A file costs a round trip or two.
  static constexpr uint64_t kCopyFirstBytes = uint64_t{64} << 20;
  static constexpr uint64_t kCopyFirstFiles = 1000;

  // `root`: the index root, as it is or as it is remembered.
  CachedIndex(std::unique_ptr<index::IndexCache> cache, const index::IndexRoot& root);

  // `soon`: the copy is worth a moment. From any thread.
  Result<std::shared_ptr<const index::GenerationReader>> Open(const std::string& dataset, uint32_t number,
                                                              bool soon, const index::ReaderOptions& reader);
  CacheFacts facts() const;

  // Begins to make copies behind. Call when no more processes are forked.
  void Start();
  // Ends it; false when a read of the index root has not come back: then nothing that this uses may be taken
  // down.
  bool Stop(std::chrono::milliseconds patience);

 private:
  using Generation = std::pair<std::string, uint32_t>;

  std::shared_ptr<const index::GenerationReader> OpenCopy(const std::string& dataset, uint32_t number,
                                                          const index::ReaderOptions& reader);
  bool IsSmall(const std::string& dataset, uint32_t number) const;
  // Whether the copy is there now; what is wrong is said once of each generation.
  enum class Copied : uint8_t { kYes, kLater, kNever };
  Copied Copy(const Generation& generation);
  void WantCopy(const Generation& generation);
  std::chrono::milliseconds CopyBehind();

  const std::unique_ptr<index::IndexCache> cache_;
  const std::unique_ptr<index::IndexRoot> root_;
  std::mutex mutex_;
  std::deque<Generation> wanted_;           // guarded by mutex_
  std::set<Generation> said_;               // what was said to fail; guarded by mutex_
  std::unique_ptr<PeriodicThread> thread_;  // guarded by mutex_; last, so that it ends first
};

// The index root that a mount shows, and its copies.
struct OpenIndex {
  std::unique_ptr<index::IndexRoot> root;  // remembered only, when `copies` is set
  std::unique_ptr<CachedIndex> cache;      // null: the root is read
  // What the cache has, as a root of its own: set while the root itself cannot be read.
  std::unique_ptr<index::IndexRoot> copies;

  // The one that answers now.
  const index::IndexRoot& readable() const { return copies != nullptr ? *copies : *root; }
};

// Opens the root, and the cache where one is asked for or the root is on a network file system. Where the
// root cannot be read, what is cached takes its place: every dataset, or one generation that is named by
// number or digest (the newest may be one that is not cached). A cache that cannot be used is logged, and
// there is none.
Result<OpenIndex> OpenIndexRoot(const MountCommand& command);

// The datasets and generations of a root, as a catalog lists them.
Result<std::vector<dataset::CatalogDataset>> ListDatasets(const index::IndexRoot& root);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_CACHED_INDEX_H_

// What a mount serves: one generation of the index, or every dataset, the sources, and the tree over both.
#ifndef TARN_FUSE_DATASET_SERVICE_H_
#define TARN_FUSE_DATASET_SERVICE_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "fuse/archive_finder.h"
#include "fuse/archive_watch.h"
#include "fuse/cache_forgetter.h"
#include "fuse/cached_index.h"
#include "fuse/catalog_watcher.h"
#include "fuse/file_system.h"
#include "fuse/negotiated.h"
#include "fuse/options.h"
#include "fuse/periodic_thread.h"
#include "fuse/session.h"
#include "fuse/source_gate.h"
#include "tarn/base/result.h"
#include "tarn/dataset/archive_bytes.h"
#include "tarn/dataset/catalog.h"
#include "tarn/dataset/file_tree.h"
#include "tarn/index/generation_reader.h"

namespace tarn::fuse {

class DatasetService {
 public:
  // Opens the index root and the sources, and the generation when one is named. Errors name the setting they
  // come from and what helps.
  static Result<std::unique_ptr<DatasetService>> Open(const MountCommand& command);

  const FileSystem& file_system() const { return *file_system_; }
  // "imagenet@7", or "*" for every dataset.
  const std::string& name() const { return record_.dataset; }
  // For the log: what is shown.
  std::string Describe() const;
  // What bounds the calls into the sources; the session's.
  SourceGate* gate() { return gate_.get(); }
  // The part of the negotiated record that is known before INIT.
  const NegotiatedRecord& record() const { return record_; }
  // Begins what goes on beside serving: to follow the index root where every dataset is shown, to check what
  // was touched, to make the kernel forget what was changed. Call when no more processes are forked;
  // `session` must live until Stop gave true.
  void Start(Session* session);
  // Ends it; false when a call into a source or the kernel has not come back: then nothing that this uses may
  // be taken down.
  bool Stop(std::chrono::milliseconds patience);

 private:
  DatasetService() = default;
  Status OpenGeneration(const MountCommand& command, const index::IndexRoot& root,
                        const index::ReaderOptions& reader,
                        const std::vector<std::shared_ptr<io::Source>>& sources);
  Status OpenCatalog(const MountCommand& command, OpenIndex opened, index::ReaderOptions reader);
  std::string Report() const;
  // What is mounted: the listed generations, or the one.
  std::vector<dataset::LiveGeneration> Generations() const;
  uint64_t CheckWhatWasTouched();  // gives the bytes read

  std::unique_ptr<SourceGate> gate_;
  std::unique_ptr<CachedIndex> index_cache_;  // null: the index root is read
  CacheForgetter forgetter_;
  std::unique_ptr<ArchiveFinder> finder_;
  std::shared_ptr<dataset::ArchiveBytes> bytes_;
  std::unique_ptr<dataset::FileTree> tree_;
  std::shared_ptr<const index::GenerationReader> generation_;  // null: every dataset
  std::shared_ptr<dataset::Catalog> catalog_;                  // null: one generation
  std::unique_ptr<FileSystem> file_system_;
  std::chrono::milliseconds catalog_interval_{0};
  std::unique_ptr<CatalogWatcher> watcher_;
  uint64_t check_bytes_per_second_ = 0;
  std::string check_lock_;  // whoever holds it is the one of this machine who checks; empty: everybody may
  std::unique_ptr<PeriodicThread> checker_;
  std::unique_ptr<ArchiveWatch> watch_;  // null: nobody watches
  std::unique_ptr<PeriodicThread> watch_thread_;
  NegotiatedRecord record_;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_DATASET_SERVICE_H_

// Making many files or directories last at once.
#ifndef TARN_INDEXER_SYNC_ALL_H_
#define TARN_INDEXER_SYNC_ALL_H_

#include <cstddef>
#include <string>

#include "tarn/base/status.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {

// Calls `sync` (io::SyncFile or io::SyncDirectory) for each of a few paths; for more, syncs the file system
// that holds `below`, which must be theirs too.
template <typename Paths>
Status SyncAll(const Paths& paths, Status (*sync)(const std::string&), const std::string& below) {
  constexpr size_t kSyncedOneByOne = 4;  // beyond it one sync of the file system is cheaper
  if (paths.size() > kSyncedOneByOne) return io::SyncFileSystem(below);
  for (const std::string& path : paths) TARN_RETURN_IF_ERROR(sync(path));
  return Status::Ok();
}

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_SYNC_ALL_H_

// IndexCache: whole copies of generations on a disk of this machine, so that an index volume that is slow or
// gone touches no reader.
//
//     DIR/<root uuid>/                    mode 0700
//       format                            as the root has it
//       root                              the path by which the root was last opened
//       datasets/<name>/number            as the root has it
//       datasets/<name>/<N>/              generation N, whole: its RocksDB directory, and IN-USE
//       files/<inode>-<size>-<mtime>.sst  every table once; generations are hard links to these
//       staging/                          what is being copied or removed
//       copying                           locked by whoever does that
//
// It has the layout of an index root, so that IndexRoot::Open reads it while the real one is away. A table
// that the root has under several names (a bundle in many generations) has one inode there, and is copied
// once: what inode, size, mtime and last 4 KiB agree with a table that is here is that table. Bundles and
// generations are immutable, and the tail of a table has its properties, of which every writer makes its own.
//
// A copy is made aside, its tables' checksums are verified, the rest is compared with a second look at the
// source; then it is opened, synced and renamed. Several servers share a cache: whoever reads a generation
// holds a shared lock on its IN-USE, whose mtime says when it was last taken into use, and what is locked is
// not removed.
//
// All functions may be called from any thread.
#ifndef TARN_INDEX_INDEX_CACHE_H_
#define TARN_INDEX_INDEX_CACHE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/index/index_root.h"
#include "tarn/io/file_facts.h"
#include "tarn/io/shared_lock.h"

namespace tarn::index {

class IndexCache {
 public:
  // Opens or makes the cache of `root` below `directory`, and removes what a copier that died left.
  // `max_bytes`: the most that its files may take. kPermissionDenied: the directory is somebody else's, or
  // others may write it; what cannot be made is said as the system says it. Caches of other roots are left
  // alone and do not count.
  static Result<std::unique_ptr<IndexCache>> Open(const std::string& directory, const IndexRoot& root,
                                                  uint64_t max_bytes);
  // The same while the root cannot be read: the cache whose root was last opened as `root_path`; of several
  // (a root that was built anew) the one used last. kNotFound when there is none.
  static Result<std::unique_ptr<IndexCache>> OpenWithoutRoot(const std::string& directory,
                                                             const std::string& root_path,
                                                             uint64_t max_bytes);
  IndexCache(const IndexCache&) = delete;
  IndexCache& operator=(const IndexCache&) = delete;

  const std::string& path() const { return path_; }  // DIR/<root uuid>

  // The whole copy of a generation, kept from removal as long as this object lives; nothing when there is
  // none.
  std::optional<std::string> Find(std::string_view dataset, uint32_t number);

  struct Missing {
    uint64_t bytes = 0;
    uint64_t files = 0;
  };
  // What Copy would have to copy of `generation_path`, the generation's directory in the root.
  Result<Missing> MissingOf(const std::string& generation_path) const;

  // Makes the copy; fine when it is there. Reads the root, so it takes as long as that does. kBusy: another
  // process copies; kNoSpace: the generation is larger than the cache, than what those in use leave of it, or
  // than the disk; kCorrupt: the root's files are damaged; kCancelled. After an error nothing of it is left.
  Status Copy(const std::string& generation_path, std::string_view dataset, uint32_t number);

  // Copy and Find.
  Result<std::string> Fetch(const std::string& generation_path, std::string_view dataset, uint32_t number);

  // Takes away a copy that turned out to be damaged, with the tables that it shares with others, so that the
  // next Copy reads all of it again. kBusy when another process uses it or copies.
  Status Discard(std::string_view dataset, uint32_t number);

  struct Totals {
    uint64_t bytes = 0;  // of files, each once
    uint64_t generations = 0;
  };
  // As of the last copy or removal of this process.
  Totals totals() const;

  // Ends a Copy that is under way, at its next buffer, and all later ones.
  void Cancel() { cancelled_ = true; }

 private:
  struct File {
    std::string name;
    io::FileFacts facts;
  };
  struct Plan;

  IndexCache(std::string path, std::string uuid, uint64_t max_bytes);

  static Result<std::unique_ptr<IndexCache>> Start(std::string path, std::string uuid, uint64_t max_bytes);
  std::string GenerationPath(std::string_view dataset, uint32_t number) const;
  std::string PoolPath(const io::FileFacts& facts) const;
  bool IsPooled(const std::string& source, const io::FileFacts& facts) const;

  Status CopyAside(const Plan& plan) const;
  void LinkPooled(Plan* plan) const;
  Status MakeRoom(const Plan& plan);
  Status Check(const Plan& plan) const;
  Status Place(const Plan& plan);
  void Pool(const Plan& plan) const;
  Result<bool> RemoveOldest();
  Status Remove(std::string_view dataset, uint32_t number) const;
  Status DropUnshared() const;
  Status Recount();

  const std::string path_;
  const std::string uuid_;
  const uint64_t max_bytes_;
  std::atomic<bool> cancelled_{false};
  std::mutex copy_mutex_;  // one copy or removal at a time; before mutex_
  mutable std::mutex mutex_;
  std::map<std::string, io::SharedLock> in_use_;  // by path of the generation; guarded by mutex_
  Totals totals_;                                 // guarded by mutex_
};

}  // namespace tarn::index

#endif  // TARN_INDEX_INDEX_CACHE_H_

// IndexRoot: the directory of bundles and generations (DESIGN section 5).
//
//     ROOT/
//       format                              text: format version, features, UUID
//       numbers/<n>/                        made exclusively: dataset number n is taken, for good
//       bundles/3f/<size>-<digest>.sst      one archive
//       datasets/<name>/number              the dataset's number
//       datasets/<name>/<N>/                generation N, a RocksDB directory
//       datasets/<name>/LATEST              pointer to the newest generation
//       staging/                            unfinished work
//
// There is no lock: bundles are content-addressed, a generation is published by one rename that fails if it
// exists.
#ifndef TARN_INDEX_INDEX_ROOT_H_
#define TARN_INDEX_INDEX_ROOT_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {

// Whether `name` may name a dataset: [A-Za-z0-9][A-Za-z0-9._-]*, at most 255 bytes.
bool IsDatasetName(std::string_view name);

// "imagenet", "imagenet@7" or "imagenet@<32 hex>".
struct DatasetReference {
  std::string name;
  std::optional<uint32_t> generation;
  std::optional<Digest> digest;

  static Result<DatasetReference> Parse(std::string_view text);
  std::string ToString() const;
};

class IndexRoot {
 public:
  // Opens an existing root for reading. kNotFound: no such directory; kInvalidArgument: a directory of
  // something else (no format file); kUnsupported: a newer format or an unknown feature, with both versions
  // and what helps. Changes nothing.
  static Result<std::unique_ptr<IndexRoot>> Open(const std::string& path);
  // The same for writers: makes the root where there is nothing or an empty directory (what file systems put
  // there themselves does not count). Two creators agree on one UUID. What is there already is never touched:
  // kInvalidArgument for a directory that holds something else.
  static Result<std::unique_ptr<IndexRoot>> OpenOrCreate(const std::string& path);
  // A root that cannot be read now, as it was known: what asks it for files fails until it is back. Looks at
  // nothing.
  static std::unique_ptr<IndexRoot> Remembered(std::string path, std::string uuid, uint32_t format_version);
  ~IndexRoot();
  IndexRoot(const IndexRoot&) = delete;
  IndexRoot& operator=(const IndexRoot&) = delete;

  const std::string& path() const { return path_; }
  const std::string& uuid() const {
    return uuid_;
  }  // 36 characters; tells a rebuilt root from its predecessor
  uint32_t format_version() const { return format_version_; }

  // ---- Bundles
  std::string BundlePath(const ArchiveId& id) const;
  bool HasBundle(const ArchiveId& id) const;
  // Moves a finished, synced bundle file into place. Fine when the same bundle is there already (`file` is
  // removed).
  Status AddBundle(const ArchiveId& id, const std::string& file);
  // The same, in the place of what is there: for a damaged bundle, and for one that holds less (that of a
  // loose file whose bytes turn out to be shown as an archive too). Generations keep the file they linked.
  Status ReplaceBundle(const ArchiveId& id, const std::string& file);
  // Either, without making the rename last: for many at once, whose caller syncs the directories behind them.
  Status PlaceBundle(const ArchiveId& id, const std::string& file, bool replace);

  // ---- Datasets and generations
  Result<std::vector<std::string>> Datasets() const;  // sorted
  // Those that are listed, rising; empty when there are none. Retired ones are not.
  Result<std::vector<uint32_t>> Generations(std::string_view dataset) const;
  // The newest that is not retired; kNotFound when the dataset does not exist (with the nearest name) or has
  // none.
  Result<uint32_t> Latest(std::string_view dataset) const;
  std::string DatasetPath(std::string_view dataset) const;
  std::string GenerationPath(std::string_view dataset, uint32_t generation) const;
  // The generation a reference names: its number or its digest, retired or not, as long as it is there; or
  // the newest that is not retired.
  Result<uint32_t> Resolve(const DatasetReference& reference) const;

  // ---- Retired generations: they left the listings and are there until gc takes them.
  Result<std::vector<uint32_t>> RetiredGenerations(std::string_view dataset) const;  // rising
  // Retired or not, rising. The last one's number is the highest that was ever published: gc leaves it. Who
  // publishes goes on from there, in the generation's number and in those of archives.
  Result<std::vector<uint32_t>> AllGenerations(std::string_view dataset) const;
  bool IsRetired(std::string_view dataset, uint32_t generation) const;
  // When, in seconds since 1970-01-01 UTC; kNotFound when it is not retired.
  Result<int64_t> RetiredSince(std::string_view dataset, uint32_t generation) const;
  // Takes it out of the listings and moves LATEST to the newest that is left; whoever has it open reads on.
  // kNotFound when it is not there. Fine when it is retired already: the earlier moment stays.
  Status RetireGeneration(std::string_view dataset, uint32_t generation, int64_t now_seconds);
  // Lists it again; kNotFound when it is gone or was not retired.
  Status RestoreGeneration(std::string_view dataset, uint32_t generation);

  // The dataset's number, from 1; kNotFound before its first publish.
  Result<uint32_t> DatasetNumber(std::string_view dataset) const;
  // The same, taking the next free number for a new dataset. Numbers are never used twice, also after a
  // crash.
  Result<uint32_t> DatasetNumberOrCreate(std::string_view dataset);

  // Renames a finished generation directory into place as number `generation` and moves LATEST on;
  // kAlreadyExists when somebody published that number first (then: look again).
  Status PublishGeneration(std::string_view dataset, uint32_t generation, const std::string& directory);
  // LATEST says the newest generation that is not retired, also after a publisher died between rename and
  // pointer.
  Status RepairLatest(std::string_view dataset);

  // ---- Staging: unfinished work, below the root so that it can be renamed into place.
  // A fresh directory of the caller's own. It is the caller's as long as this IndexRoot lives: a lock beside
  // it, released by the destructor and by the death of the process, keeps CleanStaging away. `purpose` is
  // part of its name, for people.
  Result<std::string> MakeStagingDirectory(std::string_view purpose);
  // Removes staging directories whose owners are dead or gone.
  Status CleanStaging();
  struct StagingWork {
    std::string path;
    bool alive = false;  // its owner lives, on this machine or (where the file system tells) on another
  };
  // What CleanStaging would look at, by name; journals and plans are none. Changes nothing.
  Result<std::vector<StagingWork>> ListStaging() const;
  std::string staging_path() const;
  // Where interrupted publishes of a dataset leave what they know; below staging/, kept by CleanStaging.
  std::string JournalPath(std::string_view dataset) const;
  // Where work that is spread over machines is planned; below staging/, kept by CleanStaging.
  std::string PlansPath() const;

 private:
  struct StagingLock {
    std::string path;
    io::FileLock lock;
  };

  IndexRoot(std::string path, std::string uuid, uint32_t format_version);

  Status MakeShard(const std::string& shard);
  // kNotFound for a dataset that is not there, with the nearest name.
  Status RequireDataset(std::string_view dataset) const;
  // What LATEST says; nothing when there is no such file.
  Result<std::optional<uint32_t>> ReadLatest(std::string_view dataset) const;
  Result<std::vector<std::string>> StagingNames() const;
  Result<uint32_t> TakeNumber(std::string_view dataset);
  Result<uint32_t> ResolveDigest(const std::string& dataset, const Digest& digest) const;

  std::string path_;
  std::string uuid_;
  uint32_t format_version_;
  std::mutex staging_mutex_;
  std::vector<StagingLock> staging_locks_;  // guarded by staging_mutex_
};

}  // namespace tarn::index

#endif  // TARN_INDEX_INDEX_ROOT_H_

// GenerationReader: reads one generation. All functions may be called from any thread; none takes a lock of
// ours.
//
// Opened read-only, also from a read-only volume; RocksDB's own log goes to Tarn's. Point reads return
// whether the row exists: a name that is not there is an answer, not an error, and costs no allocation.
#ifndef TARN_INDEX_GENERATION_READER_H_
#define TARN_INDEX_GENERATION_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/records.h"

namespace tarn::index {

// Decoded blocks of the index, for readers of several generations to share.
class BlockCache;
std::shared_ptr<BlockCache> MakeBlockCache(size_t bytes);

struct ReaderOptions {
  // Shared by lookups and scans; more keeps more of the index decoded.
  size_t block_cache_bytes = size_t{64} << 20;
  std::shared_ptr<BlockCache> block_cache = {};  // in its place
  int max_open_files = 4096;                     // SST files held open; fewer makes lookups up to 5 x slower
};

// Walks names in order. Not thread-safe. Views are valid until the next call.
class DentryCursor {
 public:
  virtual ~DentryCursor() = default;
  // Positions at the first name greater than `after` (all names, when empty).
  virtual Status Seek(std::string_view after) = 0;
  // The next one; false behind the last.
  virtual Result<bool> Next(std::string_view* name, DentryRecord* record) = 0;
};

class TreeDentryCursor {
 public:
  virtual ~TreeDentryCursor() = default;
  virtual Status Seek(std::string_view after) = 0;
  virtual Result<bool> Next(std::string_view* name, TreeDentryRecord* record) = 0;
};

// Reads members by ordinal; going up one by one (a directory in archive order) costs a step, not a lookup.
class MemberCursor {
 public:
  virtual ~MemberCursor() = default;
  virtual Result<bool> Get(uint32_t ordinal, MemberRecord* member) = 0;
};

class GenerationReader {
 public:
  // kUnsupported for a newer format or unknown feature: nothing is changed; kCorrupt when rows are missing.
  static Result<std::shared_ptr<const GenerationReader>> Open(const std::string& directory,
                                                              const ReaderOptions& options = {});
  virtual ~GenerationReader() = default;

  virtual const GenerationFacts& facts() const = 0;

  // The generation's own rows.
  virtual Result<bool> GetManifestRow(uint32_t number, ManifestRow* row) const = 0;
  virtual Status ForEachManifestRow(
      const std::function<Status(const ManifestRow&)>& visit) const = 0;  // by number
  virtual Result<bool> GetTreeDentry(uint32_t directory, std::string_view name,
                                     TreeDentryRecord* record) const = 0;
  virtual Result<bool> GetTreeDirectory(uint32_t number, TreeDirectoryRecord* record) const = 0;
  virtual std::unique_ptr<TreeDentryCursor> TreeDentries(uint32_t directory) const = 0;
  // The archive whose directories include `directory` (a number of the generation), if one's do.
  virtual Result<bool> ArchiveOfDirectory(uint64_t directory, uint32_t* archive_number) const = 0;

  // Rows of archives.
  virtual Result<bool> GetArchiveFacts(const ArchiveId& id, ArchiveFacts* facts) const = 0;
  virtual Result<bool> GetDentry(const ArchiveId& id, uint32_t directory, std::string_view name,
                                 DentryRecord* record) const = 0;
  virtual Result<bool> GetMember(const ArchiveId& id, const MemberDefaults& defaults, uint32_t ordinal,
                                 MemberRecord* member) const = 0;
  virtual Result<bool> GetDirectory(const ArchiveId& id, uint32_t number, DirectoryRecord* record) const = 0;
  // Checksums of chunks [first, first + count); kCorrupt when one is missing.
  virtual Status GetChunkChecksums(const ArchiveId& id, uint64_t first, uint64_t count,
                                   std::vector<uint64_t>* checksums) const = 0;
  virtual Status ForEachFinding(const ArchiveId& id,
                                const std::function<Status(const tar::Finding&)>& visit) const = 0;
  // `defaults` must outlive the cursor.
  virtual std::unique_ptr<DentryCursor> Dentries(const ArchiveId& id, uint32_t directory) const = 0;
  virtual std::unique_ptr<MemberCursor> Members(const ArchiveId& id,
                                                const MemberDefaults& defaults) const = 0;

  // Whether every row that must be there is (facts, manifest, tree): what a writer checks before it
  // publishes.
  virtual Status CheckWhole() const = 0;
};

}  // namespace tarn::index

#endif  // TARN_INDEX_GENERATION_READER_H_

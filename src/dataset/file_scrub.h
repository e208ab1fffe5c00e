// Reads one file against its published chunks, a block at a time, leaving the page cache as it was.
#ifndef TARN_SRC_DATASET_FILE_SCRUB_H_
#define TARN_SRC_DATASET_FILE_SCRUB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/digest/archive_digester.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/forward_reader.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

class FileScrub {
 public:
  // Bytes of one block, and of what is in memory.
  static constexpr uint64_t kBlockBytes = 8 * digest::kChunkBytes;

  // Opens `path` of `source`, which must have the size of `id`; `generation` has its checksums.
  static Result<std::unique_ptr<FileScrub>> Open(const io::Source& source, const std::string& path,
                                                 const ArchiveId& id,
                                                 std::shared_ptr<const index::GenerationReader> generation);

  struct Block {
    uint64_t bytes = 0;  // read
    bool last = false;   // the whole file is good
    // Not ok: the file is not. kChanged: a chunk holds other bytes, named with its offset, or the file ends
    // early; anything else: it cannot be read.
    Status file;
    Status index;  // not ok: the checksums cannot be read, and nothing is known of the file
  };
  // The next block. Not to be called again after the last one or a failure.
  Block Next();

  // Whether the chunk at `offset` can be read these days: what failed there before needs no pass over all
  // that lies in front of it to fail again.
  Status Probe(uint64_t offset) const;

  // When it was opened.
  const io::FileIdentity& identity() const { return identity_; }
  // Now.
  Result<io::FileStat> Stat() const { return file_->Stat(); }
  uint64_t offset() const { return offset_; }  // bytes that are good

 private:
  FileScrub(std::unique_ptr<io::RandomAccessFile> file, const io::FileIdentity& identity, const ArchiveId& id,
            std::shared_ptr<const index::GenerationReader> generation);

  const std::unique_ptr<io::RandomAccessFile> file_;
  const io::FileIdentity identity_;
  const ArchiveId id_;
  const std::shared_ptr<const index::GenerationReader> generation_;
  io::StreamReader reader_;
  std::vector<uint64_t> checksums_;
  uint64_t offset_ = 0;
};

}  // namespace tarn::dataset

#endif  // TARN_SRC_DATASET_FILE_SCRUB_H_

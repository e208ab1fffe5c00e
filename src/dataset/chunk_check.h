// Reading with a check: no byte leaves that its chunk's XXH3-64 does not vouch for.
#ifndef TARN_DATASET_CHUNK_CHECK_H_
#define TARN_DATASET_CHUNK_CHECK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

// Which chunks of one file, as one identity, were found to hold what was published. Lock-free.
class ChunkLedger {
 public:
  explicit ChunkLedger(uint64_t archive_bytes);

  bool Has(uint64_t chunk) const {
    return (words_[chunk / 64].load(std::memory_order_acquire) >> (chunk % 64) & 1) != 0;
  }
  // True for the one call that makes it complete.
  bool Add(uint64_t chunk);
  bool complete() const { return missing_.load(std::memory_order_relaxed) == 0; }

 private:
  std::vector<std::atomic<uint64_t>> words_;
  std::atomic<uint64_t> missing_;
};

struct CheckedFile {
  const io::RandomAccessFile* file;
  const index::GenerationReader* generation;  // has the checksums
  ArchiveId id;
  ChunkLedger* ledger;  // chunks in it are read without a check; null: every chunk is checked every time
};

// Reads out.size() bytes at `offset`, which lie within the archive. A chunk that has to be checked is read
// whole. kChanged when one holds other bytes or the file ends early; what is in `out` is then not to be used.
// `*completed` is set when the ledger became complete.
Status ReadChecked(const CheckedFile& file, uint64_t offset, std::span<std::byte> out, bool* completed);

}  // namespace tarn::dataset

#endif  // TARN_DATASET_CHUNK_CHECK_H_

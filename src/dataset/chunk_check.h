// Reading with a check: no byte leaves that its chunk's XXH3-64 does not vouch for.
#ifndef TARN_DATASET_CHUNK_CHECK_H_
#define TARN_DATASET_CHUNK_CHECK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

// Which chunks of one file, as one identity, were found to hold what was published, and one that was not.
// Lock-free. The memory may be shared with other processes (verdict_store.h); bits are only ever set.
class ChunkLedger {
 public:
  // Words for an archive: the number of a bad chunk plus one, then a bit for each chunk.
  static size_t WordsFor(uint64_t archive_bytes);

  explicit ChunkLedger(uint64_t archive_bytes);
  // The same over `words`, WordsFor(archive_bytes) of them, which hold what is known; `memory` keeps them.
  ChunkLedger(uint64_t archive_bytes, std::span<uint64_t> words, std::shared_ptr<const void> memory);

  bool Has(uint64_t chunk) const {
    return (Word(1 + chunk / 64).load(std::memory_order_acquire) >> (chunk % 64) & 1) != 0;
  }
  // True for the one call that makes it complete.
  bool Add(uint64_t chunk);
  bool complete() const { return missing_.load(std::memory_order_relaxed) == 0; }
  // Counts anew what is missing: others may have added to the words. True when it is complete by that.
  bool Recount();
  uint64_t chunks() const { return chunks_; }
  // The first chunk from `from` on that is not known; chunks() when all are.
  uint64_t NextUnknown(uint64_t from) const;

  void MarkBad(uint64_t chunk) { Word(0).store(chunk + 1, std::memory_order_release); }
  std::optional<uint64_t> bad_chunk() const {
    const uint64_t bad = Word(0).load(std::memory_order_acquire);
    return bad == 0 ? std::nullopt : std::optional(bad - 1);
  }

 private:
  std::atomic_ref<uint64_t> Word(uint64_t index) const { return std::atomic_ref<uint64_t>(words_[index]); }

  const uint64_t chunks_;
  std::vector<uint64_t> own_;
  const std::span<uint64_t> words_;
  const std::shared_ptr<const void> memory_;
  std::atomic<uint64_t> missing_;
};

struct CheckedFile {
  const io::RandomAccessFile* file;
  const index::GenerationReader* generation;  // has the checksums
  ArchiveId id;
  ChunkLedger* ledger;  // chunks in it are read without a check; null: every chunk is checked every time
};

struct CheckOutcome {
  uint64_t checked_bytes = 0;  // of the file, read to be compared
  bool all_checked = false;    // every byte that was asked for was among them
  bool completed = false;      // the ledger became complete
};

// Reads out.size() bytes at `offset`, which lie within the archive. A chunk that has to be checked is read
// whole. kChanged when one holds other bytes (then it is in the ledger as bad) or the file ends early; what
// is in `out` is then not to be used.
Status ReadChecked(const CheckedFile& file, uint64_t offset, std::span<std::byte> out, CheckOutcome* outcome);

// What is said of a file with a bad chunk.
Status BadChunk(uint64_t chunk, const std::string& name);

}  // namespace tarn::dataset

#endif  // TARN_DATASET_CHUNK_CHECK_H_

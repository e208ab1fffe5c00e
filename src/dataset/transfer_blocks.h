// The blocks of an exported generation: framing and checksums, both directions (format: transfer.h).
#ifndef TARN_SRC_DATASET_TRANSFER_BLOCKS_H_
#define TARN_SRC_DATASET_TRANSFER_BLOCKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tarn/base/result.h"
#include "tarn/dataset/transfer.h"
#include "tarn/digest/archive_digester.h"

namespace tarn::dataset {

inline constexpr std::string_view kTransferMagic = "TARNGEN\n";
inline constexpr uint32_t kTransferVersion = 1;

// Do not renumber.
enum class BlockKind : uint8_t { kHeader = 1, kFacts = 2, kManifestRow = 3, kBundle = 4, kEnd = 5 };

class BlockWriter {
 public:
  explicit BlockWriter(const ByteSink& sink) : sink_(sink) {}

  Status Start();
  Status Write(BlockKind kind, std::string_view payload);
  // A block of many pieces: begin with the length of all of them, end behind the last.
  Status Begin(BlockKind kind, uint64_t length);
  Status Continue(std::string_view piece);
  Status End();
  // The end block.
  Status Finish();

  uint64_t bytes() const { return bytes_; }

 private:
  Status Put(std::string_view bytes);

  const ByteSink& sink_;
  uint64_t bytes_ = 0;
  uint64_t blocks_ = 0;
  uint64_t left_ = 0;  // of the block that was begun
  std::optional<digest::ArchiveDigester> digester_;
};

class BlockReader {
 public:
  explicit BlockReader(const ByteSource& source) : source_(source) {}

  // kCorrupt when this is no export.
  Status Start();

  struct Block {
    BlockKind kind;
    uint64_t length;
  };
  // The head of the next block. The end block is checked here and given with length 0; behind it nothing may
  // follow.
  Result<Block> Next();
  // All of a small block's payload, checked.
  Result<std::string> Payload();
  // A large one's in pieces: up to `out.size()` bytes, 0 behind the last. The checksum is compared when the
  // last piece was read: until 0 was returned nothing of it may be believed.
  Result<size_t> Piece(std::span<char> out);

  uint64_t bytes() const { return bytes_; }

 private:
  Status Fill(std::span<char> out);
  Status CheckSum();
  Status Bad(std::string_view what) const;

  const ByteSource& source_;
  uint64_t bytes_ = 0;
  uint64_t blocks_ = 0;
  uint64_t left_ = 0;
  std::optional<digest::ArchiveDigester> digester_;
};

}  // namespace tarn::dataset

#endif  // TARN_SRC_DATASET_TRANSFER_BLOCKS_H_

#include "dataset/chunk_check.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "tarn/digest/archive_digester.h"

namespace tarn::dataset {
namespace {

using digest::kChunkBytes;

uint64_t ChunksOf(uint64_t bytes) {
  return bytes / kChunkBytes + (bytes % kChunkBytes != 0 ? 1 : 0);
}

Status ReadAll(const io::RandomAccessFile& file, uint64_t offset, std::span<std::byte> out) {
  TARN_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(offset, out));
  if (got == out.size()) return Status::Ok();
  return Status(ErrorCode::kChanged, "'" + file.name() + "' ends at offset " + std::to_string(offset + got));
}

// One chunk's worth of memory for each thread that checks: checking allocates nothing after the first time.
std::span<std::byte> Scratch() {
  thread_local const std::unique_ptr<std::byte[]> scratch = std::make_unique<std::byte[]>(kChunkBytes);
  return {scratch.get(), kChunkBytes};
}

bool AllKnown(const ChunkLedger* ledger, uint64_t first, uint64_t end) {
  if (ledger == nullptr) return false;
  for (uint64_t chunk = first; chunk < end; ++chunk) {
    if (!ledger->Has(chunk)) return false;
  }
  return true;
}

}  // namespace

ChunkLedger::ChunkLedger(uint64_t archive_bytes)
    : words_(ChunksOf(archive_bytes) / 64 + 1), missing_(ChunksOf(archive_bytes)) {}

bool ChunkLedger::Add(uint64_t chunk) {
  const uint64_t bit = uint64_t{1} << (chunk % 64);
  if ((words_[chunk / 64].fetch_or(bit, std::memory_order_acq_rel) & bit) != 0) return false;
  return missing_.fetch_sub(1, std::memory_order_relaxed) == 1;
}

Status ReadChecked(const CheckedFile& file, uint64_t offset, std::span<std::byte> out, bool* completed) {
  if (out.empty()) return Status::Ok();
  const uint64_t first = offset / kChunkBytes;
  const uint64_t end = ChunksOf(offset + out.size());
  if (AllKnown(file.ledger, first, end)) return ReadAll(*file.file, offset, out);

  thread_local std::vector<uint64_t> checksums;
  TARN_RETURN_IF_ERROR(file.generation->GetChunkChecksums(file.id, first, end - first, &checksums));
  for (uint64_t chunk = first; chunk < end; ++chunk) {
    const uint64_t chunk_start = chunk * kChunkBytes;
    const auto chunk_bytes = static_cast<size_t>(std::min<uint64_t>(kChunkBytes, file.id.size - chunk_start));
    // The part of the chunk that was asked for.
    const uint64_t from = std::max(chunk_start, offset);
    const uint64_t to = std::min(chunk_start + chunk_bytes, offset + out.size());
    const std::span<std::byte> target = out.subspan(from - offset, to - from);
    const std::span<std::byte> whole = target.size() == chunk_bytes ? target : Scratch().first(chunk_bytes);
    TARN_RETURN_IF_ERROR(ReadAll(*file.file, chunk_start, whole));
    if (digest::ChunkChecksum(whole) != checksums[chunk - first]) {
      return Status(ErrorCode::kChanged, "chunk " + std::to_string(chunk) + " (offset " +
                                             std::to_string(chunk_start) + ") of '" + file.file->name() +
                                             "' holds other bytes");
    }
    if (whole.data() != target.data()) std::memcpy(target.data(), &whole[from - chunk_start], target.size());
    if (file.ledger != nullptr && file.ledger->Add(chunk)) *completed = true;
  }
  return Status::Ok();
}

}  // namespace tarn::dataset

#include "dataset/chunk_check.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

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

// What a ledger says of chunks that were checked against the same archive does not depend on who checked.
uint64_t CountMissing(std::span<uint64_t> words, uint64_t chunks) {
  uint64_t known = 0;
  for (uint64_t& word : words.subspan(1)) {
    known +=
        static_cast<uint64_t>(std::popcount(std::atomic_ref<uint64_t>(word).load(std::memory_order_acquire)));
  }
  return chunks - std::min(known, chunks);
}

}  // namespace

size_t ChunkLedger::WordsFor(uint64_t archive_bytes) {
  return 1 + static_cast<size_t>((ChunksOf(archive_bytes) + 63) / 64);
}

ChunkLedger::ChunkLedger(uint64_t archive_bytes)
    : chunks_(ChunksOf(archive_bytes)),
      own_(WordsFor(archive_bytes)),
      words_(own_),
      missing_(ChunksOf(archive_bytes)) {}

ChunkLedger::ChunkLedger(uint64_t archive_bytes, std::span<uint64_t> words,
                         std::shared_ptr<const void> memory)
    : chunks_(ChunksOf(archive_bytes)),
      words_(words),
      memory_(std::move(memory)),
      missing_(CountMissing(words, chunks_)) {}

bool ChunkLedger::Add(uint64_t chunk) {
  const uint64_t bit = uint64_t{1} << (chunk % 64);
  if ((Word(1 + chunk / 64).fetch_or(bit, std::memory_order_acq_rel) & bit) != 0) return false;
  // Never below zero: a recount may have seen the bit already.
  uint64_t missing = missing_.load(std::memory_order_relaxed);
  while (missing > 0 && !missing_.compare_exchange_weak(missing, missing - 1, std::memory_order_relaxed)) {
  }
  return missing == 1;
}

bool ChunkLedger::Recount() {
  const uint64_t missing = CountMissing(words_, chunks_);
  missing_.store(missing, std::memory_order_relaxed);
  return missing == 0;
}

uint64_t ChunkLedger::NextUnknown(uint64_t from) const {
  while (from < chunks_ && Has(from)) ++from;
  return from;
}

Status ReadChecked(const CheckedFile& file, uint64_t offset, std::span<std::byte> out,
                   CheckOutcome* outcome) {
  if (out.empty()) return Status::Ok();
  const uint64_t first = offset / kChunkBytes;
  const uint64_t end = ChunksOf(offset + out.size());
  outcome->all_checked = file.ledger == nullptr;
  if (AllKnown(file.ledger, first, end)) return ReadAll(*file.file, offset, out);
  outcome->all_checked = true;

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
    outcome->checked_bytes += chunk_bytes;
    if (digest::ChunkChecksum(whole) != checksums[chunk - first]) {
      if (file.ledger != nullptr) file.ledger->MarkBad(chunk);
      return BadChunk(chunk, file.file->name());
    }
    if (whole.data() != target.data()) std::memcpy(target.data(), &whole[from - chunk_start], target.size());
    if (file.ledger != nullptr && file.ledger->Add(chunk)) outcome->completed = true;
  }
  return Status::Ok();
}

Status BadChunk(uint64_t chunk, const std::string& name) {
  return Status(ErrorCode::kChanged, "chunk " + std::to_string(chunk) + " (offset " +
                                         std::to_string(chunk * kChunkBytes) + ") of '" + name +
                                         "' holds other bytes");
}

}  // namespace tarn::dataset

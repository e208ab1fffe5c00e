#include "dataset/file_scrub.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tarn/base/bytes.h"

namespace tarn::dataset {

using digest::kChunkBytes;

Result<std::unique_ptr<FileScrub>> FileScrub::Open(
    const io::Source& source, const std::string& path, const ArchiveId& id,
    std::shared_ptr<const index::GenerationReader> generation) {
  TARN_ASSIGN_OR_RETURN(std::unique_ptr<io::RandomAccessFile> file, source.Open(path));
  TARN_ASSIGN_OR_RETURN(const io::FileStat stat, file->Stat());
  return std::unique_ptr<FileScrub>(new FileScrub(std::move(file), stat.identity, id, std::move(generation)));
}

// One request at a time, on the calling thread: a scrub has days.
FileScrub::FileScrub(std::unique_ptr<io::RandomAccessFile> file, const io::FileIdentity& identity,
                     const ArchiveId& id, std::shared_ptr<const index::GenerationReader> generation)
    : file_(std::move(file)),
      identity_(identity),
      id_(id),
      generation_(std::move(generation)),
      reader_(file_.get(), id.size, {.read_bytes = kBlockBytes, .depth = 1}, {}) {}

FileScrub::Block FileScrub::Next() {
  Block block;
  const uint64_t end = std::min(offset_ + kBlockBytes, id_.size);
  const auto window = reader_.Window(offset_, static_cast<size_t>(end - offset_));
  if (!window.ok()) {
    block.file = window.status();
    return block;
  }
  block.bytes = end - offset_;
  const uint64_t chunks = (block.bytes + kChunkBytes - 1) / kChunkBytes;
  const uint64_t first = offset_ / kChunkBytes;
  checksums_.clear();
  if (chunks > 0) block.index = generation_->GetChunkChecksums(id_, first, chunks, &checksums_);
  if (!block.index.ok()) return block;
  for (uint64_t i = 0; i < chunks; ++i) {
    const auto from = static_cast<size_t>(i * kChunkBytes);
    const auto bytes = static_cast<size_t>(std::min<uint64_t>(kChunkBytes, block.bytes - from));
    if (digest::ChunkChecksum(window->subspan(from, bytes)) == checksums_[i]) continue;
    block.file =
        Status(ErrorCode::kChanged, fmt::format("chunk {} (offset {}) of '{}' holds other bytes", first + i,
                                                offset_ + from, EscapeName(file_->name())));
    return block;
  }
  offset_ = end;
  block.last = offset_ == id_.size;
  // Gives back the pages of the last block too.
  if (block.last) block.file = reader_.Finish();
  return block;
}

Status FileScrub::Probe(uint64_t offset) const {
  std::vector<std::byte> chunk(kChunkBytes);
  return file_->ReadAt(offset, chunk).status();
}

}  // namespace tarn::dataset

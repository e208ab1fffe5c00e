#include "tarn/io/random_access_file.h"

#include <utility>

namespace tarn::io {

void RandomAccessFile::ReadAtAsync(uint64_t offset, std::span<std::byte> out,
                                   std::function<void(Result<size_t>)> done) const {
  done(ReadAt(offset, out));
}

std::optional<CachedPart> RandomAccessFile::Cached(uint64_t, uint64_t) const {
  return std::nullopt;
}

Result<size_t> RandomAccessFile::ReadCachedAt(uint64_t, std::span<std::byte>) const {
  return size_t{0};
}

Result<size_t> RandomAccessFile::ReadDirectAt(uint64_t, std::span<std::byte>) const {
  return Status(ErrorCode::kUnsupported, "'" + name() + "' cannot be read past the page cache");
}

std::optional<FileIdentity> RandomAccessFile::KnownIdentity() const {
  return std::nullopt;
}

void RandomAccessFile::Advise(AccessPattern) const {}

void RandomAccessFile::Prefetch(uint64_t, uint64_t) const {}

void RandomAccessFile::DropCache(uint64_t, uint64_t) const {}

}  // namespace tarn::io

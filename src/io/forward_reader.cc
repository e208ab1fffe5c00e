#include "tarn/io/forward_reader.h"

#include <algorithm>
#include <cstring>

namespace tarn::io {
namespace {

// What is fetched at least: a page, which the system reads anyway.
constexpr size_t kSmallestRead = 4096;
// A gap of more than window / kSkipFraction between two requests means that most of a window would be data.
constexpr size_t kSkipFraction = 4;

}  // namespace

WindowReader::WindowReader(const RandomAccessFile* file, uint64_t size, size_t window_bytes)
    : file_(file), size_(size), window_bytes_(std::max<size_t>(window_bytes, 1)) {}

WindowReader::~WindowReader() = default;

Result<std::span<const std::byte>> WindowReader::Window(uint64_t offset, size_t at_least) {
  if (offset >= size_) return std::span<const std::byte>();
  const bool long_skip = offset > asked_end_ && offset - asked_end_ > window_bytes_ / kSkipFraction;
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(at_least, size_ - offset));
  asked_end_ = offset + wanted;

  const uint64_t buffer_end = buffer_offset_ + buffer_bytes_;
  if (offset < buffer_offset_ || offset >= buffer_end || buffer_end - offset < wanted) {
    // What is there already of the new window moves to the front; the rest is read behind it.
    const size_t kept =
        offset >= buffer_offset_ && offset < buffer_end ? static_cast<size_t>(buffer_end - offset) : 0;
    const size_t length = static_cast<size_t>(std::min<uint64_t>(
        size_ - offset,
        std::max(wanted, long_skip ? std::min(kSmallestRead, window_bytes_) : window_bytes_)));
    if (kept > 0) std::memmove(buffer_.data(), buffer_.data() + (offset - buffer_offset_), kept);
    if (buffer_.size() < length) buffer_.resize(length);
    buffer_offset_ = offset;
    buffer_bytes_ = kept;
    if (length > kept) {
      TARN_ASSIGN_OR_RETURN(const size_t got,
                            file_->ReadAt(offset + kept, std::span(buffer_).subspan(kept, length - kept)));
      buffer_bytes_ += got;
      if (got < length - kept) {
        return Status(ErrorCode::kChanged, "'" + file_->name() +
                                               "' became shorter while it was read: expected " +
                                               std::to_string(size_) + " bytes, it ends at " +
                                               std::to_string(offset + kept + got));
      }
    }
  }
  return std::span<const std::byte>(buffer_).subspan(
      static_cast<size_t>(offset - buffer_offset_),
      buffer_bytes_ - static_cast<size_t>(offset - buffer_offset_));
}

Result<std::span<const std::byte>> MemoryReader::Window(uint64_t offset, size_t) {
  if (offset >= bytes_.size()) return std::span<const std::byte>();
  return bytes_.subspan(static_cast<size_t>(offset));
}

}  // namespace tarn::io

#include "tar/block_stream.h"

#include <algorithm>
#include <span>

namespace tarn::tar {

bool BlockStream::Load(uint64_t offset, size_t at_least) {
  window_ = {};
  window_offset_ = offset;
  whole_blocks_bytes_ = 0;
  Result<std::span<const std::byte>> window = reader_->Window(offset, at_least);
  if (!window.ok()) {
    status_ = std::move(window).status();
    return false;
  }
  window_ = {reinterpret_cast<const char*>(window->data()), window->size()};
  if (window_.size() >= kBlockBytes) whole_blocks_bytes_ = window_.size() - kBlockBytes + 1;
  return true;
}

const char* BlockStream::LoadBlock(uint64_t offset) {
  if (failed() || offset > size() || size() - offset < kBlockBytes) return nullptr;
  if (!Load(offset, kBlockBytes)) return nullptr;
  if (window_.size() < kBlockBytes) {
    status_ = Status(ErrorCode::kChanged, "the archive became shorter while it was read")
                  .WithHint("read it again when nothing writes to it any more");
    return nullptr;
  }
  return window_.data();
}

std::string_view BlockStream::Bytes(uint64_t offset) {
  if (offset - window_offset_ < window_.size()) return window_.substr(offset - window_offset_);
  if (failed() || offset >= size()) return {};
  const auto wanted = static_cast<size_t>(std::min<uint64_t>(kBlockBytes, size() - offset));
  if (!Load(offset, wanted)) return {};
  if (window_.empty()) {
    status_ = Status(ErrorCode::kChanged, "the archive became shorter while it was read")
                  .WithHint("read it again when nothing writes to it any more");
  }
  return window_;
}

Status BlockStream::Append(uint64_t offset, uint64_t length, std::string* out) {
  while (length > 0) {
    std::string_view bytes = Bytes(offset);
    if (bytes.empty()) return status_;
    bytes = bytes.substr(0, static_cast<size_t>(std::min<uint64_t>(length, bytes.size())));
    out->append(bytes);
    offset += bytes.size();
    length -= bytes.size();
  }
  return Status::Ok();
}

}  // namespace tarn::tar

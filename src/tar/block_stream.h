// BlockStream: blocks of a ForwardReader by offset, one comparison each while the window lasts.
#ifndef TARN_SRC_TAR_BLOCK_STREAM_H_
#define TARN_SRC_TAR_BLOCK_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tar/header_block.h"
#include "tarn/base/status.h"
#include "tarn/io/forward_reader.h"

namespace tarn::tar {

// Offsets never go down between calls. A pointer or view lasts until the next call of any function.
class BlockStream {
 public:
  explicit BlockStream(io::ForwardReader* reader) : reader_(reader) {}

  // The whole block at `offset`; null where the file ends before its end, and after a failure (`failed`).
  const char* Block(uint64_t offset) {
    if (offset - window_offset_ < whole_blocks_bytes_) return window_.data() + (offset - window_offset_);
    return LoadBlock(offset);
  }
  // What there is at `offset`, at least one byte unless the file ends there or the source failed.
  std::string_view Bytes(uint64_t offset);

  // Appends `length` bytes, which the file must have.
  Status Append(uint64_t offset, uint64_t length, std::string* out);

  uint64_t size() const { return reader_->size(); }
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }

 private:
  const char* LoadBlock(uint64_t offset);
  bool Load(uint64_t offset, size_t at_least);

  io::ForwardReader* const reader_;
  std::string_view window_;
  uint64_t window_offset_ = 0;
  uint64_t whole_blocks_bytes_ = 0;  // offsets below this, from the window's start, have a whole block in it
  Status status_;
};

}  // namespace tarn::tar

#endif  // TARN_SRC_TAR_BLOCK_STREAM_H_

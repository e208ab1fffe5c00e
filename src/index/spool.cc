#include "index/spool.h"

#include <fmt/format.h>

#include <algorithm>

#include "tarn/base/bytes.h"

namespace tarn::index {
namespace {

constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr size_t kLengthBytes = 4;

}  // namespace

Status Spool::Add(std::string_view record) {
  if (output_) {
    std::string length;
    AppendBigEndian32(&length, static_cast<uint32_t>(record.size()));
    TARN_RETURN_IF_ERROR(output_->Append(length));
    return output_->Append(record);
  }
  const size_t bytes = kLengthBytes + record.size();
  if (blocks_.empty() || blocks_.back().size() + bytes > kBlockBytes) {
    blocks_.emplace_back();
    // The first block may stay small; where there is a second there are many.
    if (blocks_.size() > 1) blocks_.back().reserve(std::max(bytes, kBlockBytes));
  }
  AppendBigEndian32(&blocks_.back(), static_cast<uint32_t>(record.size()));
  blocks_.back().append(record);
  bytes_ += bytes;
  return bytes_ > memory_bytes_ ? Spill() : Status::Ok();
}

Status Spool::Spill() {
  TARN_ASSIGN_OR_RETURN(output_, io::AppendFile::Create(file_));
  for (std::string& block : blocks_) {
    TARN_RETURN_IF_ERROR(output_->Append(block));
    std::string().swap(block);
  }
  blocks_.clear();
  return Status::Ok();
}

Status Spool::Rewind() {
  block_ = 0;
  in_block_ = 0;
  offset_ = 0;
  if (!output_) return Status::Ok();
  TARN_RETURN_IF_ERROR(output_->Flush());
  TARN_ASSIGN_OR_RETURN(input_, io::OpenFile(file_));
  TARN_ASSIGN_OR_RETURN(const io::FileStat stat, input_->Stat());
  input_->Advise(io::AccessPattern::kSequential);
  window_ = std::make_unique<io::WindowReader>(input_.get(), stat.identity.size);
  return Status::Ok();
}

Result<bool> Spool::Next(std::string_view* record) {
  if (!output_) return NextInMemory(record);
  TARN_ASSIGN_OR_RETURN(auto bytes, window_->Window(offset_, kLengthBytes));
  if (bytes.empty()) return false;
  const auto text = [](std::span<const std::byte> span) {
    return std::string_view(reinterpret_cast<const char*>(span.data()), span.size());
  };
  uint64_t length = 0;
  if (bytes.size() >= kLengthBytes) {
    length = ReadBigEndian32(text(bytes).data());
    if (bytes.size() < kLengthBytes + length) {
      TARN_ASSIGN_OR_RETURN(bytes, window_->Window(offset_, kLengthBytes + length));
    }
  }
  if (bytes.size() < kLengthBytes + length) {
    return Status(ErrorCode::kIo, fmt::format("'{}' was cut while it was in use", file_));
  }
  *record = text(bytes).substr(kLengthBytes, length);
  offset_ += kLengthBytes + length;
  return true;
}

Result<bool> Spool::NextInMemory(std::string_view* record) {
  while (block_ < blocks_.size() && in_block_ == blocks_[block_].size()) {
    std::string().swap(blocks_[block_]);  // what was read is not needed again
    ++block_;
    in_block_ = 0;
  }
  if (block_ == blocks_.size()) return false;
  const std::string_view rest = std::string_view(blocks_[block_]).substr(in_block_);
  const uint32_t length = ReadBigEndian32(rest.data());
  *record = rest.substr(kLengthBytes, length);
  in_block_ += kLengthBytes + length;
  return true;
}

}  // namespace tarn::index

#include "dataset/transfer_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "tarn/base/bytes.h"

namespace tarn::dataset {
namespace {

constexpr size_t kHeadBytes = 1 + 8;
constexpr size_t kSumBytes = 16;
constexpr uint64_t kMostPayload = uint64_t{64} << 20;  // of a block that is read at once

std::span<const std::byte> AsBytes(std::string_view bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

std::string SumOf(digest::ArchiveDigester* digester) {
  const Digest digest = digester->Finish().id.digest;
  std::string bytes;
  AppendBigEndian64(&bytes, digest.high);
  AppendBigEndian64(&bytes, digest.low);
  return bytes;
}

}  // namespace

// ---- Writing ----------------------------------------------------------------------------------------------

Status BlockWriter::Put(std::string_view bytes) {
  bytes_ += bytes.size();
  return sink_(bytes);
}

Status BlockWriter::Start() {
  return Put(kTransferMagic);
}

Status BlockWriter::Begin(BlockKind kind, uint64_t length) {
  assert(left_ == 0);
  std::string head(1, static_cast<char>(kind));
  AppendBigEndian64(&head, length);
  digester_.emplace();
  digester_->Update(AsBytes(head));
  left_ = length;
  return Put(head);
}

Status BlockWriter::Continue(std::string_view piece) {
  assert(piece.size() <= left_);
  left_ -= piece.size();
  digester_->Update(AsBytes(piece));
  return Put(piece);
}

Status BlockWriter::End() {
  assert(left_ == 0);
  ++blocks_;
  return Put(SumOf(&*digester_));
}

Status BlockWriter::Write(BlockKind kind, std::string_view payload) {
  TARN_RETURN_IF_ERROR(Begin(kind, payload.size()));
  TARN_RETURN_IF_ERROR(Continue(payload));
  return End();
}

Status BlockWriter::Finish() {
  std::string count;
  AppendBigEndian64(&count, blocks_);
  return Write(BlockKind::kEnd, count);
}

// ---- Reading ----------------------------------------------------------------------------------------------

Status BlockReader::Bad(std::string_view what) const {
  return Status(ErrorCode::kCorrupt, fmt::format("the export is damaged at byte {}: {}", bytes_, what))
      .WithHint("export it again, or copy the file again; nothing was published");
}

Status BlockReader::Fill(std::span<char> out) {
  while (!out.empty()) {
    TARN_ASSIGN_OR_RETURN(const size_t got, source_(out));
    if (got == 0) return Bad("it ends before its end block: it was cut short");
    bytes_ += got;
    out = out.subspan(got);
  }
  return Status::Ok();
}

Status BlockReader::Start() {
  std::array<char, kTransferMagic.size()> magic;
  const Status filled = Fill(magic);
  if (filled.ok() && std::string_view(magic.data(), magic.size()) == kTransferMagic) return Status::Ok();
  if (!filled.ok() && filled.code() != ErrorCode::kCorrupt) return filled;
  return Status(ErrorCode::kCorrupt, "this is no exported generation: it does not start with 'TARNGEN'")
      .WithHint("'tarn-index export NAME@N FILE' writes one");
}

Result<BlockReader::Block> BlockReader::Next() {
  std::array<char, kHeadBytes> head;
  TARN_RETURN_IF_ERROR(Fill(head));
  const Block block{static_cast<BlockKind>(head[0]), ReadBigEndian64(head.data() + 1)};
  if (block.kind < BlockKind::kHeader || block.kind > BlockKind::kEnd) {
    return Bad(fmt::format("expected a block of kind 1 to 5, found {}", static_cast<int>(block.kind)));
  }
  digester_.emplace();
  digester_->Update(std::as_bytes(std::span<const char>(head)));
  left_ = block.length;
  if (block.kind != BlockKind::kEnd) {
    ++blocks_;
    return block;
  }
  TARN_ASSIGN_OR_RETURN(const std::string count, Payload());
  if (count.size() != 8 || ReadBigEndian64(count.data()) != blocks_) return Bad("blocks are missing");
  char more = 0;
  TARN_ASSIGN_OR_RETURN(const size_t got, source_(std::span(&more, 1)));
  if (got != 0) return Bad("bytes follow its end block");
  return Block{BlockKind::kEnd, 0};
}

Result<std::string> BlockReader::Payload() {
  if (left_ > kMostPayload) return Bad(fmt::format("a record of {} bytes", left_));
  std::string payload(left_, '\0');
  TARN_RETURN_IF_ERROR(Fill(payload));
  digester_->Update(AsBytes(payload));
  left_ = 0;
  TARN_RETURN_IF_ERROR(CheckSum());
  return payload;
}

Result<size_t> BlockReader::Piece(std::span<char> out) {
  if (left_ == 0) {
    TARN_RETURN_IF_ERROR(CheckSum());
    return size_t{0};
  }
  const std::span<char> piece = out.first(std::min<uint64_t>(out.size(), left_));
  TARN_RETURN_IF_ERROR(Fill(piece));
  digester_->Update(std::as_bytes(std::span<const char>(piece)));
  left_ -= piece.size();
  return piece.size();
}

Status BlockReader::CheckSum() {
  const std::string expected = SumOf(&*digester_);
  std::string found(kSumBytes, '\0');
  TARN_RETURN_IF_ERROR(Fill(found));
  if (found == expected) return Status::Ok();
  return Bad(fmt::format("expected checksum {}, found {}", ToHex(expected), ToHex(found)));
}

}  // namespace tarn::dataset

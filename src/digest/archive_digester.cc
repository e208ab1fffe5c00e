#include "tarn/digest/archive_digester.h"

#include <algorithm>
#include <new>
#include <utility>

#include "digest/xxh3.h"

namespace tarn::digest {
namespace {

Digest ToDigest(const XXH128_hash_t& hash) {
  return Digest{.high = hash.high64, .low = hash.low64};
}

using State = std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)>;

State MakeState() {
  State state(XXH3_createState(), XXH3_freeState);
  if (!state) throw std::bad_alloc();
  return state;
}

}  // namespace

// A whole chunk that arrives in one piece is hashed in one go; a chunk that arrives in pieces goes through a
// streaming state. Both run over the same bytes while they are in the processor's cache, so the second sum is
// nearly free: pieces are cut at chunk boundaries and fed to both in turn.
class ArchiveDigester::Impl {
 public:
  Impl() : whole_(MakeState()), chunk_(MakeState()) {
    XXH3_128bits_reset(whole_.get());
    XXH3_64bits_reset(chunk_.get());
  }

  void Update(std::span<const std::byte> bytes) {
    size_ += bytes.size();
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(bytes.size(), kChunkBytes - in_chunk_));
      bytes = bytes.subspan(piece.size());
      XXH3_128bits_update(whole_.get(), piece.data(), piece.size());
      if (piece.size() == kChunkBytes) {
        chunks_.push_back(ChunkChecksum(piece));
        continue;
      }
      XXH3_64bits_update(chunk_.get(), piece.data(), piece.size());
      in_chunk_ += piece.size();
      if (in_chunk_ == kChunkBytes) EndChunk();
    }
  }

  Sum Finish() {
    if (in_chunk_ > 0) EndChunk();
    return Sum{ArchiveId{size_, ToDigest(XXH3_128bits_digest(whole_.get()))}, std::move(chunks_)};
  }

 private:
  void EndChunk() {
    chunks_.push_back(XXH3_64bits_digest(chunk_.get()));
    XXH3_64bits_reset(chunk_.get());
    in_chunk_ = 0;
  }

  State whole_;
  State chunk_;
  uint64_t size_ = 0;
  size_t in_chunk_ = 0;  // bytes of the current chunk in chunk_
  std::vector<uint64_t> chunks_;
};

ArchiveDigester::ArchiveDigester() : impl_(std::make_unique<Impl>()) {}
ArchiveDigester::~ArchiveDigester() = default;
ArchiveDigester::ArchiveDigester(ArchiveDigester&&) noexcept = default;
ArchiveDigester& ArchiveDigester::operator=(ArchiveDigester&&) noexcept = default;

void ArchiveDigester::Update(std::span<const std::byte> bytes) {
  impl_->Update(bytes);
}

ArchiveDigester::Sum ArchiveDigester::Finish() {
  return impl_->Finish();
}

Digest DigestOf(std::string_view bytes) {
  return ToDigest(XXH3_128bits(bytes.data(), bytes.size()));
}

uint64_t ChunkChecksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace tarn::digest

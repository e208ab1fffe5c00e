// ArchiveDigester: the identity of an archive and the checksums of its chunks, in one pass over its bytes.
#ifndef TARN_DIGEST_ARCHIVE_DIGESTER_H_
#define TARN_DIGEST_ARCHIVE_DIGESTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tarn/base/archive_id.h"

namespace tarn::digest {

// Bytes an XXH3-64 covers. Small enough that checking one before its bytes leave is not felt, large enough
// that the checksums of a terabyte are 64 MiB.
inline constexpr size_t kChunkBytes = size_t{128} << 10;

class ArchiveDigester {
 public:
  ArchiveDigester();
  ~ArchiveDigester();
  ArchiveDigester(ArchiveDigester&&) noexcept;
  ArchiveDigester& operator=(ArchiveDigester&&) noexcept;

  // Bytes in archive order, in pieces of any size.
  void Update(std::span<const std::byte> bytes);

  struct Sum {
    ArchiveId id;
    std::vector<uint64_t> chunks;  // XXH3-64 of each 128 KiB; the last chunk may be short; none for no bytes
  };
  // Call once, after the last byte.
  Sum Finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// XXH3-128 of `bytes`, as `xxh128sum` prints it.
Digest DigestOf(std::string_view bytes);
// XXH3-64 of one chunk.
uint64_t ChunkChecksum(std::span<const std::byte> bytes);

}  // namespace tarn::digest

#endif  // TARN_DIGEST_ARCHIVE_DIGESTER_H_

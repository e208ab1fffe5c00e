// What the first bytes of a file say it is: whether a file named like an archive is one.
#ifndef TARN_INDEXER_FIRST_BLOCK_H_
#define TARN_INDEXER_FIRST_BLOCK_H_

#include <cstddef>
#include <span>
#include <string_view>

namespace tarn::indexer {

inline constexpr size_t kFirstBlockBytes = 512;

// Whether a file that starts with `block` (fewer than 512 bytes when the file has no more) is a tar: its
// header has the ustar magic of POSIX or GNU, or a checksum that is right (V7 has no magic), or is the zero
// block that an archive of no members starts with.
bool IsTarBlock(std::span<const std::byte> block);

// "gzip", "zstd", ...: the compressor whose magic number `block` starts with; empty when none does.
std::string_view CompressorOf(std::span<const std::byte> block);

// Whether a name is usual for a compressed tar: "x.tar.gz", "x.tgz", ...
bool NamesCompressedArchive(std::string_view name);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_FIRST_BLOCK_H_

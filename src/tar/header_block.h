// The 512-byte header block: where its fields are in each dialect, and whether it is one at all.
#ifndef TARN_SRC_TAR_HEADER_BLOCK_H_
#define TARN_SRC_TAR_HEADER_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tarn::tar {

inline constexpr size_t kBlockBytes = 512;

// `size` rounded up to whole blocks; `size` must be at most INT64_MAX - 511.
constexpr uint64_t PaddedSize(uint64_t size) {
  return (size + (kBlockBytes - 1)) & ~uint64_t{kBlockBytes - 1};
}

enum class Dialect : uint8_t {
  kV7,       // no magic
  kUstar,    // "ustar\0": POSIX ustar and pax
  kGnu,      // "ustar  \0": old GNU and GNU; no name prefix, other fields there
  kXstar,    // ustar magic and star's times behind a shorter prefix (star, xustar, exustar; star(5))
  kOldStar,  // no ustar magic, "tar\0" at the very end (star before 1.2)
};

// A view of one block; the bytes belong to somebody else. Offsets: POSIX.1 ustar interchange format, GNU tar
// manual "Basic Tar Format", star(5).
class HeaderBlock {
 public:
  explicit HeaderBlock(const char* bytes) : bytes_(bytes) {}

  const char* bytes() const { return bytes_; }
  std::string_view Field(size_t offset, size_t length) const { return {bytes_ + offset, length}; }
  // The field up to its first NUL; the whole field when there is none.
  std::string_view Text(size_t offset, size_t length) const {
    const std::string_view field = Field(offset, length);
    return field.substr(0, field.find('\0'));
  }

  std::string_view name() const { return Text(0, 100); }
  std::string_view mode() const { return Field(100, 8); }
  std::string_view uid() const { return Field(108, 8); }
  std::string_view gid() const { return Field(116, 8); }
  std::string_view size() const { return Field(124, 12); }
  std::string_view mtime() const { return Field(136, 12); }
  std::string_view checksum() const { return Field(148, 8); }
  char type() const { return bytes_[156]; }
  std::string_view link() const { return Text(157, 100); }
  std::string_view user_name() const { return Text(265, 32); }
  std::string_view group_name() const { return Text(297, 32); }
  std::string_view device_major() const { return Field(329, 8); }
  std::string_view device_minor() const { return Field(337, 8); }

  Dialect dialect() const;
  // The directory part of the name that a dialect keeps apart; empty in dialects without one.
  std::string_view prefix(Dialect dialect) const;

  bool IsZero() const;
  // Whether the checksum field holds the sum of the block, bytes taken as unsigned (POSIX) or as signed (old
  // Sun and BSD writers).
  bool ChecksumMatches() const;
  // A header: not zero, and its checksum matches.
  bool IsHeader() const { return ChecksumMatches(); }

 private:
  const char* bytes_;
};

// The name of the compression whose stream begins with `bytes` ("gzip", "zstd", ...), or empty.
std::string_view CompressionOf(std::string_view bytes);

}  // namespace tarn::tar

#endif  // TARN_SRC_TAR_HEADER_BLOCK_H_

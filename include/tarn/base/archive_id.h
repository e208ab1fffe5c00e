// ArchiveId: what an archive is known by, wherever it lies: its size and the XXH3-128 of all its bytes.
//
// The digest is identity against accident (moved, copied, truncated, replaced, rotten), not against an
// attacker: XXH3 is no cryptographic hash.
#ifndef TARN_BASE_ARCHIVE_ID_H_
#define TARN_BASE_ARCHIVE_ID_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tarn {

// XXH3-128 in its canonical (big-endian) form; ToHex prints what `xxh128sum` prints.
struct Digest {
  uint64_t high = 0;
  uint64_t low = 0;

  auto operator<=>(const Digest&) const = default;
  std::string ToHex() const;  // 32 characters
  static std::optional<Digest> FromHex(std::string_view text);
};

struct ArchiveId {
  uint64_t size = 0;  // bytes
  Digest digest;

  // The null ArchiveId stands in keys for the generation itself. No file has it: the digest of zero bytes is
  // not 0.
  auto operator<=>(const ArchiveId&) const = default;
  bool IsNull() const { return size == 0 && digest == Digest{}; }

  // The 24 bytes that keys start with: big-endian size, then the digest as it prints.
  static constexpr size_t kEncodedBytes = 24;
  void AppendTo(std::string* out) const;
  static ArchiveId Decode(const char* from);  // reads 24 bytes

  // "<size>-<32 hex>": the stem of a bundle's file name and what `tarn where` takes.
  std::string ToString() const;
  static std::optional<ArchiveId> FromString(std::string_view text);
};

}  // namespace tarn

template <>
struct std::hash<tarn::ArchiveId> {
  size_t operator()(const tarn::ArchiveId& id) const noexcept {
    return static_cast<size_t>(id.digest.low ^ (id.size * 0x9e3779b97f4a7c15ULL));
  }
};

#endif  // TARN_BASE_ARCHIVE_ID_H_

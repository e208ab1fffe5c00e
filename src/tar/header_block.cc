#include "tar/header_block.h"

#include <array>
#include <cstring>

#include "tar/numbers.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tarn::tar {
namespace {

constexpr std::string_view kUstarMagic{"ustar\0", 6};
constexpr std::string_view kGnuMagic{"ustar  \0", 8};
constexpr std::string_view kStarMagic{"tar\0", 4};

// Sum of all 512 bytes, as unsigned. The walk spends most of its own time here.
uint32_t SumOfBytes(const char* bytes) {
#if defined(__SSE2__)
  __m128i sum = _mm_setzero_si128();
  for (size_t i = 0; i < kBlockBytes; i += 16) {
    __m128i part;
    std::memcpy(&part, bytes + i, sizeof part);
    sum = _mm_add_epi64(sum, _mm_sad_epu8(part, _mm_setzero_si128()));
  }
  return static_cast<uint32_t>(_mm_cvtsi128_si32(sum) + _mm_cvtsi128_si32(_mm_srli_si128(sum, 8)));
#else
  uint64_t sum = 0;  // four 16-bit lanes; 64 words of at most 510 each fit
  for (size_t i = 0; i < kBlockBytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + i, sizeof word);
    sum += (word & 0x00ff00ff00ff00ffULL) + ((word >> 8) & 0x00ff00ff00ff00ffULL);
  }
  return static_cast<uint32_t>((sum & 0xffff) + ((sum >> 16) & 0xffff) + ((sum >> 32) & 0xffff) +
                               (sum >> 48));
#endif
}

// star writes eleven octal digits and a blank where ustar keeps the last bytes of its prefix.
bool IsStarTime(std::string_view field) {
  return field[0] >= '0' && field[0] <= '7' && (field[11] == ' ' || field[11] == '\0');
}

}  // namespace

Dialect HeaderBlock::dialect() const {
  if (Field(257, 8) == kGnuMagic) return Dialect::kGnu;
  const bool star = Field(508, 4) == kStarMagic;
  if (Field(257, 6) == kUstarMagic) {
    const bool star_times = IsStarTime(Field(476, 12)) && IsStarTime(Field(488, 12));
    return bytes_[475] == '\0' && (star || star_times) ? Dialect::kXstar : Dialect::kUstar;
  }
  return star ? Dialect::kOldStar : Dialect::kV7;
}

std::string_view HeaderBlock::prefix(Dialect dialect) const {
  switch (dialect) {
    case Dialect::kUstar:
    case Dialect::kOldStar:
      return Text(345, 155);
    case Dialect::kXstar:
      return Text(345, 131);
    case Dialect::kV7:
    case Dialect::kGnu:
      break;
  }
  return {};
}

bool HeaderBlock::IsZero() const {
  uint64_t any = 0;
  for (size_t i = 0; i < kBlockBytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes_ + i, sizeof word);
    any |= word;
    if ((i & 63) == 56 && any != 0) return false;
  }
  return true;
}

bool HeaderBlock::ChecksumMatches() const {
  const HeaderNumber stated = ParseHeaderNumber(checksum());
  if (!stated.good()) return false;
  // The field itself counts as eight spaces.
  int64_t sum = SumOfBytes(bytes_) + 8 * ' ';
  for (const char c : checksum()) sum -= static_cast<unsigned char>(c);
  if (stated.value == sum) return sum != 8 * ' ';  // nothing but the checksum field is no header
  int64_t signed_sum = 8 * ' ';
  for (size_t i = 0; i < kBlockBytes; ++i) {
    if (i < 148 || i >= 156) signed_sum += static_cast<signed char>(bytes_[i]);
  }
  return stated.value == signed_sum && signed_sum != sum;
}

std::string_view CompressionOf(std::string_view bytes) {
  struct Magic {
    std::string_view bytes;
    std::string_view name;
  };
  static constexpr std::array<Magic, 14> kMagics{{
      {{"\x1f\x8b", 2}, "gzip"},
      {{"\x1f\x9d", 2}, "compress"},
      {{"\x1f\xa0", 2}, "compress (LZH)"},
      {{"BZh", 3}, "bzip2"},
      {{"\xfd"
        "7zXZ\0",
        6},
       "xz"},
      {{"\x5d\x00\x00", 3}, "lzma"},
      {{"LZIP", 4}, "lzip"},
      {{"\x89LZO\0\r\n\x1a\n", 9}, "lzop"},
      {{"LRZI", 4}, "lrzip"},
      {{"\x28\xb5\x2f\xfd", 4}, "zstd"},
      {{"\x04\x22\x4d\x18", 4}, "lz4"},
      {{"\x02\x21\x4c\x18", 4}, "lz4 (legacy)"},
      {{"PK\x03\x04", 4}, "zip"},
      {{"7z\xbc\xaf\x27\x1c", 6}, "7-Zip"},
  }};
  for (const Magic& magic : kMagics) {
    if (bytes.substr(0, magic.bytes.size()) == magic.bytes) return magic.name;
  }
  // A zstd stream may begin with a skippable frame.
  if (bytes.size() >= 4 && (static_cast<unsigned char>(bytes[0]) & 0xf0) == 0x50 &&
      bytes.substr(1, 3) == std::string_view("\x2a\x4d\x18", 3)) {
    return "zstd";
  }
  return {};
}

}  // namespace tarn::tar

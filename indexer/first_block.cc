#include "indexer/first_block.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tarn::indexer {
namespace {

constexpr size_t kMagicOffset = 257;
constexpr size_t kChecksumOffset = 148;
constexpr size_t kChecksumBytes = 8;

struct Compressor {
  std::string_view magic;
  std::string_view name;
};
constexpr std::array kCompressors = {
    Compressor{"\x1f\x8b", "gzip"},
    Compressor{"BZh", "bzip2"},
    Compressor{std::string_view("\xfd"
                                "7zXZ\0",
                                6),
               "xz"},
    Compressor{"\x28\xb5\x2f\xfd", "zstd"},
    Compressor{"\x04\x22\x4d\x18", "lz4"},
    Compressor{"LZIP", "lzip"},
    Compressor{std::string_view("\x89LZO\0", 5), "lzop"},
    Compressor{"\x1f\x9d", "compress"},
    Compressor{"7z\xbc\xaf\x27\x1c", "7-Zip"},
    Compressor{"PK\x03\x04", "zip"},
};

std::string_view Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The octal number of a checksum field, with blanks and NULs around it.
std::optional<int64_t> ParseChecksum(std::string_view field) {
  const size_t first = field.find_first_not_of(' ');
  if (first == std::string_view::npos) return std::nullopt;
  int64_t value = 0;
  size_t digits = 0;
  for (const char c : field.substr(first)) {
    if (c < '0' || c > '7') break;
    value = value * 8 + (c - '0');
    ++digits;
  }
  return digits > 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

bool IsTarBlock(std::span<const std::byte> block) {
  if (block.size() < kFirstBlockBytes) return false;
  const std::string_view header = Text(block.first(kFirstBlockBytes));
  if (header.substr(kMagicOffset, 5) == "ustar") return true;
  if (header.find_first_not_of('\0') == std::string_view::npos) return true;
  const auto stored = ParseChecksum(header.substr(kChecksumOffset, kChecksumBytes));
  if (!stored) return false;
  // Some old writers summed signed bytes; the field itself counts as blanks.
  int64_t unsigned_sum = 0, signed_sum = 0;
  for (size_t i = 0; i < header.size(); ++i) {
    const bool in_field = i >= kChecksumOffset && i < kChecksumOffset + kChecksumBytes;
    unsigned_sum += in_field ? ' ' : static_cast<unsigned char>(header[i]);
    signed_sum += in_field ? ' ' : static_cast<signed char>(header[i]);
  }
  return *stored == unsigned_sum || *stored == signed_sum;
}

std::string_view CompressorOf(std::span<const std::byte> block) {
  const std::string_view text = Text(block);
  const auto found = std::find_if(kCompressors.begin(), kCompressors.end(),
                                  [text](const Compressor& c) { return text.starts_with(c.magic); });
  return found == kCompressors.end() ? std::string_view() : found->name;
}

bool NamesCompressedArchive(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  for (const std::string_view suffix : {".tgz", ".taz", ".tbz", ".tbz2", ".tb2", ".txz", ".tlz", ".tzst"}) {
    if (name.ends_with(suffix)) return true;
  }
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && name.substr(0, dot).ends_with(".tar");
}

}  // namespace tarn::indexer

#include "tarn/base/bytes.h"

#include <bit>
#include <cstring>

#include <array>
#include <cstdio>

namespace tarn {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

// One instruction where the loop over bytes that the compilers make of shifts is none. Its own inverse.
template <typename T>
T ToBigEndian(T value) {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

template <typename T>
void AppendBigEndian(std::string* out, T value) {
  const T stored = ToBigEndian(value);
  out->append(reinterpret_cast<const char*>(&stored), sizeof(T));
}

template <typename T>
T ReadBigEndian(const char* from) {
  T stored;
  std::memcpy(&stored, from, sizeof(T));
  return ToBigEndian(stored);
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void AppendBigEndian16(std::string* out, uint16_t value) {
  AppendBigEndian(out, value);
}
void AppendBigEndian32(std::string* out, uint32_t value) {
  AppendBigEndian(out, value);
}
void AppendBigEndian64(std::string* out, uint64_t value) {
  AppendBigEndian(out, value);
}
uint16_t ReadBigEndian16(const char* from) {
  return ReadBigEndian<uint16_t>(from);
}
uint32_t ReadBigEndian32(const char* from) {
  return ReadBigEndian<uint32_t>(from);
}
uint64_t ReadBigEndian64(const char* from) {
  return ReadBigEndian<uint64_t>(from);
}

void AppendVarint(std::string* out, uint64_t value) {
  char bytes[10];
  size_t n = 0;
  while (value >= 0x80) {
    bytes[n++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes[n++] = static_cast<char>(value);
  out->append(bytes, n);
}

void AppendLengthPrefixed(std::string* out, std::string_view bytes) {
  AppendVarint(out, bytes.size());
  out->append(bytes);
}

std::string_view ByteReader::Bytes(uint64_t length) {
  if (!ok_ || length > rest_.size()) {
    ok_ = false;
    return {};
  }
  std::string_view bytes = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return bytes;
}

uint8_t ByteReader::Byte() {
  std::string_view bytes = Bytes(1);
  return bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]);
}

uint16_t ByteReader::BigEndian16() {
  std::string_view bytes = Bytes(2);
  return bytes.empty() ? 0 : ReadBigEndian16(bytes.data());
}

uint32_t ByteReader::BigEndian32() {
  std::string_view bytes = Bytes(4);
  return bytes.empty() ? 0 : ReadBigEndian32(bytes.data());
}

uint64_t ByteReader::BigEndian64() {
  std::string_view bytes = Bytes(8);
  return bytes.empty() ? 0 : ReadBigEndian64(bytes.data());
}

uint64_t ByteReader::Varint() {
  uint64_t value = 0;
  for (size_t i = 0; ok_ && i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    if (i == 9 && byte > 1) break;  // beyond 64 bits
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) {
      if (byte == 0 && i > 0) break;  // a needless group of zeros
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  ok_ = false;
  return 0;
}

uint32_t ByteReader::Varint32() {
  const uint64_t value = Varint();
  if (value > UINT32_MAX) {
    ok_ = false;
    return 0;
  }
  return static_cast<uint32_t>(value);
}

std::string EscapeName(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && byte != '\\') {
      text += c;
    } else {
      text += "\\x";
      text += kHexDigits[byte >> 4];
      text += kHexDigits[byte & 15];
    }
  }
  return text;
}

std::optional<std::string> UnescapeName(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
      continue;
    }
    if (i + 3 >= text.size() || text[i + 1] != 'x') return std::nullopt;
    const int high = HexValue(text[i + 2]);
    const int low = HexValue(text[i + 3]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
    i += 3;
  }
  return bytes;
}

std::string ToHex(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    text += kHexDigits[static_cast<unsigned char>(c) >> 4];
    text += kHexDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexValue(text[i]);
    const int low = HexValue(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

std::string HumanBytes(uint64_t bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace tarn

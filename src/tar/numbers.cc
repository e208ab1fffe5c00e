#include "tar/numbers.h"

#include <limits>

namespace tarn::tar {
namespace {

constexpr bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

HeaderNumber ParseBase256(std::string_view field) {
  // 0x80 marks base-256; 0x40 is the sign of the number that the remaining bits hold.
  const bool negative = (static_cast<unsigned char>(field[0]) & 0x40) != 0;
  const uint8_t fill = negative ? 0xff : 0x00;
  uint64_t value = negative ? ~uint64_t{0} : 0;
  for (size_t i = 0; i < field.size(); ++i) {
    uint8_t byte = static_cast<uint8_t>(field[i]);
    if (i == 0) byte = static_cast<uint8_t>(negative ? byte | 0x80 : byte & 0x7f);
    // A byte may only leave at the top if it says nothing but the sign.
    if (static_cast<uint8_t>(value >> 56) != fill) return {0, NumberState::kOverflow};
    value = (value << 8) | byte;
  }
  if ((static_cast<int64_t>(value) < 0) != negative) return {0, NumberState::kOverflow};
  return {static_cast<int64_t>(value), NumberState::kGood};
}

}  // namespace

HeaderNumber ParseHeaderNumber(std::string_view field) {
  if (!field.empty() && (static_cast<unsigned char>(field[0]) & 0x80) != 0) return ParseBase256(field);
  size_t i = !field.empty() && field[0] == '\0' ? 1 : 0;
  while (i < field.size() && field[i] == ' ') ++i;
  uint64_t value = 0;
  for (; i < field.size(); ++i) {
    const char c = field[i];
    if (c >= '0' && c <= '7') {
      value = (value << 3) | static_cast<uint64_t>(c - '0');  // at most 12 digits: 36 bits
    } else if (c == ' ' || c == '\0') {
      break;
    } else {
      return {0, NumberState::kMalformed};
    }
  }
  return {static_cast<int64_t>(value), NumberState::kGood};
}

std::optional<uint64_t> ParseDecimal(std::string_view text) {
  if (text.empty()) return std::nullopt;
  uint64_t value = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return std::nullopt;
    const auto digit = static_cast<uint64_t>(c - '0');
    if (value > (std::numeric_limits<uint64_t>::max() - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

std::optional<PaxTime> ParsePaxTime(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  size_t digits = 0;
  while (digits < text.size() && IsDigit(text[digits])) ++digits;
  const std::optional<uint64_t> whole = ParseDecimal(text.substr(0, digits));
  if (!whole || *whole >= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  text.remove_prefix(digits);

  uint32_t nanoseconds = 0;
  bool beyond = false;  // something below a nanosecond
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    uint32_t unit = 100'000'000;
    while (!text.empty() && IsDigit(text[0])) {
      nanoseconds += unit * static_cast<uint32_t>(text[0] - '0');
      beyond = beyond || (unit == 0 && text[0] != '0');
      unit /= 10;
      text.remove_prefix(1);
    }
  }
  PaxTime time{static_cast<int64_t>(*whole), nanoseconds, text.empty()};
  if (negative) {
    if (beyond) ++nanoseconds;  // away from zero is down
    time.seconds = -time.seconds;
    time.nanoseconds = 0;
    if (nanoseconds != 0) {
      time.seconds -= 1;
      time.nanoseconds = 1'000'000'000 - nanoseconds;
    }
  }
  return time;
}

}  // namespace tarn::tar

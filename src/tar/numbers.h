// Numbers as tar headers spell them: octal text, GNU base-256, and the blanks that old writers left.
#ifndef TARN_SRC_TAR_NUMBERS_H_
#define TARN_SRC_TAR_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace tarn::tar {

enum class NumberState : uint8_t {
  kGood,
  kMalformed,  // neither octal nor base-256
  kOverflow,   // base-256 beyond int64
};

struct HeaderNumber {
  int64_t value = 0;  // 0 unless good
  NumberState state = NumberState::kGood;

  bool good() const { return state == NumberState::kGood; }
};

// A numeric header field. Octal (POSIX ustar): leading spaces, digits, then a space, a NUL or the end of the
// field; what stands behind the terminator is not looked at. One NUL before all that is skipped, as in GNU
// tar: old writers let the field before run over. A field of blanks reads as 0, as in libarchive and Python.
// Base-256 (GNU tar manual, "Large fields"): the first bit set, then a two's complement big-endian number of
// the remaining bits.
HeaderNumber ParseHeaderNumber(std::string_view field);

// An unsigned decimal number as pax records and sparse maps hold them: digits only, at least one, nothing
// around. Nothing if it is not that or exceeds uint64.
std::optional<uint64_t> ParseDecimal(std::string_view text);

// Seconds and nanoseconds of a pax time: [-]digits[.digits]. Rounded down to the nanosecond, so that the
// nanoseconds are never negative: -1.5 is -2 s and 500,000,000 ns.
struct PaxTime {
  int64_t seconds = 0;
  uint32_t nanoseconds = 0;
  bool exact = true;  // false: something that is no number followed and was left out
};

// Nothing if `text` does not begin with a number, or if its seconds do not fit int64.
std::optional<PaxTime> ParsePaxTime(std::string_view text);

}  // namespace tarn::tar

#endif  // TARN_SRC_TAR_NUMBERS_H_

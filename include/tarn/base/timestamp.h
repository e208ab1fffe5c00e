// Moments and spans of time as people write them: RFC 3339 in UTC, and "7d".
#ifndef TARN_BASE_TIMESTAMP_H_
#define TARN_BASE_TIMESTAMP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tarn/base/result.h"

namespace tarn {

// Seconds since 1970-01-01 UTC by the machine's clock.
int64_t SecondsNow();

// "2026-11-30T18:25:19Z".
std::string FormatTimestamp(int64_t seconds);

// RFC 3339, section 5.6: "2026-11-30T18:25:19Z", "2026-11-30T19:25:19.5+01:00"; 't', 'z' and a blank between
// date and time are taken too. A fraction is checked and dropped. kInvalidArgument for anything else, and for
// days that no calendar has.
Result<int64_t> ParseTimestamp(std::string_view text);

// Seconds from "90s", "15m", "12h", "7d", "2w"; 0 needs no unit. kInvalidArgument for anything else: a bare
// number does not say what it counts.
Result<int64_t> ParseDuration(std::string_view text);
// The largest unit that divides it: "7d", "90m"; "0s".
std::string FormatDuration(int64_t seconds);

}  // namespace tarn

#endif  // TARN_BASE_TIMESTAMP_H_

// Sizes, rates and durations as people write them on a command line.
//
// "KB" is 1,000 bytes and "KiB" 1,024, always; a bare "k", as fio and dd have it, is 1,024.
#ifndef TARN_BENCH_UNITS_H_
#define TARN_BENCH_UNITS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"

namespace tarn::bench {

// "4096", "4k", "4KiB", "110 KB", "1.5GiB". kInvalidArgument says what is wrong with `text`.
Result<uint64_t> ParseBytes(std::string_view text);

// "1GB/s", "500MiB/s": bytes per second; the "/s" may be left out.
Result<uint64_t> ParseRate(std::string_view text);

// "1ms", "250us", "2s", "1.5ms". A bare number has no unit and is refused, except 0.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// "1,4,16" as whole numbers of at least 1.
Result<std::vector<unsigned>> ParseCounts(std::string_view text);

// The parts of "a,b,c"; one empty part for an empty text.
std::vector<std::string> Split(std::string_view text, char separator);

}  // namespace tarn::bench

#endif  // TARN_BENCH_UNITS_H_

#include "bench/units.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

namespace tarn::bench {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024;
constexpr Unit kByteUnits[] = {
    {"", 1},
    {"B", 1},
    {"k", kKi},
    {"K", kKi},
    {"m", kKi* kKi},
    {"M", kKi* kKi},
    {"g", kKi* kKi* kKi},
    {"G", kKi* kKi* kKi},
    {"T", kKi* kKi* kKi* kKi},
    {"kB", 1e3},
    {"KB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12},
    {"KiB", kKi},
    {"MiB", kKi* kKi},
    {"GiB", kKi* kKi* kKi},
    {"TiB", kKi* kKi* kKi* kKi},
};
constexpr Unit kTimeUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}};

Status Bad(std::string_view what, std::string_view text, std::string_view example) {
  return Status(ErrorCode::kInvalidArgument,
                "expected " + std::string(what) + ", found '" + std::string(text) + "'")
      .WithHint("for example " + std::string(example));
}

// The value of "1.5 GiB" in units of factor 1; negative when it is none.
template <size_t N>
double ParseQuantity(std::string_view text, const Unit (&units)[N]) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return -1;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& known : units) {
    if (known.name == unit) return number * known.factor;
  }
  return -1;
}

}  // namespace

Result<uint64_t> ParseBytes(std::string_view text) {
  const double bytes = ParseQuantity(text, kByteUnits);
  if (bytes < 0 || bytes >= static_cast<double>(std::numeric_limits<int64_t>::max()))
    return Bad("a size", text, "4096, 110KB or 4KiB");
  return static_cast<uint64_t>(std::llround(bytes));
}

Result<uint64_t> ParseRate(std::string_view text) {
  const std::string_view amount = text.ends_with("/s") ? text.substr(0, text.size() - 2) : text;
  auto bytes = ParseBytes(amount);
  if (!bytes.ok() || *bytes == 0) return Bad("a rate", text, "1GB/s or 100MiB/s");
  return bytes;
}

Result<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  if (text == "0") return std::chrono::nanoseconds(0);
  const double nanoseconds = ParseQuantity(text, kTimeUnits);
  if (nanoseconds < 0 || nanoseconds > 1e18) return Bad("a time with its unit", text, "1ms, 250us or 2s");
  return std::chrono::nanoseconds(std::llround(nanoseconds));
}

Result<std::vector<unsigned>> ParseCounts(std::string_view text) {
  std::vector<unsigned> counts;
  for (const std::string& part : Split(text, ',')) {
    unsigned count = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), count);
    if (error != std::errc() || end != part.data() + part.size() || count == 0)
      return Bad("numbers of at least 1", text, "1,4,16");
    counts.push_back(count);
  }
  return counts;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0;;) {
    const size_t end = text.find(separator, at);
    parts.emplace_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

}  // namespace tarn::bench

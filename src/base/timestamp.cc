#include "tarn/base/timestamp.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <optional>

namespace tarn {
namespace {

constexpr int64_t kDay = 86400;

struct Unit {
  char letter;
  int64_t seconds;
};
constexpr std::array<Unit, 5> kUnits = {{{'w', 7 * kDay}, {'d', kDay}, {'h', 3600}, {'m', 60}, {'s', 1}}};

// Takes exactly `count` digits off `text`.
std::optional<int> TakeDigits(std::string_view* text, size_t count) {
  if (text->size() < count) return std::nullopt;
  int value = 0;
  for (const char c : text->substr(0, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text->remove_prefix(count);
  return value;
}

bool TakeOneOf(std::string_view* text, std::string_view characters) {
  if (text->empty() || characters.find(text->front()) == std::string_view::npos) return false;
  text->remove_prefix(1);
  return true;
}

// The seconds of "2026-11-30", taken off `text`.
std::optional<int64_t> TakeDate(std::string_view* text) {
  const auto year = TakeDigits(text, 4);
  if (!year || !TakeOneOf(text, "-")) return std::nullopt;
  const auto month = TakeDigits(text, 2);
  if (!month || !TakeOneOf(text, "-")) return std::nullopt;
  const auto day = TakeDigits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * kDay;
}

// The seconds of "18:25:19.25", taken off `text`.
std::optional<int64_t> TakeTime(std::string_view* text) {
  const auto hour = TakeDigits(text, 2);
  if (!hour || !TakeOneOf(text, ":")) return std::nullopt;
  const auto minute = TakeDigits(text, 2);
  if (!minute || !TakeOneOf(text, ":")) return std::nullopt;
  const auto second = TakeDigits(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  if (TakeOneOf(text, ".")) {
    if (!TakeDigits(text, 1)) return std::nullopt;
    while (TakeDigits(text, 1)) continue;
  }
  return *hour * int64_t{3600} + *minute * 60 + *second;
}

// The seconds east of UTC of "Z" or "+01:00": all that is left of `text`.
std::optional<int64_t> TakeOffset(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  const bool west = text.substr(0, 1) == "-";
  if (!TakeOneOf(&text, "+-")) return std::nullopt;
  const auto hours = TakeDigits(&text, 2);
  if (!hours || !TakeOneOf(&text, ":")) return std::nullopt;
  const auto minutes = TakeDigits(&text, 2);
  if (!minutes || *hours > 23 || *minutes > 59 || !text.empty()) return std::nullopt;
  const int64_t offset = *hours * int64_t{3600} + *minutes * 60;
  return west ? -offset : offset;
}

std::optional<int64_t> Parse(std::string_view text) {
  const auto date = TakeDate(&text);
  if (!date || !TakeOneOf(&text, "Tt ")) return std::nullopt;
  const auto time = TakeTime(&text);
  if (!time) return std::nullopt;
  const auto offset = TakeOffset(text);
  if (!offset) return std::nullopt;
  return *date + *time - *offset;
}

}  // namespace

int64_t SecondsNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::string FormatTimestamp(int64_t seconds) {
  int64_t days = seconds / kDay;
  if (seconds % kDay < 0) --days;
  const int64_t rest = seconds - days * kDay;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), rest / 3600,
                     rest / 60 % 60, rest % 60);
}

Result<int64_t> ParseTimestamp(std::string_view text) {
  if (const auto seconds = Parse(text)) return *seconds;
  return Status(ErrorCode::kInvalidArgument, fmt::format("'{}' is no moment in time", text))
      .WithHint("write it as RFC 3339 has it: 2026-11-30T18:00:00Z");
}

Result<int64_t> ParseDuration(std::string_view text) {
  if (text == "0") return int64_t{0};
  for (const Unit& unit : kUnits) {
    if (text.empty() || text.back() != unit.letter) continue;
    int64_t count = 0;
    const char* const end = text.data() + text.size() - 1;
    const auto [stopped, error] = std::from_chars(text.data(), end, count);
    if (error != std::errc() || stopped != end || count < 0 || count > INT64_MAX / 2 / unit.seconds) break;
    return count * unit.seconds;
  }
  return Status(ErrorCode::kInvalidArgument, fmt::format("'{}' is no span of time", text))
      .WithHint("write a whole number and its unit: 90s, 15m, 12h, 7d, 2w");
}

std::string FormatDuration(int64_t seconds) {
  for (const Unit& unit : kUnits) {
    // Weeks are for those who write them; "7d" is what people look for.
    if (unit.letter != 'w' && seconds != 0 && seconds % unit.seconds == 0) {
      return fmt::format("{}{}", seconds / unit.seconds, unit.letter);
    }
  }
  return "0s";
}

}  // namespace tarn

#include "index/format_file.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <random>

#include "index/format.h"

namespace tarn::index {
namespace {

constexpr std::string_view kMagic = "tarn-index-root";

// Takes the first line off `text`; nothing when no whole line is left.
std::optional<std::string_view> TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end + 1);
  return line;
}

// The value of a line "key value", if it is one.
std::optional<std::string_view> ValueOf(std::string_view line, std::string_view key) {
  if (line.size() <= key.size() || line.substr(0, key.size()) != key || line[key.size()] != ' ') {
    return std::nullopt;
  }
  return line.substr(key.size() + 1);
}

template <typename Number>
bool ParseNumber(std::string_view text, int base, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool LooksLikeUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) return false;
  }
  return true;
}

Status Damaged(std::string_view root, std::string_view expected) {
  return Status(ErrorCode::kCorrupt, fmt::format("'{}/format' is damaged: expected {}", root, expected))
      .WithHint("restore the file from a backup, or index into a new root");
}

}  // namespace

std::string RenderFormatFile(const FormatFile& file) {
  return fmt::format("{}\nformat {}\nfeatures {:x}\nuuid {}\n", kMagic, file.version, file.features,
                     file.uuid);
}

Result<FormatFile> ParseFormatFile(std::string_view text, std::string_view root) {
  if (TakeLine(&text) != kMagic) {
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is no Tarn index root: its file 'format' is of another program", root))
        .WithHint("point --index (or TARN_INDEX) at the directory that 'tarn-index publish' writes");
  }
  FormatFile file;
  const std::optional<std::string_view> version = ValueOf(TakeLine(&text).value_or(""), "format");
  if (!version || !ParseNumber(*version, 10, &file.version))
    return Damaged(root, "'format NUMBER' in line 2");
  // Of a newer format nothing but its number is known to mean anything.
  TARN_RETURN_IF_ERROR(CheckFormat(file.version, 0, fmt::format("index root '{}'", root)));

  bool features_said = false;
  while (const std::optional<std::string_view> line = TakeLine(&text)) {
    if (const auto features = ValueOf(*line, "features")) {
      features_said = ParseNumber(*features, 16, &file.features);
    } else if (const auto uuid = ValueOf(*line, "uuid")) {
      file.uuid = *uuid;
    }
  }
  if (!features_said) return Damaged(root, "a line 'features HEX'");
  TARN_RETURN_IF_ERROR(CheckFormat(file.version, file.features, fmt::format("index root '{}'", root)));
  if (!LooksLikeUuid(file.uuid)) return Damaged(root, "a line 'uuid' with 36 characters");
  return file;
}

std::string MakeUuid() {
  std::random_device random;
  uint32_t words[4];
  for (uint32_t& word : words) word = random();
  words[1] = (words[1] & 0xffff0fffU) | 0x00004000U;  // version 4: random
  words[2] = (words[2] & 0x3fffffffU) | 0x80000000U;  // variant of RFC 4122
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", words[0], words[1] >> 16, words[1] & 0xffff,
                     words[2] >> 16, words[2] & 0xffff, words[3]);
}

}  // namespace tarn::index

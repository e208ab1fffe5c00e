// How datasets and their generations are named on command lines.
#include <fmt/format.h>

#include <charconv>

#include "tarn/index/index_root.h"

namespace tarn::index {
namespace {

constexpr size_t kLongestName = 255;

bool IsAlphanumeric(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

}  // namespace

bool IsDatasetName(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || !IsAlphanumeric(name[0])) return false;
  for (const char c : name) {
    if (!IsAlphanumeric(c) && c != '.' && c != '_' && c != '-') return false;
  }
  return true;
}

Result<DatasetReference> DatasetReference::Parse(std::string_view text) {
  DatasetReference reference;
  const size_t at = text.find('@');
  reference.name = text.substr(0, at);
  if (!IsDatasetName(reference.name)) {
    return Status(ErrorCode::kInvalidArgument, fmt::format("'{}' is no dataset name", reference.name))
        .WithHint("names start with a letter or digit and go on with letters, digits, '.', '_' and '-'");
  }
  if (at == std::string_view::npos) return reference;

  const std::string_view version = text.substr(at + 1);
  if (const std::optional<Digest> digest = Digest::FromHex(version)) {
    reference.digest = *digest;
    return reference;
  }
  uint32_t generation = 0;
  const char* const end = version.data() + version.size();
  const auto [stopped, error] = std::from_chars(version.data(), end, generation);
  if (error != std::errc() || stopped != end || generation == 0 || version[0] == '0') {
    return Status(
               ErrorCode::kInvalidArgument,
               fmt::format("'{}' names no generation: '{}' is neither a number nor a digest", text, version))
        .WithHint("write NAME@7, or NAME@ and the 32 hexadecimal characters of a dataset digest");
  }
  reference.generation = generation;
  return reference;
}

std::string DatasetReference::ToString() const {
  if (generation) return fmt::format("{}@{}", name, *generation);
  if (digest) return fmt::format("{}@{}", name, digest->ToHex());
  return name;
}

}  // namespace tarn::index

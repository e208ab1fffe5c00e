#include "tarn/base/archive_id.h"

#include <charconv>

#include "tarn/base/bytes.h"

namespace tarn {

std::string Digest::ToHex() const {
  std::string bytes;
  AppendBigEndian64(&bytes, high);
  AppendBigEndian64(&bytes, low);
  return ::tarn::ToHex(bytes);
}

std::optional<Digest> Digest::FromHex(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  const std::optional<std::string> bytes = ::tarn::FromHex(text);
  if (!bytes) return std::nullopt;
  return Digest{ReadBigEndian64(bytes->data()), ReadBigEndian64(bytes->data() + 8)};
}

void ArchiveId::AppendTo(std::string* out) const {
  AppendBigEndian64(out, size);
  AppendBigEndian64(out, digest.high);
  AppendBigEndian64(out, digest.low);
}

ArchiveId ArchiveId::Decode(const char* from) {
  return ArchiveId{ReadBigEndian64(from), Digest{ReadBigEndian64(from + 8), ReadBigEndian64(from + 16)}};
}

std::string ArchiveId::ToString() const {
  return std::to_string(size) + "-" + digest.ToHex();
}

std::optional<ArchiveId> ArchiveId::FromString(std::string_view text) {
  ArchiveId id;
  const char* const end = text.data() + text.size();
  const auto [after_size, error] = std::from_chars(text.data(), end, id.size);
  if (error != std::errc() || after_size == end || *after_size != '-') return std::nullopt;
  const std::optional<Digest> digest = Digest::FromHex(text.substr(after_size + 1 - text.data()));
  if (!digest) return std::nullopt;
  id.digest = *digest;
  // One identity has one spelling: no leading zeros.
  if (id.ToString().size() != text.size()) return std::nullopt;
  return id;
}

}  // namespace tarn

#include "fuse/mount_table.h"

#include <charconv>
#include <optional>

#include "tarn/io/filesystem.h"

namespace tarn::fuse {
namespace {

// mountinfo writes blank, tab, newline and backslash as three octal digits behind a backslash.
std::string Unescape(std::string_view field) {
  std::string out;
  out.reserve(field.size());
  for (size_t i = 0; i < field.size(); ++i) {
    const auto octal = [&](size_t at) { return field[at] >= '0' && field[at] <= '7'; };
    if (field[i] == '\\' && i + 3 < field.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out += static_cast<char>((field[i + 1] - '0') << 6 | (field[i + 2] - '0') << 3 | (field[i + 3] - '0'));
      i += 3;
    } else {
      out += field[i];
    }
  }
  return out;
}

std::vector<std::string_view> Fields(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const size_t blank = line.find(' ');
    fields.push_back(line.substr(0, blank));
    if (blank == std::string_view::npos) break;
    line.remove_prefix(blank + 1);
  }
  return fields;
}

bool ParseInt(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

// "36 35 98:0 /root /mnt opts [optional fields] - type source super-options"
std::optional<MountEntry> ParseLine(std::string_view line) {
  const std::vector<std::string_view> fields = Fields(line);
  size_t dash = 6;
  while (dash < fields.size() && fields[dash] != "-") ++dash;
  if (dash + 2 >= fields.size()) return std::nullopt;
  MountEntry entry{.mountpoint = Unescape(fields[4]),
                   .type = Unescape(fields[dash + 1]),
                   .source = Unescape(fields[dash + 2])};
  const size_t colon = fields[2].find(':');
  if (colon == std::string_view::npos || !ParseInt(fields[0], &entry.id) ||
      !ParseInt(fields[2].substr(colon + 1), &entry.device_minor)) {
    return std::nullopt;
  }
  return entry;
}

}  // namespace

std::vector<MountEntry> ParseMountTable(std::string_view mountinfo) {
  std::vector<MountEntry> table;
  while (!mountinfo.empty()) {
    const size_t newline = mountinfo.find('\n');
    if (auto entry = ParseLine(mountinfo.substr(0, newline))) table.push_back(*std::move(entry));
    if (newline == std::string_view::npos) break;
    mountinfo.remove_prefix(newline + 1);
  }
  return table;
}

Result<std::vector<MountEntry>> ReadMountTable() {
  TARN_ASSIGN_OR_RETURN(const std::string text, io::ReadFile("/proc/self/mountinfo"));
  return ParseMountTable(text);
}

const MountEntry* FindMount(const std::vector<MountEntry>& table, std::string_view path) {
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (entry->mountpoint == path) return &*entry;
  }
  return nullptr;
}

Result<std::string> CanonicalMountpoint(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  if (trimmed == "/") return trimmed;
  const std::string name(io::BaseName(trimmed));
  if (name == "." || name == "..") return io::RealPath(trimmed);
  std::string parent(io::DirName(trimmed));
  if (parent.empty()) parent = trimmed.front() == '/' ? "/" : ".";
  // Not TARN_ASSIGN_OR_RETURN: GCC 12 takes a string moved out of a Result and compared at once for
  // uninitialised.
  Result<std::string> resolved = io::RealPath(parent);
  if (!resolved.ok()) return resolved;
  return io::JoinPath(*resolved, name);
}

}  // namespace tarn::fuse

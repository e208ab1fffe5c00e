#include "bench/mount_info.h"

#include <algorithm>
#include <vector>

#include "bench/units.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

// "\040" and the like, as mountinfo spells blanks.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool octal = text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3';
    if (octal) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool Holds(std::string_view mount_point, std::string_view path) {
  if (mount_point == "/") return true;
  return path.starts_with(mount_point) &&
         (path.size() == mount_point.size() || path[mount_point.size()] == '/');
}

}  // namespace

Result<MountInfo> FindMountIn(std::string_view mountinfo, std::string_view path) {
  MountInfo best;
  for (const std::string& line : Split(mountinfo, '\n')) {
    const std::vector<std::string> fields = Split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const std::string mount_point = Unescaped(fields[4]);
    if (!Holds(mount_point, path) || mount_point.size() < best.mount_point.size()) continue;
    best = {line, fields[2], mount_point, fields[5], dash[1], Unescaped(dash[2]), dash[3]};
  }
  if (best.line.empty()) return Status(ErrorCode::kNotFound, "no mount holds '" + std::string(path) + "'");
  return best;
}

Result<MountInfo> FindMount(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const std::string real, io::RealPath(path));
  TARN_ASSIGN_OR_RETURN(const std::string text, io::ReadFile("/proc/self/mountinfo"));
  return FindMountIn(text, real);
}

std::string OptionValue(std::string_view options, std::string_view key) {
  for (const std::string& option : Split(options, ',')) {
    if (option.size() > key.size() && option.starts_with(key) && option[key.size()] == '=')
      return option.substr(key.size() + 1);
  }
  return {};
}

}  // namespace tarn::bench

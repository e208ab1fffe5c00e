#include "tar/member_path.h"

#include <fmt/format.h>

namespace tarn::tar {
namespace {

PathTrouble DotDot(std::string_view name) {
  // How deep the path stands after each component; below 0 it has left the archive.
  int64_t depth = 0;
  bool leaves = false;
  bool last_is_dot_dot = false;
  for (size_t begin = 0; begin < name.size();) {
    size_t end = name.find('/', begin);
    if (end == std::string_view::npos) end = name.size();
    const std::string_view component = name.substr(begin, end - begin);
    if (!component.empty() && component != ".") {
      last_is_dot_dot = component == "..";
      depth += last_is_dot_dot ? -1 : 1;
      leaves = leaves || depth < 0;
    }
    begin = end + 1;
  }
  if (leaves) {
    return {FindingCode::kEscapesRoot, Severity::kWarning,
            "a name within the archive expected, its '..' leaves it; the member is not shown"};
  }
  if (last_is_dot_dot) {
    return {FindingCode::kBadName, Severity::kWarning,
            "a name expected, '..' is no name of its own; the member is not shown"};
  }
  return {FindingCode::kEscapesRoot, Severity::kWarning,
          "a name without '..' expected, as GNU tar and libarchive demand; the member is not shown"};
}

}  // namespace

std::optional<PathTrouble> NormalizePath(std::string_view name, const PathLimits& limits, std::string* path) {
  path->clear();
  if (name.empty()) {
    return PathTrouble{FindingCode::kBadName, Severity::kWarning,
                       "a name expected, found an empty one; the member is not shown"};
  }
  if (name.find('\0') != std::string_view::npos) {
    return PathTrouble{
        FindingCode::kBadName, Severity::kError,
        "a name without NUL expected: readers disagree where it ends, and no file system holds it"};
  }
  size_t depth = 0;
  size_t longest = 0;
  for (size_t begin = 0; begin < name.size();) {
    size_t end = name.find('/', begin);
    if (end == std::string_view::npos) end = name.size();
    const std::string_view component = name.substr(begin, end - begin);
    begin = end + 1;
    if (component.empty() || component == ".") continue;
    if (component == "..") return DotDot(name);
    if (!path->empty()) path->push_back('/');
    path->append(component);
    ++depth;
    if (component.size() > longest) longest = component.size();
  }
  if (longest > kNameMax) {
    return PathTrouble{
        FindingCode::kNameTooLong, Severity::kWarning,
        fmt::format("components of at most {} bytes expected, found one of {}; the member is not "
                    "shown",
                    kNameMax, longest)};
  }
  if (path->size() > limits.path_bytes || depth > limits.path_depth) {
    return PathTrouble{
        FindingCode::kNameTooLong, Severity::kWarning,
        fmt::format("a path of at most {} bytes and {} components expected, found {} and {}; the "
                    "member is not shown",
                    limits.path_bytes, limits.path_depth, path->size(), depth)};
  }
  return std::nullopt;
}

}  // namespace tarn::tar

// Names of members as paths of the tree: what vanishes, and what cannot be shown.
#ifndef TARN_SRC_TAR_MEMBER_PATH_H_
#define TARN_SRC_TAR_MEMBER_PATH_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tarn/tar/finding.h"

namespace tarn::tar {

inline constexpr size_t kNameMax = 255;  // bytes of one component that Linux can look up

struct PathLimits {
  size_t path_bytes;
  size_t path_depth;
};

// Why a name has no place in the tree.
struct PathTrouble {
  FindingCode code = FindingCode::kBadName;
  Severity severity = Severity::kWarning;
  std::string detail;
};

// Writes `name` without leading, doubled and trailing slashes and without "." components to `path`; "" is the
// root. Gives why it cannot be shown, if so; `path` is then unspecified.
std::optional<PathTrouble> NormalizePath(std::string_view name, const PathLimits& limits, std::string* path);

}  // namespace tarn::tar

#endif  // TARN_SRC_TAR_MEMBER_PATH_H_

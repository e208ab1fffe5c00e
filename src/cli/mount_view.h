// MountView: a dataset as a mount shows it, asked for with plain system calls.
#ifndef TARN_CLI_MOUNT_VIEW_H_
#define TARN_CLI_MOUNT_VIEW_H_

#include <string>

#include "cli/view.h"

namespace tarn::cli {

class MountView final : public View {
 public:
  // Whether `path` is below a mount of Tarn: it or the directory that holds it says so by its attributes.
  static Result<bool> Shows(const std::string& path);

  Result<NodeFacts> Find(std::string_view path, bool follow) const override;
  Status List(const NodeFacts& directory,
              const std::function<void(std::string_view, const NodeFacts&)>& visit) const override;
  Result<std::string> ReadLink(const NodeFacts& link) const override;
  Status Read(const NodeFacts& file,
              const std::function<Status(std::span<const std::byte>)>& consume) const override;
  Result<nlohmann::ordered_json> AllFacts(const NodeFacts& node) const override;
};

}  // namespace tarn::cli

#endif  // TARN_CLI_MOUNT_VIEW_H_

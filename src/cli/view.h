// View: a dataset's tree, as the commands of `tarn` ask for it. It may be read straight from an index
// (index_view.h) or be a mount (mount_view.h); the commands do not know which.
#ifndef TARN_CLI_VIEW_H_
#define TARN_CLI_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "tarn/base/result.h"

namespace tarn::cli {

// One thing in a tree.
struct NodeFacts {
  uint64_t node = 0;    // node id: the inode number in a mount
  std::string path;     // in the dataset, or on this machine; empty for the dataset itself
  uint32_t mode = 0;    // type and permissions as in st_mode
  uint64_t size = 0;    // bytes
  uint64_t blocks = 0;  // 512-byte units
  uint64_t links = 0;
  uint64_t uid = 0;
  uint64_t gid = 0;
  uint64_t device = 0;
  int64_t mtime = 0;
  uint32_t mtime_ns = 0;

  bool IsDirectory() const;
  bool IsSymlink() const;
  bool IsFile() const;
  // "reg", "dir", "sym", "chr", "blk", "fifo": as `tarn walk` spells types.
  std::string_view TypeName() const;
};

class View {
 public:
  virtual ~View() = default;

  // What `path` names. Symbolic links on the way are followed, the last component's only if `follow`.
  // kNotFound, with the nearest name, when there is nothing.
  virtual Result<NodeFacts> Find(std::string_view path, bool follow) const = 0;
  // What a directory holds, in order of names; `visit` gets each with its name.
  virtual Status List(
      const NodeFacts& directory,
      const std::function<void(std::string_view name, const NodeFacts& facts)>& visit) const = 0;
  virtual Result<std::string> ReadLink(const NodeFacts& link) const = 0;
  // Gives the bytes of a regular file in pieces, in order, until `consume` fails.
  virtual Status Read(const NodeFacts& file,
                      const std::function<Status(std::span<const std::byte>)>& consume) const = 0;
  // Everything that is known, for `tarn stat`: names escaped, one value for each key.
  virtual Result<nlohmann::ordered_json> AllFacts(const NodeFacts& node) const = 0;
};

// What every view can say: path, type, mode, size ... The view adds what it knows beyond.
nlohmann::ordered_json BasicFacts(const NodeFacts& node);

}  // namespace tarn::cli

#endif  // TARN_CLI_VIEW_H_

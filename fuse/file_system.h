// FileSystem: what the operations need to answer: the tree, or every dataset of an index root, which node is
// the mount's root, and for how long the kernel may keep an answer.
#ifndef TARN_FUSE_FILE_SYSTEM_H_
#define TARN_FUSE_FILE_SYSTEM_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/dataset/catalog.h"
#include "tarn/dataset/file_tree.h"
#include "tarn/dataset/node_id.h"

namespace tarn::fuse {

// FUSE's number for the root of a mount.
inline constexpr uint64_t kRootInode = 1;

// Inside a generation nothing ever changes: names, attributes and absences may be kept for ever (30 years).
inline constexpr double kForever = 1e9;

// What the mount itself makes up (which datasets there are) may change: the kernel asks again after a second.
inline constexpr double kForNow = 1.0;

class FileSystem {
 public:
  // One generation: `root` is a directory of `tree`, which must outlive the file system.
  FileSystem(const dataset::FileTree* tree, dataset::NodeId root) : tree_(tree), root_(root) {}
  // Every dataset: the catalog, and the generations of its tree below it.
  FileSystem(const dataset::FileTree* tree, const dataset::Catalog* catalog)
      : tree_(tree), catalog_(catalog), root_(dataset::Catalog::kRoot) {}

  // FUSE numbers the root 1; everything else has its node id. These two are the only place that knows.
  dataset::NodeId NodeOf(uint64_t inode) const {
    return inode == kRootInode ? root_ : dataset::NodeId(inode);
  }
  uint64_t InodeOf(dataset::NodeId node) const { return node == root_ ? kRootInode : node.value(); }
  bool IsRoot(dataset::NodeId node) const { return node == root_; }

  // Whether a node is what the mount makes up.
  bool IsMadeUp(dataset::NodeId node) const { return catalog_ != nullptr && dataset::Catalog::Owns(node); }
  // For how long the kernel may keep a name of this directory, found or not, and a node's attributes;
  // seconds.
  double EntryTimeout(dataset::NodeId parent) const { return IsMadeUp(parent) ? kForNow : kForever; }
  double AttributeTimeout(dataset::NodeId node) const {
    if (!IsMadeUp(node)) return kForever;
    return dataset::Catalog::IsVolatile(node) ? 0 : kForNow;
  }

  // As those of FileTree.
  Result<std::optional<dataset::Attributes>> Lookup(dataset::NodeId parent, std::string_view name) const;
  Result<dataset::Attributes> GetAttributes(dataset::NodeId node) const;
  Result<dataset::NodeId> Parent(dataset::NodeId directory) const;
  Result<std::string> ReadLink(dataset::NodeId node) const;
  Status List(dataset::NodeId directory, uint64_t cookie, bool with_attributes,
              const std::function<bool(const dataset::ListedEntry&)>& visit) const;
  Result<std::optional<std::string>> GetXattr(dataset::NodeId node, std::string_view name) const;
  Result<std::vector<std::string>> ListXattrs(dataset::NodeId node) const;
  Result<size_t> Read(dataset::NodeId node, uint64_t offset, std::span<std::byte> out) const;
  Result<uint64_t> SeekDataOrHole(dataset::NodeId node, uint64_t offset, bool hole) const;
  dataset::FileSystemTotals Totals(dataset::NodeId node) const;

 private:
  const dataset::FileTree* tree_;
  const dataset::Catalog* catalog_ = nullptr;
  dataset::NodeId root_;
};

// st_ino is the node id, also for the root: the same in every process and mount.
struct stat ToStat(const dataset::Attributes& attributes);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_FILE_SYSTEM_H_

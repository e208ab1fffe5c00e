// FileSystem: what the operations need to answer: the tree, which node is the mount's root, and for how long
// the kernel may keep an answer.
#ifndef TARN_FUSE_FILE_SYSTEM_H_
#define TARN_FUSE_FILE_SYSTEM_H_

#include <sys/stat.h>

#include <cstdint>

#include "tarn/dataset/file_tree.h"
#include "tarn/dataset/node_id.h"

namespace tarn::fuse {

// FUSE's number for the root of a mount.
inline constexpr uint64_t kRootInode = 1;

// Inside a generation nothing ever changes: names, attributes and absences may be kept for ever (30 years).
inline constexpr double kForever = 1e9;

class FileSystem {
 public:
  // `tree` must outlive the file system; `root` is a directory of it.
  FileSystem(const dataset::FileTree* tree, dataset::NodeId root) : tree_(tree), root_(root) {}

  const dataset::FileTree& tree() const { return *tree_; }

  // FUSE numbers the root 1; everything else has its node id. These two are the only place that knows.
  dataset::NodeId NodeOf(uint64_t inode) const {
    return inode == kRootInode ? root_ : dataset::NodeId(inode);
  }
  uint64_t InodeOf(dataset::NodeId node) const { return node == root_ ? kRootInode : node.value(); }
  bool IsRoot(dataset::NodeId node) const { return node == root_; }

 private:
  const dataset::FileTree* tree_;
  dataset::NodeId root_;
};

// st_ino is the node id, also for the root: the same in every process and mount.
struct stat ToStat(const dataset::Attributes& attributes);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_FILE_SYSTEM_H_

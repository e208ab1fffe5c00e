// What is mounted where in this mount namespace, read from /proc/self/mountinfo.
//
// Looking here never touches a mount: a stat of a mountpoint whose server hangs or is gone would hang or fail
// with it, so everything that can be asked of the table is asked of the table first.
#ifndef TARN_FUSE_MOUNT_TABLE_H_
#define TARN_FUSE_MOUNT_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"

namespace tarn::fuse {

// The file system type that Tarn mounts as, in mountinfo and for mount(8).
inline constexpr std::string_view kFileSystemType = "fuse.tarn";

// One line of mountinfo; see proc(5).
struct MountEntry {
  int id = 0;
  int device_minor = 0;  // of st_dev; names the directory below /sys/fs/fuse/connections
  std::string mountpoint;
  std::string type;    // "fuse.tarn", "ext4", ...
  std::string source;  // "tarn:imagenet@7"
};

// Parses the text of a mountinfo file; lines that are not well formed are left out.
std::vector<MountEntry> ParseMountTable(std::string_view mountinfo);

// The mounts of this process's namespace, in the order in which they were made.
Result<std::vector<MountEntry>> ReadMountTable();

// The topmost mount at exactly `path` (absolute, canonical), or null. Points into `table`.
const MountEntry* FindMount(const std::vector<MountEntry>& table, std::string_view path);

// The absolute path of `path` with links, "." and ".." of its parent resolved, but the last component not
// touched: the name under which a mount at `path` stands in the table. kNotFound when the parent is not
// there.
Result<std::string> CanonicalMountpoint(const std::string& path);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_MOUNT_TABLE_H_

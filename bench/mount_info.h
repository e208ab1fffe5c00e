// Which mount holds a path, from /proc/self/mountinfo: what a report says about the ground it stands on.
#ifndef TARN_BENCH_MOUNT_INFO_H_
#define TARN_BENCH_MOUNT_INFO_H_

#include <string>
#include <string_view>

#include "tarn/base/result.h"

namespace tarn::bench {

struct MountInfo {
  std::string line;           // as the kernel gives it
  std::string device;         // "254:0"; made up by the kernel for NFS, FUSE and the like
  std::string mount_point;    // absolute
  std::string options;        // of the mount
  std::string type;           // "ext4", "nfs4", "fuse.tarn"
  std::string source;         // "server:/export", "/dev/vda"
  std::string super_options;  // of the file system; NFS has vers, rsize, nconnect here
};

// The mount that holds `path`, symbolic links followed; the last one where several lie on one directory.
Result<MountInfo> FindMount(const std::string& path);

// The same from the text of a mountinfo file; `path` is absolute and without links. kNotFound: none holds it.
Result<MountInfo> FindMountIn(std::string_view mountinfo, std::string_view path);

// The value of "key=value" in a list of options, or "" for an option without one or not there.
std::string OptionValue(std::string_view options, std::string_view key);

}  // namespace tarn::bench

#endif  // TARN_BENCH_MOUNT_INFO_H_

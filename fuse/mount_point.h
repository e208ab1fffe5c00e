// MountPoint: the directory and the mount on it. It opens /dev/fuse, calls mount(2) and unmounts; it knows
// nothing about who answers requests.
//
// The mount and the server are apart from the start: the descriptor that mounting gives can be handed to
// whoever serves, and a server may come and go while the mount stays.
#ifndef TARN_FUSE_MOUNT_POINT_H_
#define TARN_FUSE_MOUNT_POINT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "fuse/unique_fd.h"
#include "tarn/base/result.h"

namespace tarn::fuse {

// The one file that the directory under a mountpoint may hold.
inline constexpr std::string_view kNotMountedFile = "TARN-NOT-MOUNTED";

struct MountPointOptions {
  std::string source;       // what df and mountinfo show: "tarn:imagenet@7"; no commas, no blanks
  bool allow_other = true;  // others than the mounting user may use it
  bool no_exec = false;     // programs in it cannot be run
  uint32_t max_read = 0;    // bytes of the largest READ; the session has to agree
};

class MountPoint {
 public:
  // Whether a mount could be made at `path`: it exists, is a directory, is empty or holds kNotMountedFile
  // alone, and nothing of Tarn is mounted there (kAlreadyExists; a dead mount is said to be one). Each error
  // says what helps. Looks at the mount table first and never touches a mount of Tarn.
  static Status Check(const std::string& path);

  // Check()s and mounts, read-only, nosuid, nodev, with default_permissions: as root by mount(2), else
  // through fusermount3. Where the directory can be written, kNotMountedFile is put into it first, so that no
  // loader ever takes an unmounted directory for an empty dataset.
  static Result<MountPoint> Mount(const std::string& path, const MountPointOptions& options);

  // The canonical path.
  const std::string& path() const { return path_; }
  // The /dev/fuse descriptor, close-on-exec. Requests are read from it by whoever attaches.
  int fd() const { return fd_.get(); }

  // Ends the mount. kBusy: somebody uses it, nothing was done.
  Status Unmount() const { return Unmount(path_, /*lazy=*/false); }
  // Takes the mount out of the tree at once; it lives on until its last user is gone.
  Status Detach() const { return Unmount(path_, /*lazy=*/true); }
  // Closes the descriptor: when it is the last one, the connection ends and whoever still waits gets
  // ENOTCONN.
  void CloseDescriptor() { fd_.reset(); }

  // Unmounts what is mounted at `path` (canonical), whoever serves it. kBusy when it is in use.
  static Status Unmount(const std::string& path, bool lazy);

 private:
  MountPoint(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_MOUNT_POINT_H_

// fusermount3: the setuid program through which a user without privileges mounts and unmounts.
//
// The protocol is that of libfuse: the descriptor of a socket in _FUSE_COMMFD, over which the program sends
// the /dev/fuse descriptor it has mounted (SCM_RIGHTS). Done here and not by libfuse because the descriptor
// has to outlive any one session: the process that mounts need not be the one that serves.
#ifndef TARN_FUSE_FUSERMOUNT_H_
#define TARN_FUSE_FUSERMOUNT_H_

#include <string>

#include "tarn/base/result.h"

namespace tarn::fuse {

// Mounts at `mountpoint` with the comma-separated `options` and gives the close-on-exec descriptor. What
// fusermount3 says when it refuses is in the message. kNotFound when the program is not installed.
Result<int> MountByFusermount(const std::string& mountpoint, const std::string& options);

// Unmounts; with `lazy`, detaches a mount that is in use. kBusy when it is in use.
Status UnmountByFusermount(const std::string& mountpoint, bool lazy);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_FUSERMOUNT_H_

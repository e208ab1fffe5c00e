// Who keeps a mount busy: for the message that says why it cannot be unmounted.
#ifndef TARN_FUSE_MOUNT_USERS_H_
#define TARN_FUSE_MOUNT_USERS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace tarn::fuse {

struct MountUser {
  pid_t pid = 0;
  std::string command;  // as /proc/PID/comm has it
  std::string what;     // "cwd", "root", "exe", "map" or "fd 3", and the path
};

// Processes that have something below `mountpoint` (canonical) open, mapped, or as their directory; one line
// each, this process left out. Reads /proc only, never the mount, so it cannot hang on it. Processes that the
// caller may not look at are missing.
std::vector<MountUser> UsersOfMount(const std::string& mountpoint);

// "python3 (pid 712: fd 5 /mnt/x/a.jpg), bash (pid 99: cwd /mnt/x)", at most `limit` of them by name.
std::string DescribeUsers(const std::vector<MountUser>& users, size_t limit = 5);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_MOUNT_USERS_H_

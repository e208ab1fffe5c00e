#include "fuse/mount_point.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "fuse/fusermount.h"
#include "fuse/mount_table.h"
#include "tarn/base/log.h"
#include "tarn/io/filesystem.h"

namespace tarn::fuse {
namespace {

constexpr const char* kDevice = "/dev/fuse";

constexpr std::string_view kNotMountedText =
    "Nothing is mounted here.\n"
    "\n"
    "This directory is a mountpoint of Tarn. While tarn-mount serves a dataset on it, the dataset is seen "
    "and\n"
    "this file is not. If a program reads this text, it looks at the directory below the mount: tarn-mount\n"
    "does not run here, or the program's mount namespace does not see its mount. The dataset is not empty.\n";

Status CheckNotMounted(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const std::vector<MountEntry> table, ReadMountTable());
  const MountEntry* mount = FindMount(table, path);
  if (mount == nullptr || mount->type != kFileSystemType) return Status::Ok();
  return Status(ErrorCode::kAlreadyExists,
                "'" + path + "' is already the mountpoint of '" + mount->source + "'")
      .WithHint("'tarn-mount unmount " + path + "' ends that mount, also when its server is gone");
}

Status CheckDirectory(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == -1) {
    const int error = errno;
    Status failed = Status::FromErrno(error, "cannot use the mountpoint '" + path + "'");
    if (error == ENOENT) return std::move(failed).WithHint("make it first: mkdir -p " + path);
    if (error == ENOTCONN) {
      return std::move(failed).WithHint("a mount is there whose server is gone: umount " + path);
    }
    return failed;
  }
  if (!S_ISDIR(status.st_mode)) {
    return Status(ErrorCode::kInvalidArgument, "the mountpoint '" + path + "' is no directory")
        .WithHint("a mountpoint is an empty directory");
  }
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(path));
  for (const std::string& name : names) {
    if (name == kNotMountedFile) continue;
    return Status(ErrorCode::kInvalidArgument,
                  "the mountpoint '" + path + "' is not empty: it holds '" + name + "'")
        .WithHint("mount on an empty directory; what is in this one would be hidden");
  }
  return Status::Ok();
}

// The file below the mount is a help, not a condition: a mountpoint on a read-only file system works without.
void LeaveNotMountedFile(const std::string& path) {
  const std::string file = io::JoinPath(path, kNotMountedFile);
  const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444));
  if (fd.get() == -1) {
    if (errno != EEXIST) {
      Log(LogLevel::kInfo, Status::FromErrno(errno, "cannot leave '" + file + "'").message());
    }
    return;
  }
  if (write(fd.get(), kNotMountedText.data(), kNotMountedText.size()) !=
      static_cast<ssize_t>(kNotMountedText.size())) {
    Log(LogLevel::kInfo, Status::FromErrno(errno, "cannot write '" + file + "'").message());
  }
}

Result<UniqueFd> OpenDevice() {
  UniqueFd fd(open(kDevice, O_RDWR | O_CLOEXEC));
  if (fd.get() != -1) return fd;
  const int error = errno;
  Status status = Status::FromErrno(error, std::string("cannot open ") + kDevice);
  if (error == ENOENT || error == ENODEV || error == ENXIO) {
    return std::move(status).WithHint(
        "load the kernel module ('modprobe fuse'), or give the container the device; without a mount, "
        "'tarn ls' and 'tarn cat' read members");
  }
  return std::move(status).WithHint(
      "the device has to be open to this user (mode 0666 is usual), and to the container's device rules; "
      "without a mount, 'tarn ls' and 'tarn cat' read members");
}

std::string KernelOptions(const MountPointOptions& options) {
  std::string text = "default_permissions,max_read=" + std::to_string(options.max_read);
  if (options.allow_other) text += ",allow_other";
  return text;
}

std::string FusermountOptions(const MountPointOptions& options) {
  std::string text = "ro,nosuid,nodev,subtype=tarn,fsname=" + options.source + "," + KernelOptions(options);
  if (options.no_exec) text += ",noexec";
  return text;
}

// mount(2) itself: 0, or the error number.
int MountByKernel(const std::string& path, const MountPointOptions& options, int fd) {
  const unsigned long flags =
      MS_RDONLY | MS_NOSUID | MS_NODEV | (options.no_exec ? static_cast<unsigned long>(MS_NOEXEC) : 0UL);
  const std::string data = "fd=" + std::to_string(fd) +
                           ",rootmode=40000,user_id=" + std::to_string(geteuid()) +
                           ",group_id=" + std::to_string(getegid()) + "," + KernelOptions(options);
  const std::string type(kFileSystemType);
  return mount(options.source.c_str(), path.c_str(), type.c_str(), flags, data.c_str()) == 0 ? 0 : errno;
}

}  // namespace

Status MountPoint::Check(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const std::string canonical, CanonicalMountpoint(path));
  TARN_RETURN_IF_ERROR(CheckNotMounted(canonical));
  TARN_RETURN_IF_ERROR(CheckDirectory(canonical));
  // The last component may be a link to a mountpoint.
  TARN_ASSIGN_OR_RETURN(const std::string real, io::RealPath(canonical));
  return real == canonical ? Status::Ok() : CheckNotMounted(real);
}

Result<MountPoint> MountPoint::Mount(const std::string& path, const MountPointOptions& options) {
  TARN_RETURN_IF_ERROR(Check(path));
  TARN_ASSIGN_OR_RETURN(const std::string real, io::RealPath(path));
  TARN_ASSIGN_OR_RETURN(UniqueFd fd, OpenDevice());
  LeaveNotMountedFile(real);

  const int error = MountByKernel(real, options, fd.get());
  if (error == 0) return MountPoint(real, std::move(fd));
  if (error != EPERM) return Status::FromErrno(error, "cannot mount at '" + real + "'");
  if (geteuid() == 0) {
    return Status::FromErrno(error, "cannot mount at '" + real + "'")
        .WithHint("mounting needs CAP_SYS_ADMIN: run the container privileged or with that capability");
  }
  fd.reset();
  TARN_ASSIGN_OR_RETURN(const int received, MountByFusermount(real, FusermountOptions(options)));
  return MountPoint(real, UniqueFd(received));
}

Status MountPoint::Unmount(const std::string& path, bool lazy) {
  if (umount2(path.c_str(), UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0) return Status::Ok();
  const int error = errno;
  if (error == EPERM && geteuid() != 0) return UnmountByFusermount(path, lazy);
  if (error == EBUSY) return Status(ErrorCode::kBusy, "'" + path + "' is in use");
  return Status::FromErrno(error, "cannot unmount '" + path + "'");
}

}  // namespace tarn::fuse

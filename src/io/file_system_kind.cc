#include "tarn/io/file_system_kind.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "io/descriptor.h"
#include "tarn/io/filesystem.h"

namespace tarn::io {
namespace {

// f_type as statfs(2) and the file systems' own sources have it.
constexpr uint64_t kFuse = 0x65735546;
constexpr std::array<uint64_t, 8> kNetwork = {
    0x6969,      // NFS
    0xFE534D42,  // SMB 2 and later
    0xFF534D42,  // CIFS
    0x00C36400,  // Ceph
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x5346414F,  // AFS
};

// FUSE servers that show disks of this machine.
constexpr std::array<std::string_view, 5> kLocalFuse = {"fuseblk", "fuse.fuse-overlayfs", "fuse.mergerfs",
                                                        "fuse.ntfs-3g", "fuse.bindfs"};

// The type of the file system with device number `device`, as /proc/self/mountinfo (proc(5)) has it:
//     36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
std::string NameOfFileSystem(dev_t device) {
  const Result<std::string> table = ReadFile("/proc/self/mountinfo");
  if (!table.ok()) return "";
  const std::string number = " " + std::to_string(major(device)) + ":" + std::to_string(minor(device)) + " ";
  std::string_view rest(*table);
  while (!rest.empty()) {
    const std::string_view row = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(row.size() + 1, rest.size()));
    const size_t separator = row.find(" - ");
    if (row.find(number) >= separator || separator == std::string_view::npos) continue;
    const std::string_view type = row.substr(separator + 3);
    return std::string(type.substr(0, type.find(' ')));
  }
  return "";
}

}  // namespace

bool IsNetworkFileSystem(uint64_t magic, std::string_view name) {
  if (magic == kFuse) return std::find(kLocalFuse.begin(), kLocalFuse.end(), name) == kLocalFuse.end();
  return std::find(kNetwork.begin(), kNetwork.end(), magic) != kNetwork.end();
}

Result<bool> IsOnNetworkFileSystem(const std::string& path) {
  struct statfs found {};
  if (RetryInterrupted([&] { return ::statfs(path.c_str(), &found); }) != 0) {
    return Status::FromErrno(errno, Cannot("look at", path));
  }
  // A magic number is 32 bits; f_type is signed and may be wider.
  const auto magic = static_cast<uint64_t>(static_cast<uint32_t>(found.f_type));
  if (magic != kFuse) return IsNetworkFileSystem(magic, "");
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return Status::FromErrno(errno, Cannot("look at", path));
  return IsNetworkFileSystem(magic, NameOfFileSystem(status.st_dev));
}

}  // namespace tarn::io

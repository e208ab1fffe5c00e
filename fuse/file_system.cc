#include "fuse/file_system.h"

namespace tarn::fuse {
namespace {

// What programs that read whole files should read at once: the size in which the kernel asks.
constexpr blksize_t kPreferredRead = 128 << 10;

}  // namespace

struct stat ToStat(const dataset::Attributes& attributes) {
  struct stat status {};
  status.st_ino = attributes.node.value();
  status.st_mode = attributes.mode;
  status.st_nlink = attributes.links;
  status.st_uid = attributes.uid;
  status.st_gid = attributes.gid;
  status.st_rdev = attributes.device;
  status.st_size = static_cast<off_t>(attributes.size);
  status.st_blocks = static_cast<blkcnt_t>(attributes.blocks);
  status.st_blksize = kPreferredRead;
  // A tar has one time for a member; the others say the same.
  status.st_mtim = {.tv_sec = attributes.mtime, .tv_nsec = attributes.mtime_ns};
  status.st_atim = status.st_mtim;
  status.st_ctim = status.st_mtim;
  return status;
}

}  // namespace tarn::fuse

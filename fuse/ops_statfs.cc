#include <limits.h>
#include <sys/statvfs.h>

#include "fuse/op_guard.h"
#include "fuse/ops.h"

namespace tarn::fuse::ops {
namespace {

constexpr uint64_t kBlock = 4096;

}  // namespace

// A full file system: everything is used, nothing is free. The kernel asks about the root.
void FileSystemStatus(fuse_req_t request, fuse_ino_t inode) {
  Answer(request, Operation::kStatfs, inode, [&](const FileSystem& file_system, Reply& reply) -> Status {
    const dataset::FileSystemTotals totals =
        file_system.Totals(file_system.NodeOf(inode == 0 ? kRootInode : inode));
    struct statvfs status {};
    status.f_bsize = kBlock;
    status.f_frsize = kBlock;
    status.f_blocks = (totals.bytes + kBlock - 1) / kBlock;
    status.f_files = totals.files;
    status.f_namemax = NAME_MAX;
    reply.FileSystemStatus(status);
    return Status::Ok();
  });
}

}  // namespace tarn::fuse::ops

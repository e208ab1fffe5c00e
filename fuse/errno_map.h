// Status to errno: once, here.
//
// What a reader may see is fixed: a system error number of the source never gets through (a file server's
// ESTALE, EACCES or ENOENT would say something about the mount that is not so), and ENOSYS never does,
// because the kernel would remember it for the life of the mount.
#ifndef TARN_FUSE_ERRNO_MAP_H_
#define TARN_FUSE_ERRNO_MAP_H_

#include "tarn/base/status.h"

namespace tarn::fuse {

// What the failed operation was about.
enum class About : unsigned char {
  kNode,   // a node of the tree: not found means that there is no such node (any more): ESTALE
  kBytes,  // bytes of an archive: whatever is wrong, the reader gets EIO, never less data
};

// The error number to answer with; 0 when `status` is ok.
int ErrnoOf(const Status& status, About about);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_ERRNO_MAP_H_

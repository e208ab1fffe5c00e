// Everything that would change something. The mount is read-only, so the kernel answers EROFS by itself;
// these stand behind it, should somebody remount it writable.
#include "fuse/op_guard.h"
#include "fuse/ops.h"

namespace tarn::fuse::ops {
namespace {

// One callback for every signature: refuses whatever it is asked.
template <typename... Arguments>
void Refuse(fuse_req_t request, Arguments...) {
  AnswerFixed(request, Operation::kWrite, EROFS);
}

// Not a change: the kernel's answer to a NOTIFY_RETRIEVE, which is never sent; it wants no reply.
void RetrieveReply(fuse_req_t request, void* /*cookie*/, fuse_ino_t inode, off_t /*offset*/,
                   fuse_bufvec* /*bytes*/) {
  Answer(request, Operation::kForget, inode, [](const FileSystem&, Reply& reply) {
    reply.None();
    return Status::Ok();
  });
}

}  // namespace

void SetReadOnlyOperations(fuse_lowlevel_ops* table) {
  table->setattr = Refuse;
  table->mknod = Refuse;
  table->mkdir = Refuse;
  table->unlink = Refuse;
  table->rmdir = Refuse;
  table->symlink = Refuse;
  table->rename = Refuse;
  table->link = Refuse;
  table->write = Refuse;
  table->write_buf = Refuse;
  table->setxattr = Refuse;
  table->removexattr = Refuse;
  table->create = Refuse;
  table->fallocate = Refuse;
  table->copy_file_range = Refuse;
  table->retrieve_reply = RetrieveReply;
}

}  // namespace tarn::fuse::ops

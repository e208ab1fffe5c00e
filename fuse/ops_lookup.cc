#include <string_view>

#include "fuse/entry_reply.h"
#include "fuse/op_guard.h"
#include "fuse/ops.h"

namespace tarn::fuse::ops {
namespace {

// A file handle (name_to_handle_at, an NFS export) is a node id without a path: the kernel asks for "." of
// any node, and for ".." of a directory, to find its way back into the tree.
Status LookupByHandle(const FileSystem& file_system, dataset::NodeId node, bool parent, Reply& reply) {
  if (parent) {
    TARN_ASSIGN_OR_RETURN(node, file_system.Parent(node));
  }
  TARN_ASSIGN_OR_RETURN(const dataset::Attributes attributes, file_system.GetAttributes(node));
  reply.Entry(ToEntry(file_system, attributes, file_system.EntryTimeout(node)));
  return Status::Ok();
}

}  // namespace

void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name_bytes) {
  Answer(request, Operation::kLookup, parent, [&](const FileSystem& file_system, Reply& reply) -> Status {
    const dataset::NodeId node = file_system.NodeOf(parent);
    const std::string_view name(name_bytes);
    if (name == "." || name == "..") return LookupByHandle(file_system, node, name == "..", reply);
    TARN_ASSIGN_OR_RETURN(const auto found, file_system.Lookup(node, name));
    if (found) {
      reply.Entry(ToEntry(file_system, *found, file_system.EntryTimeout(node)));
    } else if (file_system.IsMadeUp(node)) {
      reply.Error(ENOENT);  // not kept: it may come
    } else {
      reply.Entry(NoEntry());
    }
    return Status::Ok();
  });
}

// Node ids are computed, never remembered: there is nothing to forget.
void Forget(fuse_req_t request, fuse_ino_t inode, uint64_t /*lookups*/) {
  Answer(request, Operation::kForget, inode, [](const FileSystem&, Reply& reply) {
    reply.None();
    return Status::Ok();
  });
}

void ForgetMulti(fuse_req_t request, size_t /*count*/, fuse_forget_data* /*forgets*/) {
  Forget(request, 0, 0);
}

void GetAttributes(fuse_req_t request, fuse_ino_t inode, fuse_file_info* /*file*/) {
  Answer(request, Operation::kGetattr, inode, [&](const FileSystem& file_system, Reply& reply) -> Status {
    const dataset::NodeId node = file_system.NodeOf(inode);
    TARN_ASSIGN_OR_RETURN(const dataset::Attributes attributes, file_system.GetAttributes(node));
    reply.Attributes(ToStat(attributes), file_system.AttributeTimeout(node));
    return Status::Ok();
  });
}

// The mount has default_permissions: the kernel decides by mode and owner and does not ask.
void Access(fuse_req_t request, fuse_ino_t /*inode*/, int mask) {
  AnswerFixed(request, Operation::kAccess, (mask & W_OK) != 0 ? EROFS : 0);
}

}  // namespace tarn::fuse::ops

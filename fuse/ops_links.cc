#include <string>
#include <string_view>
#include <vector>

#include "fuse/op_guard.h"
#include "fuse/ops.h"

namespace tarn::fuse::ops {
namespace {

// getxattr(2) and listxattr(2): size 0 asks how much there is, too small a size is ERANGE.
void AnswerSized(std::string_view bytes, size_t size, Reply& reply) {
  if (size == 0) {
    reply.XattrSize(bytes.size());
  } else if (bytes.size() > size) {
    reply.Error(ERANGE);
  } else {
    reply.Text(bytes);
  }
}

}  // namespace

void ReadLink(fuse_req_t request, fuse_ino_t inode) {
  Answer(request, Operation::kReadlink, inode, [&](const FileSystem& file_system, Reply& reply) -> Status {
    TARN_ASSIGN_OR_RETURN(const std::string target, file_system.ReadLink(file_system.NodeOf(inode)));
    reply.Link(target);
    return Status::Ok();
  });
}

void GetXattr(fuse_req_t request, fuse_ino_t inode, const char* name, size_t size) {
  Answer(request, Operation::kGetxattr, inode, [&](const FileSystem& file_system, Reply& reply) -> Status {
    TARN_ASSIGN_OR_RETURN(const auto value, file_system.GetXattr(file_system.NodeOf(inode), name));
    if (value) {
      AnswerSized(*value, size, reply);
    } else {
      reply.Error(ENODATA);
    }
    return Status::Ok();
  });
}

void ListXattrs(fuse_req_t request, fuse_ino_t inode, size_t size) {
  Answer(request, Operation::kListxattr, inode, [&](const FileSystem& file_system, Reply& reply) -> Status {
    TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          file_system.ListXattrs(file_system.NodeOf(inode)));
    std::string list;
    for (const std::string& name : names) {
      list += name;
      list += '\0';
    }
    AnswerSized(list, size, reply);
    return Status::Ok();
  });
}

}  // namespace tarn::fuse::ops

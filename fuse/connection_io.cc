#include "fuse/connection_io.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace tarn::fuse {
namespace {

thread_local const uint32_t* init_wanted = nullptr;

ssize_t Write(int fd, iovec* parts, int count, void* /*user_data*/) {
  // Header and body; a refused INIT has no body. Kernels before 7.23 take a shorter one, with the flags at
  // the same place.
  fuse_init_out answer{};
  if (init_wanted != nullptr && count == 2 && parts[1].iov_len <= sizeof(answer) &&
      parts[1].iov_len >= offsetof(fuse_init_out, flags) + sizeof(answer.flags)) {
    std::memcpy(&answer, parts[1].iov_base, parts[1].iov_len);
    if ((*init_wanted & FUSE_CAP_PARALLEL_DIROPS) != 0) answer.flags |= FUSE_PARALLEL_DIROPS;
    parts[1].iov_base = &answer;
  }
  return ::writev(fd, parts, count);
}

ssize_t Read(int fd, void* buffer, size_t size, void* /*user_data*/) {
  return ::read(fd, buffer, size);
}

}  // namespace

Status UseConnection(fuse_session* session, int fd) {
  const fuse_custom_io io{.writev = Write, .read = Read, .splice_receive = nullptr, .splice_send = nullptr};
  const int result = fuse_session_custom_io(session, &io, fd);
  if (result == 0) return Status::Ok();
  return Status(ErrorCode::kInternal,
                "libfuse refused the /dev/fuse descriptor (" + std::to_string(result) + ")");
}

AnsweringInit::AnsweringInit(const uint32_t* wanted) {
  init_wanted = wanted;
}

AnsweringInit::~AnsweringInit() {
  init_wanted = nullptr;
}

}  // namespace tarn::fuse

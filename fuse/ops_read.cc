#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "fuse/op_guard.h"
#include "fuse/ops.h"
#include "tarn/io/buffer_pool.h"

namespace tarn::fuse::ops {
namespace {

// Where a reply's bytes are read to before they go to the kernel: never a mapping of the archive. (A page
// fault inside the reply loses the read when the server is killed just then.) The kernel wakes the worker
// that has waited longest; the buffer that was used last is the one that the processor still has in its
// caches.
io::BufferPool::Buffer ReplyBuffer(size_t size) {
  static io::BufferPool pool;
  return pool.Take(std::max<size_t>(size, kMaxRead));
}

}  // namespace

// ENOSYS is the answer: the kernel opens by itself from then on, with the page cache kept.
void Open(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* /*file*/) {
  AnswerFixed(request, Operation::kOpen, ENOSYS);
}

void Read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info* /*file*/) {
  Answer(request, Operation::kRead, inode, About::kBytes,
         [&](const FileSystem& file_system, Reply& reply) -> Status {
           if (offset < 0) return Status(ErrorCode::kInvalidArgument, "a negative file offset");
           const io::BufferPool::Buffer memory = ReplyBuffer(size);
           const std::span<std::byte> buffer = memory.bytes().first(size);
           TARN_ASSIGN_OR_RETURN(const size_t read, file_system.Read(file_system.NodeOf(inode),
                                                                     static_cast<uint64_t>(offset), buffer));
           reply.Bytes(buffer.first(read));
           return Status::Ok();
         });
}

// Only SEEK_DATA and SEEK_HOLE come here.
void Seek(fuse_req_t request, fuse_ino_t inode, off_t offset, int whence, fuse_file_info* /*file*/) {
  Answer(request, Operation::kLseek, inode, [&](const FileSystem& file_system, Reply& reply) -> Status {
    if (whence != SEEK_DATA && whence != SEEK_HOLE) {
      return Status(ErrorCode::kInvalidArgument, "neither SEEK_DATA nor SEEK_HOLE");
    }
    const auto found = offset < 0
                           ? Result<uint64_t>(Status(ErrorCode::kNotFound, "a negative offset"))
                           : file_system.SeekDataOrHole(file_system.NodeOf(inode),
                                                        static_cast<uint64_t>(offset), whence == SEEK_HOLE);
    if (found.code() == ErrorCode::kNotFound) {
      reply.Error(ENXIO);  // lseek(2): beyond the end
      return Status::Ok();
    }
    TARN_RETURN_IF_ERROR(found.status());
    reply.Offset(static_cast<off_t>(*found));
    return Status::Ok();
  });
}

// Answered with 0, a FLUSH would come for every close(2); after ENOSYS none does.
void Flush(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* /*file*/) {
  AnswerFixed(request, Operation::kFlush, ENOSYS);
}

void Release(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* /*file*/) {
  AnswerFixed(request, Operation::kRelease, 0);
}

// Nothing is ever unwritten.
void Sync(fuse_req_t request, fuse_ino_t /*inode*/, int /*data_only*/, fuse_file_info* /*file*/) {
  AnswerFixed(request, Operation::kFsync, 0);
}

// Locks are not negotiated: the kernel keeps them itself and never asks.
void GetLock(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* /*file*/, struct flock* /*lock*/) {
  AnswerFixed(request, Operation::kLock, ENOLCK);
}

void SetLock(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* /*file*/, struct flock* /*lock*/,
             int /*sleep*/) {
  AnswerFixed(request, Operation::kLock, ENOLCK);
}

void LockWholeFile(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* /*file*/, int /*operation*/) {
  AnswerFixed(request, Operation::kLock, ENOLCK);
}

// FIBMAP: there is no block device below.
void MapBlock(fuse_req_t request, fuse_ino_t /*inode*/, size_t /*block_size*/, uint64_t /*index*/) {
  AnswerFixed(request, Operation::kBmap, EINVAL);
}

void Ioctl(fuse_req_t request, fuse_ino_t /*inode*/, unsigned int /*command*/, void* /*argument*/,
           fuse_file_info* /*file*/, unsigned /*flags*/, const void* /*in*/, size_t /*in_size*/,
           size_t /*out_size*/) {
  AnswerFixed(request, Operation::kIoctl, ENOTTY);
}

// Files are always ready.
void Poll(fuse_req_t request, fuse_ino_t inode, fuse_file_info* /*file*/, fuse_pollhandle* handle) {
  if (handle != nullptr) fuse_pollhandle_destroy(handle);
  Answer(request, Operation::kPoll, inode, [](const FileSystem&, Reply& reply) {
    reply.Poll(POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM);
    return Status::Ok();
  });
}

}  // namespace tarn::fuse::ops

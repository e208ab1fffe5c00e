// SharedLock: says that a file is in use, to whoever would remove it (flock(2), shared; io::FileLock is the
// other side).
#ifndef TARN_IO_SHARED_LOCK_H_
#define TARN_IO_SHARED_LOCK_H_

#include <optional>
#include <string>
#include <utility>

#include "tarn/base/result.h"

namespace tarn::io {

// Released by the destructor and by the death of the process.
class SharedLock {
 public:
  // Takes the lock and makes now the file's mtime: when it was last used. Nothing if somebody holds the
  // exclusive lock; kNotFound when the file is not there, or is removed meanwhile. Never makes it.
  static Result<std::optional<SharedLock>> TryAcquire(const std::string& path);
  SharedLock(SharedLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  SharedLock& operator=(SharedLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~SharedLock();

 private:
  explicit SharedLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace tarn::io

#endif  // TARN_IO_SHARED_LOCK_H_

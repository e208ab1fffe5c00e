#include "tarn/io/shared_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "io/descriptor.h"

namespace tarn::io {

Result<std::optional<SharedLock>> SharedLock::TryAcquire(const std::string& path) {
  Descriptor file(RetryInterrupted([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY); }));
  if (!file.valid()) return Status::FromErrno(errno, Cannot("open lock", path));
  if (RetryInterrupted([&] { return ::flock(file.get(), LOCK_SH | LOCK_NB); }) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<SharedLock>();
    return Status::FromErrno(errno, Cannot("lock", path));
  }
  // Whoever removes the file does so under the exclusive lock, which may have been held in between.
  struct stat held {
  }, named{};
  if (::fstat(file.get(), &held) != 0 || ::stat(path.c_str(), &named) != 0) {
    return Status::FromErrno(errno, Cannot("look at", path));
  }
  if (held.st_ino != named.st_ino || held.st_dev != named.st_dev) {
    return Status(ErrorCode::kNotFound, "'" + path + "' was removed while it was locked");
  }
  if (::futimens(file.get(), nullptr) != 0) return Status::FromErrno(errno, Cannot("touch", path));
  return std::optional<SharedLock>(SharedLock(file.release()));
}

SharedLock::~SharedLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace tarn::io

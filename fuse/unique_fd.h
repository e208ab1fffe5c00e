// A file descriptor that is closed with its owner.
#ifndef TARN_FUSE_UNIQUE_FD_H_
#define TARN_FUSE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace tarn::fuse {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  // Gives the descriptor away; the receiver closes it.
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ != -1) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_UNIQUE_FD_H_

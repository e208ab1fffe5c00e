// Descriptor: an open file descriptor that closes itself; and system calls that a signal must not cut short.
#ifndef TARN_IO_DESCRIPTOR_H_
#define TARN_IO_DESCRIPTOR_H_

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

namespace tarn::io {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// Calls again as long as a signal interrupts: the result of the first call that was not.
template <typename Call>
auto RetryInterrupted(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

// "cannot open 'path'": the first half of an error's message.
inline std::string Cannot(std::string_view verb, std::string_view path) {
  std::string text = "cannot ";
  text.append(verb).append(" '").append(path).append("'");
  return text;
}

}  // namespace tarn::io

#endif  // TARN_IO_DESCRIPTOR_H_

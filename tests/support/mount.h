// Mounts for tests: a private mount namespace, a dataset made by GNU tar, a server that ends with its test.
#ifndef TARN_TESTS_SUPPORT_MOUNT_H_
#define TARN_TESTS_SUPPORT_MOUNT_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace tarn::support {

// Why no mount can be made here, or empty. Being able to, moves this process to a mount namespace of its own
// first: what a test mounts is gone with it, whatever becomes of the test.
std::string WhyNoMounts();

// The built program of that name ("tarn-mount").
std::string Program(std::string_view name);

// Publishes `directory` as dataset `name` of the index root `index`; throws with what tarn-index said.
void Publish(const std::string& directory, const std::string& name, const std::string& index);

// A server in the foreground on `mountpoint` (made when it is not there) with `options` behind it. The mount
// answers when the constructor returns, which throws otherwise; the destructor unmounts and ends the server.
class ServedMount {
 public:
  ServedMount(std::string mountpoint, const std::vector<std::string>& options);
  ~ServedMount();
  ServedMount(const ServedMount&) = delete;
  ServedMount& operator=(const ServedMount&) = delete;

  const std::string& path() const { return mountpoint_; }
  std::string operator/(std::string_view name) const { return mountpoint_ + "/" + std::string(name); }
  pid_t server() const { return server_; }
  // What the server has logged.
  std::string Log() const;

  // Sends SIGTERM and waits; the server's wait status, -1 when it does not end.
  int Terminate();

 private:
  void ForceOff();

  std::string mountpoint_;
  std::string log_;
  pid_t server_ = -1;
};

// Whether a file system of Tarn is mounted at exactly `path` in this namespace; never touches it.
bool IsMounted(const std::string& path);

}  // namespace tarn::support

#endif  // TARN_TESTS_SUPPORT_MOUNT_H_

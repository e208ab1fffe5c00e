#include "support/mount.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "support/child.h"

namespace tarn::support {

std::string WhyNoMounts() {
  static const std::string why = [] {
    if (geteuid() != 0) return std::string("tests of mounts need root");
    const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd == -1) return std::string("cannot open /dev/fuse: ") + std::strerror(errno);
    close(fd);
    if (unshare(CLONE_NEWNS) == -1) return std::string("no mount namespace: ") + std::strerror(errno);
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == -1) {
      return std::string("cannot make mounts private: ") + std::strerror(errno);
    }
    return std::string();
  }();
  return why;
}

std::string Program(std::string_view name) {
  return std::string(TARN_BINARY_DIRECTORY) + "/" + std::string(name);
}

void Publish(const std::string& directory, const std::string& name, const std::string& index) {
  const Finished published = RunProgram(
      {Program("tarn-index"), "publish", directory, "--name", name, "--index", index, "--settle", "0"});
  if (published.exit_code != 0) throw std::runtime_error("tarn-index: " + published.out + published.err);
}

bool IsMounted(const std::string& path) {
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    if (line.find(" " + path + " ") != std::string::npos && line.find(" - fuse.tarn ") != std::string::npos) {
      return true;
    }
  }
  return false;
}

ServedMount::ServedMount(std::string mountpoint, const std::vector<std::string>& options)
    : mountpoint_(std::move(mountpoint)), log_(mountpoint_ + ".log") {
  std::filesystem::create_directories(mountpoint_);
  std::vector<std::string> arguments = {Program("tarn-mount"), mountpoint_, "--foreground"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  server_ = StartProgram(arguments, log_);
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!IsMounted(mountpoint_)) {
    const bool ended = waitpid(server_, nullptr, WNOHANG) == server_;
    if (ended) server_ = -1;
    if (ended || std::chrono::steady_clock::now() > deadline) {
      ForceOff();
      throw std::runtime_error("tarn-mount: " + Log());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (!InChild([this] {
        struct stat status {};
        ASSERT_EQ(stat(mountpoint_.c_str(), &status), 0);
      })) {
    ForceOff();
    throw std::runtime_error("the mount does not answer: " + Log());
  }
}

ServedMount::~ServedMount() {
  if (server_ != -1) Terminate();
  ForceOff();
}

int ServedMount::Terminate() {
  kill(server_, SIGTERM);
  const int status = WaitForChild(server_, kDeadline);
  if (status != -1) server_ = -1;
  return status;
}

void ServedMount::ForceOff() {
  if (server_ != -1) {
    kill(server_, SIGKILL);
    WaitForChild(server_, std::chrono::seconds(5));
    server_ = -1;
  }
  if (IsMounted(mountpoint_)) umount2(mountpoint_.c_str(), MNT_DETACH);
}

std::string ServedMount::Log() const {
  std::ifstream file(log_);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace tarn::support

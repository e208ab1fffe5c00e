#include "bench/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <system_error>

#include "bench/units.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

constexpr size_t kOutputKept = size_t{64} << 10;
constexpr int kCannotStart = 127;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Runs `body` in a child whose output comes here.
Result<ChildUse> RunInChild(const std::function<int()>& body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Status::FromErrno(errno, "cannot make a pipe");
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return Status::FromErrno(error, "cannot start a child process");
  }
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::_exit(body());
  }
  ::close(ends[1]);
  ChildUse use;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(ends[0], buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    use.output.append(buffer, static_cast<size_t>(got));
    if (use.output.size() > 2 * kOutputKept) use.output.erase(0, use.output.size() - kOutputKept);
  }
  ::close(ends[0]);
  int how = 0;
  rusage usage = {};
  while (::wait4(child, &how, 0, &usage) < 0 && errno == EINTR) continue;
  use.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  use.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  use.peak_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  use.exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
  return use;
}

int ReadFiles(const std::vector<std::string>& files, std::vector<char>* buffer) {
  for (const std::string& path : files) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 1;
    ssize_t got = 0;
    do {
      got = ::read(fd, buffer->data(), buffer->size());
    } while (got > 0 || (got < 0 && errno == EINTR));
    ::close(fd);
    if (got < 0) return 1;
  }
  return 0;
}

}  // namespace

Result<ChildUse> RunChildProgram(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  TARN_ASSIGN_OR_RETURN(ChildUse use, RunInChild([&] {
                          ::execvp(arguments[0], arguments.data());
                          return kCannotStart;
                        }));
  if (use.exit_code == kCannotStart)
    return Status(ErrorCode::kNotFound, "cannot start '" + command.front() + "'");
  return use;
}

Result<ChildUse> ReadInChild(const std::vector<std::string>& files, uint64_t read_bytes) {
  std::vector<char> buffer(static_cast<size_t>(read_bytes));
  TARN_ASSIGN_OR_RETURN(ChildUse use, RunInChild([&] { return ReadFiles(files, &buffer); }));
  if (use.exit_code != 0) return Status(ErrorCode::kIo, "the plain reader cannot read all files");
  return use;
}

Result<FileSet> RegularFilesBelow(const std::string& directory) {
  FileSet set;
  std::error_code error;
  std::filesystem::recursive_directory_iterator walk(directory, error);
  for (; !error && walk != std::filesystem::end(walk); walk.increment(error)) {
    if (walk->is_regular_file(error)) {
      set.paths.push_back(walk->path().string());
      set.bytes += walk->file_size(error);
    }
    if (error) break;
  }
  if (error) return Status::FromErrno(error.value(), "cannot list '" + directory + "'");
  std::sort(set.paths.begin(), set.paths.end());
  if (set.paths.empty()) return Status(ErrorCode::kNotFound, "there are no files below '" + directory + "'");
  return set;
}

Result<std::string> FindProgram(const std::string& name, const std::optional<std::string>& search_path) {
  std::vector<std::string> places;
  if (const auto own = io::RealPath("/proc/self/exe"); own.ok()) places.emplace_back(io::DirName(*own));
  if (search_path) {
    for (const std::string& place : Split(*search_path, ':')) places.push_back(place);
  }
  for (const std::string& place : places) {
    const std::string path = io::JoinPath(place, name);
    if (!place.empty() && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return Status(ErrorCode::kNotFound, "there is no '" + name + "' beside this program or on PATH")
      .WithHint("--program names it");
}

}  // namespace tarn::bench

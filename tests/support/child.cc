#include "support/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace tarn::support {
namespace {

[[noreturn]] void Execute(const std::vector<std::string>& arguments, int out, int err) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  if (out != -1) dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  std::perror(argv[0]);
  _exit(127);
}

// Captures to a file rather than a pipe: a daemon that holds the other end cannot keep the reader waiting.
int AnonymousFile() {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) throw std::runtime_error("cannot make a temporary file");
  const int fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
  std::fclose(file);
  return fd;
}

std::string ReadBack(int fd) {
  std::string text;
  char buffer[4096];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t got = read(fd, buffer, sizeof(buffer)); got > 0; got = read(fd, buffer, sizeof(buffer))) {
    text.append(buffer, static_cast<size_t>(got));
  }
  close(fd);
  return text;
}

}  // namespace

int WaitForChild(pid_t pid, std::chrono::milliseconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  int status = 0;
  for (;;) {
    const pid_t waited = waitpid(pid, &status, WNOHANG);
    if (waited == pid) return status;
    if (waited == -1 && errno != EINTR) return -1;
    if (std::chrono::steady_clock::now() >= end) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

testing::AssertionResult InChild(const std::function<void()>& body, std::chrono::seconds deadline) {
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == -1) return testing::AssertionFailure() << "cannot fork";
  if (pid == 0) {
    const bool failed_before = testing::Test::HasFailure();
    bool threw = true;
    try {
      body();
      threw = false;
    } catch (const std::exception& error) {
      std::cout << "exception: " << error.what() << std::endl;
    }
    std::cout.flush();
    std::fflush(nullptr);
    _exit(threw || (testing::Test::HasFailure() && !failed_before) ? 1 : 0);
  }
  const int status = WaitForChild(pid, deadline);
  if (status == -1) {
    kill(pid, SIGKILL);
    WaitForChild(pid, std::chrono::seconds(5));
    return testing::AssertionFailure() << "the child did not end within " << deadline.count() << " s";
  }
  if (WIFSIGNALED(status)) return testing::AssertionFailure() << "the child got signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) != 0) return testing::AssertionFailure() << "the child failed; see above";
  return testing::AssertionSuccess();
}

Finished RunProgram(const std::vector<std::string>& arguments, std::chrono::seconds deadline) {
  const int out = AnonymousFile();
  const int err = AnonymousFile();
  const pid_t pid = fork();
  if (pid == 0) Execute(arguments, out, err);
  const int status = WaitForChild(pid, deadline);
  Finished finished;
  if (status == -1) {
    kill(pid, SIGKILL);
    WaitForChild(pid, std::chrono::seconds(5));
    finished.err = "(killed at the deadline) ";
  } else if (WIFEXITED(status)) {
    finished.exit_code = WEXITSTATUS(status);
  }
  finished.out = ReadBack(out);
  finished.err += ReadBack(err);
  return finished;
}

pid_t StartProgram(const std::vector<std::string>& arguments, const std::string& log) {
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd == -1) throw std::runtime_error("cannot open " + log);
  const pid_t pid = fork();
  if (pid == 0) Execute(arguments, fd, fd);
  close(fd);
  return pid;
}

}  // namespace tarn::support

#include "fuse/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>

namespace tarn::fuse {
namespace {

constexpr char kReady = 'r';

// Standard input and output to nowhere, standard error to the log file or nowhere too.
Status LeaveStreams(const std::string& log_file) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null.get() == -1) return Status::FromErrno(errno, "cannot open /dev/null");
  UniqueFd log;
  if (!log_file.empty()) {
    log.reset(open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (log.get() == -1) return Status::FromErrno(errno, "cannot append to the log file '" + log_file + "'");
  }
  dup2(null.get(), STDIN_FILENO);
  dup2(null.get(), STDOUT_FILENO);
  dup2(log.get() == -1 ? null.get() : log.get(), STDERR_FILENO);
  return Status::Ok();
}

// What became of a child that ended before it was ready.
int ExitCodeOfChild(const Program& program, pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return program.Fail("tarn-mount", Status(ErrorCode::kInternal, "the server was ended by signal " +
                                                                     std::to_string(WTERMSIG(status)) +
                                                                     " before it was ready"));
}

}  // namespace

Status Readiness::Ready(const std::string& log_file) {
  if (!in_background()) return Status::Ok();
  TARN_RETURN_IF_ERROR(LeaveStreams(log_file));
  setsid();
  if (chdir("/") == -1) return Status::FromErrno(errno, "cannot change to the directory '/'");
  // The caller may be gone; the server serves all the same.
  [[maybe_unused]] const ssize_t written = write(to_parent_.get(), &kReady, 1);
  to_parent_.reset();
  return Status::Ok();
}

int RunInBackground(const Program& program, const std::function<int(Readiness&)>& server) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) == -1) {
    return program.Fail("tarn-mount", Status::FromErrno(errno, "cannot make a pipe"));
  }
  UniqueFd from_child(ends[0]);
  UniqueFd to_parent(ends[1]);
  program.out->flush();
  program.err->flush();
  const pid_t child = fork();
  if (child == -1) return program.Fail("tarn-mount", Status::FromErrno(errno, "cannot start a process"));
  if (child == 0) {
    from_child.reset();
    signal(SIGPIPE, SIG_IGN);
    Readiness readiness(std::move(to_parent));
    const int code = server(readiness);
    program.err->flush();
    _exit(code);  // the caller's part of the program is not this process's to unwind
  }
  to_parent.reset();
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(from_child.get(), &byte, 1);
  } while (got == -1 && errno == EINTR);
  return got == 1 && byte == kReady ? static_cast<int>(ExitCode::kOk) : ExitCodeOfChild(program, child);
}

}  // namespace tarn::fuse

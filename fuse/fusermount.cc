#include "fuse/fusermount.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "fuse/unique_fd.h"

namespace tarn::fuse {
namespace {

constexpr const char* kProgram = "fusermount3";

// Starts fusermount3 with its standard error on `stderr_fd`; when `comm_fd` is not -1 the program inherits it
// and finds its number in _FUSE_COMMFD. Gives its pid.
Result<pid_t> Spawn(std::vector<std::string> arguments, int stderr_fd, int comm_fd) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  std::string comm = "_FUSE_COMMFD=" + std::to_string(comm_fd);
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "_FUSE_COMMFD=", 13) != 0) environment.push_back(*variable);
  }
  if (comm_fd != -1) environment.push_back(comm.data());
  environment.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, stderr_fd, STDERR_FILENO);
  // A dup2 onto itself clears close-on-exec in the child alone.
  if (comm_fd != -1) posix_spawn_file_actions_adddup2(&actions, comm_fd, comm_fd);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, kProgram, &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Status::FromErrno(error, "cannot run fusermount3")
        .WithHint("install the package 'fuse3', or mount as root");
  }
  return pid;
}

// What the program wrote to its standard error, on one line.
std::string Complaint(int fd) {
  std::string text;
  char buffer[512];
  for (;;) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got == -1 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ';';
  }
  return text;
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) == -1 && errno == EINTR) {
  }
  return status;
}

// The descriptor sent over `socket`, or -1 at the end of the stream.
int ReceiveDescriptor(int socket) {
  char byte = 0;
  iovec vector{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got == -1 && errno == EINTR);
  if (got <= 0) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  return fd;
}

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) == -1) return Status::FromErrno(errno, "cannot make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<int> MountByFusermount(const std::string& mountpoint, const std::string& options) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == -1) {
    return Status::FromErrno(errno, "cannot make a socket pair for fusermount3");
  }
  UniqueFd ours(sockets[0]);
  UniqueFd theirs(sockets[1]);
  TARN_ASSIGN_OR_RETURN(Pipe complaints, MakePipe());
  TARN_ASSIGN_OR_RETURN(const pid_t pid, Spawn({kProgram, "-o", options, "--", mountpoint},
                                               complaints.write_end.get(), theirs.get()));
  theirs.reset();
  complaints.write_end.reset();
  UniqueFd fd(ReceiveDescriptor(ours.get()));
  const std::string complaint = Complaint(complaints.read_end.get());
  WaitFor(pid);
  if (fd.get() == -1) {
    Status status(ErrorCode::kPermissionDenied,
                  "cannot mount at '" + mountpoint +
                      "': " + (complaint.empty() ? "fusermount3 gave no descriptor" : complaint));
    return std::move(status).WithHint(
        complaint.find("user_allow_other") != std::string::npos
            ? "add the line 'user_allow_other' to /etc/fuse.conf, or leave out --allow-other"
            : "a user needs write access to the mountpoint; root needs neither fusermount3 nor that");
  }
  return fd.release();
}

Status UnmountByFusermount(const std::string& mountpoint, bool lazy) {
  TARN_ASSIGN_OR_RETURN(Pipe complaints, MakePipe());
  std::vector<std::string> arguments{kProgram, "-u"};
  if (lazy) arguments.emplace_back("-z");
  arguments.emplace_back("--");
  arguments.push_back(mountpoint);
  TARN_ASSIGN_OR_RETURN(const pid_t pid, Spawn(std::move(arguments), complaints.write_end.get(), -1));
  complaints.write_end.reset();
  const std::string complaint = Complaint(complaints.read_end.get());
  const int status = WaitFor(pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Status::Ok();
  const bool busy = complaint.find(std::strerror(EBUSY)) != std::string::npos;
  return Status(
      busy ? ErrorCode::kBusy : ErrorCode::kPermissionDenied,
      "cannot unmount '" + mountpoint + "': " + (complaint.empty() ? "fusermount3 failed" : complaint));
}

}  // namespace tarn::fuse

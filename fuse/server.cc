#include "fuse/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "fuse/dataset_service.h"
#include "fuse/mount_point.h"
#include "fuse/mount_users.h"
#include "fuse/session.h"
#include "fuse/unique_fd.h"
#include "tarn/base/log.h"

namespace tarn::fuse {
namespace {

constexpr std::chrono::seconds kAnswerDeadline{30};

// SIGINT, SIGTERM and SIGHUP as a descriptor; blocked in this thread and those it starts.
Result<UniqueFd> TakeSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    return Status::FromErrno(error, "cannot block signals");
  }
  UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (fd.get() == -1) return Status::FromErrno(errno, "cannot make a signalfd");
  return fd;
}

enum class Wakeup : uint8_t { kSignal, kEnded, kTimeout };

// Waits for a signal or the end of the connection; at most `patience`, for ever if negative.
Wakeup WaitFor(int signals, const Session& session, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    pollfd fds[] = {{.fd = session.ended_fd(), .events = POLLIN, .revents = 0},
                    {.fd = signals, .events = POLLIN, .revents = 0}};
    int timeout = -1;
    if (patience.count() >= 0) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      timeout = static_cast<int>(std::max<int64_t>(0, left.count()));
    }
    const int ready = poll(fds, 2, timeout);
    if (ready == 0) return Wakeup::kTimeout;
    if (fds[0].revents != 0) return Wakeup::kEnded;
    signalfd_siginfo info{};
    if (fds[1].revents != 0 && read(signals, &info, sizeof(info)) == sizeof(info)) return Wakeup::kSignal;
  }
}

// Asks the mount and says what came of it; in the child, so only with calls that are safe after a fork of
// one thread among many (signal-safety(7)).
[[noreturn]] void ProbeInChild(const char* mountpoint, int report) {
  close_range(3, static_cast<unsigned>(report) - 1, 0);
  close_range(static_cast<unsigned>(report) + 1, ~0U, 0);
  struct statx status {};
  struct statvfs totals {};
  const bool good = statx(AT_FDCWD, mountpoint, AT_STATX_FORCE_SYNC, STATX_TYPE, &status) == 0 &&
                    statvfs(mountpoint, &totals) == 0;
  const int error = good ? 0 : errno;
  _exit(write(report, &error, sizeof(error)) == sizeof(error) ? 0 : 1);
}

// Asks the mount itself, as a user would: through the kernel to a worker and back. In a process of its own
// that does not have the connection: a thread that waits for an answer cannot be killed, and with the
// connection in its hands it would keep a killed server's mount hanging for ever.
Status ProbeMount(const std::string& mountpoint) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Status::FromErrno(errno, "cannot make a pipe");
  const UniqueFd answer(ends[0]);
  UniqueFd report(ends[1]);
  const pid_t child = fork();
  if (child == -1) return Status::FromErrno(errno, "cannot start a process that asks the mount");
  if (child == 0) ProbeInChild(mountpoint.c_str(), report.get());
  report.reset();

  pollfd waiting{.fd = answer.get(), .events = POLLIN, .revents = 0};
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(kAnswerDeadline);
  int ready = 0;
  do {
    ready = poll(&waiting, 1, static_cast<int>(patience.count()));
  } while (ready == -1 && errno == EINTR);
  int error = 0;
  if (ready == 1 && read(answer.get(), &error, sizeof(error)) == sizeof(error)) {
    waitpid(child, nullptr, 0);
    return error == 0 ? Status::Ok()
                      : Status::FromErrno(error, "the mount at '" + mountpoint + "' does not answer");
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, ready == 1 ? 0 : WNOHANG);  // what waits for an answer may not end
  return Status(ErrorCode::kTimedOut, "the mount at '" + mountpoint + "' does not answer");
}

// Ends the mount after a signal. Users with open files are named and have until `grace` is over, or the next
// signal comes; the mount is out of everybody's sight at once.
void EndMount(const MountPoint& mount, int signals, const Session& session, std::chrono::milliseconds grace) {
  const Status unmounted = mount.Unmount();
  if (unmounted.ok()) return;
  if (unmounted.code() != ErrorCode::kBusy) {
    // Somebody else may have been faster.
    if (WaitFor(signals, session, std::chrono::milliseconds(100)) == Wakeup::kEnded) return;
    Log(LogLevel::kWarning, unmounted.ToString());
  }
  const std::string users = DescribeUsers(UsersOfMount(mount.path()));
  Log(LogLevel::kWarning, "'" + mount.path() + "' is in use" + (users.empty() ? "" : " by " + users) +
                              ": it is detached now; who has files open there can read on for " +
                              std::to_string(grace.count()) + " ms");
  if (const Status detached = mount.Detach(); !detached.ok()) {
    Log(LogLevel::kError, detached.ToString());
    return;
  }
  if (WaitFor(signals, session, grace) != Wakeup::kEnded) {
    const std::string left = DescribeUsers(UsersOfMount(mount.path()));
    Log(LogLevel::kWarning, "ending although files are still open" + (left.empty() ? "" : ": " + left));
  }
}

void ServeUntilTold(const MountPoint& mount, int signals, Session* session, std::chrono::milliseconds grace) {
  if (WaitFor(signals, *session, std::chrono::milliseconds(-1)) == Wakeup::kEnded) {
    Log(LogLevel::kInfo, "'" + mount.path() + "' was unmounted");
    return;
  }
  EndMount(mount, signals, *session, grace);
  Log(LogLevel::kInfo, "'" + mount.path() + "' is unmounted");
}

// A thread that hangs in a source cannot be waited for: the process ends without it.
void EndSession(std::unique_ptr<Session> session, DatasetService* service) {
  constexpr std::chrono::seconds kPatience{5};
  if (session->Stop(kPatience) == 0 && service->Stop(kPatience)) return;
  Log(LogLevel::kWarning, "ending although a source still has not answered");
  _exit(static_cast<int>(ExitCode::kOk));
}

}  // namespace

Status Serve(const MountCommand& command, Readiness& readiness) {
  // Signals come by a descriptor. From here on no thread takes one, whoever starts it.
  TARN_ASSIGN_OR_RETURN(const UniqueFd signals, TakeSignals());

  // What is served. From here on the index and the sources are open.
  TARN_ASSIGN_OR_RETURN(auto service, DatasetService::Open(command));

  // Where. From here on the directory shows the mount, and whoever looks waits for its first answer.
  TARN_ASSIGN_OR_RETURN(MountPoint mount,
                        MountPoint::Mount(command.mountpoint, {.source = "tarn:" + service->name(),
                                                               .allow_other = command.allow_other,
                                                               .no_exec = command.no_exec,
                                                               .max_read = kMaxRead}));
  const auto give_up = [&mount](Status status) {
    if (const Status undone = mount.Detach(); !undone.ok()) Log(LogLevel::kError, undone.ToString());
    return status;
  };

  // Who answers. From here on the mount works.
  auto attached = Session::Attach(mount.fd(), &service->file_system(), service->record(), command.session,
                                  service->gate());
  if (!attached.ok()) return give_up(attached.status());
  std::unique_ptr<Session> session = std::move(attached).value();
  session->Start();
  if (Status probed = ProbeMount(mount.path()); !probed.ok()) {
    // Workers may hang in there: they and what they use are left to the end of the process, which is now.
    static_cast<void>(session.release());
    static_cast<void>(service.release());
    return give_up(std::move(probed));
  }
  const bool leaves_terminal = readiness.in_background();
  if (Status ready = readiness.Ready(command.log_file); !ready.ok()) return give_up(std::move(ready));
  if (leaves_terminal && command.log_file.empty()) {
    LogOptions log = command.log;
    log.target = LogTarget::kSystemLog;
    ConfigureLog(log);
  }
  service->Start(session.get());
  Log(LogLevel::kInfo,
      "'" + mount.path() + "' shows " + service->Describe() + "; " + session->negotiated().ToString());

  ServeUntilTold(mount, signals.get(), session.get(), command.unmount_grace);
  mount.CloseDescriptor();
  EndSession(std::move(session), service.get());
  return Status::Ok();
}

}  // namespace tarn::fuse

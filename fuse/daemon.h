// Going into the background: the command returns when its server is ready, with what the server has to say.
//
// The fork comes first, before any thread and any descriptor of the server; the parent then waits. What goes
// wrong before the server is ready is printed by the server itself, to the caller's standard error, and its
// exit code is the command's.
#ifndef TARN_FUSE_DAEMON_H_
#define TARN_FUSE_DAEMON_H_

#include <functional>
#include <string>

#include "fuse/unique_fd.h"
#include "tarn/base/program.h"
#include "tarn/base/status.h"

namespace tarn::fuse {

// How a server tells that it is ready.
class Readiness {
 public:
  Readiness() = default;  // nobody waits: the foreground
  explicit Readiness(UniqueFd to_parent) : to_parent_(std::move(to_parent)) {}

  // Ready: lets the parent return 0. In the background, first leaves the caller's terminal, session,
  // directory and standard streams. kIo when `log_file` (may be empty: none) cannot be appended to.
  Status Ready(const std::string& log_file);
  bool in_background() const { return to_parent_.get() != -1; }

 private:
  UniqueFd to_parent_;
};

// Runs `server` in a child process that stays, and gives the exit code when it is ready (0) or has failed.
int RunInBackground(const Program& program, const std::function<int(Readiness&)>& server);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_DAEMON_H_

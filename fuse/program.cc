#include "fuse/program.h"

#include <iostream>
#include <variant>

#include "fuse/daemon.h"
#include "fuse/mount_point.h"
#include "fuse/mount_table.h"
#include "fuse/mount_users.h"
#include "fuse/options.h"
#include "fuse/server.h"

namespace tarn::fuse {
namespace {

constexpr std::string_view kName = "tarn-mount";

int RunCommand(const Program& /*program*/, const Answered& answered) {
  return answered.exit_code;
}

int RunCommand(const Program& program, const MountCommand& command) {
  // Said before anything is opened or forked: the mistakes that are made most.
  if (Status status = MountPoint::Check(command.mountpoint); !status.ok()) return program.Fail(kName, status);
  ConfigureLog(command.log);
  const auto serve = [&](Readiness& readiness) {
    const Status status = Serve(command, readiness);
    return status.ok() ? static_cast<int>(ExitCode::kOk) : program.Fail(kName, status);
  };
  if (!command.foreground) return RunInBackground(program, serve);
  Readiness readiness;
  return serve(readiness);
}

Status Unmount(const UnmountCommand& command) {
  TARN_ASSIGN_OR_RETURN(std::string path, CanonicalMountpoint(command.mountpoint));
  TARN_ASSIGN_OR_RETURN(const std::vector<MountEntry> table, ReadMountTable());
  const MountEntry* mount = FindMount(table, path);
  if (mount == nullptr || mount->type != kFileSystemType) {
    std::string mounted;
    for (const MountEntry& entry : table) {
      if (entry.type == kFileSystemType) mounted += (mounted.empty() ? "" : ", ") + entry.mountpoint;
    }
    return Status(ErrorCode::kNotFound, "Tarn has nothing mounted at '" + path + "'")
        .WithHint(mounted.empty() ? "no mount of Tarn is seen from here" : "mounts of Tarn: " + mounted);
  }
  Status status = MountPoint::Unmount(path, command.lazy);
  if (status.code() != ErrorCode::kBusy) return status;
  const std::string users = DescribeUsers(UsersOfMount(path));
  return Status(ErrorCode::kBusy, "'" + path + "' is in use" + (users.empty() ? "" : " by " + users))
      .WithHint("end them, or 'tarn-mount unmount --lazy " + path + "' takes it out of the tree at once");
}

int RunCommand(const Program& program, const UnmountCommand& command) {
  const Status status = Unmount(command);
  return status.ok() ? static_cast<int>(ExitCode::kOk) : program.Fail(kName, status);
}

}  // namespace

int Run(const Program& program, std::string_view program_name) {
  const auto command = ParseCommand(program, IsMountHelper(program_name));
  if (!command.ok()) return program.Fail(kName, command.status());
  return std::visit([&](const auto& parsed) { return RunCommand(program, parsed); }, *command);
}

}  // namespace tarn::fuse

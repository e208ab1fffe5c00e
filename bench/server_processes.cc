#include "bench/server_processes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sstream>

#include "bench/mount_info.h"
#include "bench/units.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

// The pid that a directory of /proc is named after; 0 for the others.
pid_t PidOf(const std::string& name) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc() && end == name.data() + name.size() ? pid : 0;
}

std::string LinkTarget(const std::string& path) {
  char target[64];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  return size < 0 ? std::string() : std::string(target, static_cast<size_t>(size));
}

// Whether `process` holds connection number `connection`: newer kernels say so in fdinfo
// ("fuse_connection:"); where they do not, a process whose command line names the mount point counts.
bool Holds(const std::string& process, const std::string& connection, const std::string& mount_point) {
  const auto descriptors = io::ListDirectory(process + "/fd");
  if (!descriptors.ok()) return false;
  for (const std::string& fd : *descriptors) {
    if (LinkTarget(process + "/fd/" + fd) != "/dev/fuse") continue;
    const auto info = io::ReadFile(process + "/fdinfo/" + fd);
    if (!info.ok()) continue;
    if (const size_t at = info->find("fuse_connection:"); at != std::string::npos) {
      std::istringstream in(info->substr(at + 16));
      std::string number;
      if (in >> number && number == connection) return true;
      continue;
    }
    const auto arguments = io::ReadFile(process + "/cmdline");
    if (!arguments.ok()) continue;
    const auto words = Split(*arguments, '\0');
    if (std::find(words.begin(), words.end(), mount_point) != words.end()) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<pid_t>> FindServers(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const MountInfo mount, FindMount(path));
  std::vector<pid_t> servers;
  if (mount.type != "fuse" && !mount.type.starts_with("fuse.")) return servers;
  const std::string connection = mount.device.substr(mount.device.find(':') + 1);
  TARN_ASSIGN_OR_RETURN(const auto names, io::ListDirectory("/proc"));
  for (const std::string& name : names) {
    const pid_t pid = PidOf(name);
    if (pid != 0 && Holds("/proc/" + name, connection, mount.mount_point)) servers.push_back(pid);
  }
  if (servers.empty()) {
    return Status(ErrorCode::kPermissionDenied,
                  "no process that serves '" + mount.mount_point + "' can be looked at")
        .WithHint("run as the user of the server or as root, or name it with --server-pid");
  }
  return servers;
}

Result<ProcessUse> UseOf(const std::vector<pid_t>& processes) {
  const auto tick = static_cast<uint64_t>(1'000'000'000 / ::sysconf(_SC_CLK_TCK));
  ProcessUse use;
  if (!processes.empty()) use.storage_bytes = 0;
  for (const pid_t pid : processes) {
    const std::string place = "/proc/" + std::to_string(pid);
    const auto stat = io::ReadFile(place + "/stat");
    if (!stat.ok()) {
      return Status(ErrorCode::kNotFound, "the server process " + std::to_string(pid) + " is gone")
          .WithHint("measure again: a server that was replaced takes its counters with it");
    }
    TARN_ASSIGN_OR_RETURN(const uint64_t ticks, ParseStatTicks(*stat));
    use.cpu_ns += ticks * tick;
    const auto io_text = io::ReadFile(place + "/io");
    const auto bytes = io_text.ok() ? ParseIoReadBytes(*io_text) : Result<uint64_t>(io_text.status());
    if (bytes.ok() && use.storage_bytes) {
      *use.storage_bytes += *bytes;
    } else {
      use.storage_bytes.reset();
    }
  }
  return use;
}

std::optional<uint64_t> OwnStorageBytes() {
  const auto text = io::ReadFile("/proc/self/io");
  const auto bytes = text.ok() ? ParseIoReadBytes(*text) : Result<uint64_t>(text.status());
  return bytes.ok() ? std::optional<uint64_t>(*bytes) : std::nullopt;
}

Result<uint64_t> ParseStatTicks(std::string_view text) {
  // "pid (name) state ...": the name may hold anything, so fields count from the last parenthesis. utime
  // and stime are fields 14 and 15 of proc(5).
  const size_t name_end = text.rfind(')');
  std::istringstream in{std::string(text.substr(name_end == std::string_view::npos ? 0 : name_end + 1))};
  std::string skipped;
  for (int field = 3; field < 14; ++field) in >> skipped;
  uint64_t user = 0;
  uint64_t system = 0;
  if (name_end == std::string_view::npos || !(in >> user >> system))
    return Status(ErrorCode::kCorrupt,
                  "expected a line of /proc/PID/stat, found '" + std::string(text) + "'");
  return user + system;
}

Result<uint64_t> ParseIoReadBytes(std::string_view text) {
  for (const std::string& line : Split(text, '\n')) {
    if (!line.starts_with("read_bytes:")) continue;
    std::istringstream in(line.substr(11));
    uint64_t bytes = 0;
    if (in >> bytes) return bytes;
  }
  return Status(ErrorCode::kCorrupt,
                "expected read_bytes of /proc/PID/io, found '" + std::string(text) + "'");
}

}  // namespace tarn::bench

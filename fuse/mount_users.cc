#include "fuse/mount_users.h"

#include <unistd.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "tarn/io/filesystem.h"

namespace tarn::fuse {
namespace {

bool IsBelow(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

// Where a link of /proc points, empty when it cannot be read. The text comes from the kernel's names: nothing
// behind it is looked at.
std::string LinkTarget(const std::string& link) {
  std::string target(4096, '\0');
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  target.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return target;
}

std::string FirstOpenFile(const std::string& process, const std::string& mountpoint) {
  const auto descriptors = io::ListDirectory(process + "/fd");
  if (!descriptors.ok()) return {};
  for (const std::string& fd : *descriptors) {
    const std::string target = LinkTarget(process + "/fd/" + fd);
    if (IsBelow(target, mountpoint)) return "fd " + fd + " " + target;
  }
  return {};
}

std::string FirstMapping(const std::string& process, const std::string& mountpoint) {
  const auto maps = io::ReadFile(process + "/maps");
  if (!maps.ok()) return {};
  std::string_view rest = *maps;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const size_t path = line.find('/');
    if (path != std::string_view::npos && IsBelow(line.substr(path), mountpoint)) {
      return "map " + std::string(line.substr(path));
    }
  }
  return {};
}

std::optional<MountUser> UserOfMount(pid_t pid, const std::string& mountpoint) {
  const std::string process = "/proc/" + std::to_string(pid);
  MountUser user{.pid = pid, .command = {}, .what = {}};
  for (const char* link : {"cwd", "root", "exe"}) {
    const std::string target = LinkTarget(process + "/" + link);
    if (IsBelow(target, mountpoint)) {
      user.what = std::string(link) + " " + target;
      break;
    }
  }
  if (user.what.empty()) user.what = FirstOpenFile(process, mountpoint);
  if (user.what.empty()) user.what = FirstMapping(process, mountpoint);
  if (user.what.empty()) return std::nullopt;
  user.command = io::ReadFile(process + "/comm").ok() ? *io::ReadFile(process + "/comm") : "?";
  while (!user.command.empty() && user.command.back() == '\n') user.command.pop_back();
  return user;
}

}  // namespace

std::vector<MountUser> UsersOfMount(const std::string& mountpoint) {
  std::vector<MountUser> users;
  const auto processes = io::ListDirectory("/proc");
  if (!processes.ok()) return users;
  for (const std::string& name : *processes) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || pid == getpid()) continue;
    if (auto user = UserOfMount(pid, mountpoint)) users.push_back(*std::move(user));
  }
  return users;
}

std::string DescribeUsers(const std::vector<MountUser>& users, size_t limit) {
  std::string text;
  for (size_t i = 0; i < users.size() && i < limit; ++i) {
    if (i > 0) text += ", ";
    text += users[i].command + " (pid " + std::to_string(users[i].pid) + ": " + users[i].what + ")";
  }
  if (users.size() > limit) text += " and " + std::to_string(users.size() - limit) + " more";
  return text;
}

}  // namespace tarn::fuse

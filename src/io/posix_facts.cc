#include "tarn/io/posix_facts.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "io/descriptor.h"

namespace tarn::io {
namespace {

// Calls `call(buffer, size)` with ever larger buffers until what it gives fits. Nothing: the call failed, and
// errno says why. `must_be_less`: a result that fills the buffer may be cut off (readlink).
template <typename Call>
std::optional<std::string> Grown(bool must_be_less, Call call) {
  std::string buffer(256, '\0');
  while (true) {
    const ssize_t got = call(buffer.data(), buffer.size());
    if (got >= 0 && (static_cast<size_t>(got) < buffer.size() || !must_be_less)) {
      buffer.resize(static_cast<size_t>(got));
      return buffer;
    }
    if (got < 0 && errno != ERANGE) return std::nullopt;
    buffer.resize(buffer.size() * 2);
  }
}

}  // namespace

Result<PosixStat> LinkStat(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return Status::FromErrno(errno, Cannot("look at", path));
  PosixStat stat;
  stat.mode = found.st_mode;
  stat.size = static_cast<uint64_t>(found.st_size);
  stat.blocks = static_cast<uint64_t>(found.st_blocks);
  stat.links = found.st_nlink;
  stat.inode = found.st_ino;
  stat.uid = found.st_uid;
  stat.gid = found.st_gid;
  stat.device = found.st_rdev;
  stat.mtime = found.st_mtim.tv_sec;
  stat.mtime_ns = static_cast<uint32_t>(found.st_mtim.tv_nsec);
  return stat;
}

Result<std::string> ReadLink(const std::string& path) {
  auto target = Grown(true, [&](char* out, size_t size) { return ::readlink(path.c_str(), out, size); });
  if (!target) return Status::FromErrno(errno, Cannot("read the link", path));
  return std::move(*target);
}

Result<std::optional<std::string>> GetXattr(const std::string& path, const std::string& name) {
  auto value = Grown(
      false, [&](char* out, size_t size) { return ::lgetxattr(path.c_str(), name.c_str(), out, size); });
  if (value || errno == ENODATA || errno == EOPNOTSUPP || errno == EPERM) return value;
  return Status::FromErrno(errno, Cannot("read the attribute " + name + " of", path));
}

Result<std::vector<std::string>> ListXattrs(const std::string& path) {
  const auto list =
      Grown(false, [&](char* out, size_t size) { return ::llistxattr(path.c_str(), out, size); });
  std::vector<std::string> names;
  if (!list && errno == EOPNOTSUPP) return names;
  if (!list) return Status::FromErrno(errno, Cannot("list the attributes of", path));
  for (std::string_view rest = *list; !rest.empty();) {
    const size_t end = rest.find('\0');
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return names;
}

}  // namespace tarn::io

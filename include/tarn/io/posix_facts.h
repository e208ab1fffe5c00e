// What POSIX calls say of a path, links not followed: for those who ask a mount what it shows.
#ifndef TARN_IO_POSIX_FACTS_H_
#define TARN_IO_POSIX_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tarn/base/result.h"

namespace tarn::io {

// lstat(2), field by field.
struct PosixStat {
  uint32_t mode = 0;  // type and permissions
  uint64_t size = 0;
  uint64_t blocks = 0;  // of 512 bytes
  uint64_t links = 0;
  uint64_t inode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t device = 0;  // st_rdev
  int64_t mtime = 0;
  uint32_t mtime_ns = 0;
};
Result<PosixStat> LinkStat(const std::string& path);

// readlink(2), however long.
Result<std::string> ReadLink(const std::string& path);

// lgetxattr(2), however long. Nothing: no such attribute, or none on this kind of file or file system.
Result<std::optional<std::string>> GetXattr(const std::string& path, const std::string& name);
// llistxattr(2).
Result<std::vector<std::string>> ListXattrs(const std::string& path);

}  // namespace tarn::io

#endif  // TARN_IO_POSIX_FACTS_H_

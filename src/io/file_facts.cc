#include "tarn/io/file_facts.h"

#include <sys/stat.h>

#include <cerrno>

#include "io/descriptor.h"
#include "tarn/io/filesystem.h"

namespace tarn::io {
namespace {

FileType TypeOf(mode_t mode) {
  if (S_ISREG(mode)) return FileType::kRegular;
  if (S_ISDIR(mode)) return FileType::kDirectory;
  return S_ISLNK(mode) ? FileType::kSymlink : FileType::kOther;
}

}  // namespace

Result<FileFacts> LookAt(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return Status::FromErrno(errno, Cannot("look at", path));
  return FileFacts{.type = TypeOf(found.st_mode),
                   .bytes = static_cast<uint64_t>(found.st_size),
                   .links = found.st_nlink,
                   .device = found.st_dev,
                   .inode = found.st_ino,
                   .mtime_ns = found.st_mtim.tv_sec * int64_t{1'000'000'000} + found.st_mtim.tv_nsec};
}

Status WalkFiles(const std::string& directory,
                 const std::function<Status(const std::string& path, const FileFacts& facts)>& visit) {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    const std::string path = JoinPath(directory, name);
    const Result<FileFacts> facts = LookAt(path);
    if (facts.code() == ErrorCode::kNotFound) continue;
    if (!facts.ok()) return facts.status();
    if (facts->type != FileType::kDirectory) {
      TARN_RETURN_IF_ERROR(visit(path, *facts));
      continue;
    }
    const Status below = WalkFiles(path, visit);
    if (!below.ok() && !(below.code() == ErrorCode::kNotFound && !Exists(path))) return below;
  }
  return Status::Ok();
}

}  // namespace tarn::io

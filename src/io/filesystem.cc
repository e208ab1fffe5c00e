// Writing for those who may. What has to last is written under a name nobody reads, synced, renamed, and the
// directory synced: the order in which file systems promise that a crash leaves the old or the new state.
#include "tarn/io/filesystem.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "io/descriptor.h"
#include "tarn/base/bytes.h"

namespace tarn::io {
namespace {

constexpr size_t kAppendBufferBytes = size_t{256} << 10;
constexpr size_t kCopyBytes = size_t{1} << 20;

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = RetryInterrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (written < 0) return Status::FromErrno(errno, Cannot("write", path));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return Status::Ok();
}

Status SyncDescriptor(int fd, const std::string& path) {
  if (RetryInterrupted([&] { return ::fsync(fd); }) == 0) return Status::Ok();
  return Status::FromErrno(errno, Cannot("sync", path));
}

// A name beside `path` that no other process, thread or machine picks. It starts with a dot, so that listings
// of what was published pass it over.
std::string NameBeside(const std::string& path) {
  char random[12];
  if (::getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) std::abort();
  const std::string directory(DirName(path));
  const std::string name = "." + std::string(BaseName(path)) + "." + ToHex({random, sizeof random}) + ".new";
  return path.find('/') == std::string::npos ? name : JoinPath(directory.empty() ? "/" : directory, name);
}

std::string ParentOf(const std::string& path) {
  if (path.find('/') == std::string::npos) return ".";
  const std::string_view parent = DirName(path);
  return parent.empty() ? "/" : std::string(parent);
}

// Writes and syncs `contents` under a name beside `path`; gives that name.
Result<std::string> WriteBeside(const std::string& path, std::string_view contents) {
  std::string beside = NameBeside(path);
  const Descriptor file(RetryInterrupted(
      [&] { return ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644); }));
  if (!file.valid()) return Status::FromErrno(errno, Cannot("create", path));
  Status status = WriteAll(file.get(), contents, path);
  if (status.ok()) status = SyncDescriptor(file.get(), path);
  if (!status.ok()) {
    ::unlink(beside.c_str());
    return status;
  }
  return beside;
}

// Takes the new file away when it could not be put in place.
Status UnlinkedUnlessOk(Status status, const std::string& beside) {
  if (!status.ok()) ::unlink(beside.c_str());
  return status;
}

Result<Descriptor> OpenForReading(const std::string& path, int flags = 0) {
  Descriptor file(
      RetryInterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags); }));
  if (!file.valid()) return Status::FromErrno(errno, Cannot("open", path));
  return file;
}

// The plain loop behind CopyFile: works between any two file systems.
Status CopyBytes(int from, int to, const std::string& from_path, const std::string& to_path) {
  std::string buffer(kCopyBytes, '\0');
  for (;;) {
    const ssize_t got = RetryInterrupted([&] { return ::read(from, buffer.data(), buffer.size()); });
    if (got < 0) return Status::FromErrno(errno, Cannot("read", from_path));
    if (got == 0) return Status::Ok();
    TARN_RETURN_IF_ERROR(WriteAll(to, std::string_view(buffer.data(), static_cast<size_t>(got)), to_path));
  }
}

// rename(2) that refuses an existing target, for file systems without renameat2's flag (NFS): a file is
// linked, which is exclusive; a directory that holds something is never replaced by rename(2), so looking
// first is only needed for the empty ones.
Status RenameNoReplaceByHand(const std::string& from, const std::string& to, const std::string& what) {
  struct stat source {};
  if (::lstat(from.c_str(), &source) != 0) return Status::FromErrno(errno, what);
  if (!S_ISDIR(source.st_mode)) {
    if (::link(from.c_str(), to.c_str()) != 0) return Status::FromErrno(errno, what);
    if (::unlink(from.c_str()) != 0) return Status::FromErrno(errno, Cannot("remove", from));
    return Status::Ok();
  }
  struct stat target {};
  if (::lstat(to.c_str(), &target) == 0) return Status::FromErrno(EEXIST, what);
  if (::rename(from.c_str(), to.c_str()) != 0) return Status::FromErrno(errno, what);
  return Status::Ok();
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, size_t limit) {
  TARN_ASSIGN_OR_RETURN(const Descriptor file, OpenForReading(path));
  std::string contents;
  for (;;) {
    const size_t have = contents.size();
    contents.resize(std::max<size_t>(4096, have * 2));
    const ssize_t got =
        RetryInterrupted([&] { return ::read(file.get(), contents.data() + have, contents.size() - have); });
    if (got < 0) return Status::FromErrno(errno, Cannot("read", path));
    contents.resize(have + static_cast<size_t>(got));
    if (contents.size() > limit) {
      return Status(ErrorCode::kUnsupported,
                    "'" + path + "' is larger than " + HumanBytes(limit) + ", the most such a file may be");
    }
    if (got == 0) return contents;
  }
}

Status WriteFileAtomically(const std::string& path, std::string_view contents) {
  TARN_ASSIGN_OR_RETURN(const std::string beside, WriteBeside(path, contents));
  TARN_RETURN_IF_ERROR(UnlinkedUnlessOk(Rename(beside, path), beside));
  return SyncDirectory(ParentOf(path));
}

Status CreateFileAtomically(const std::string& path, std::string_view contents) {
  TARN_ASSIGN_OR_RETURN(const std::string beside, WriteBeside(path, contents));
  TARN_RETURN_IF_ERROR(UnlinkedUnlessOk(RenameNoReplace(beside, path), beside));
  return SyncDirectory(ParentOf(path));
}

Status SyncFile(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const Descriptor file, OpenForReading(path));
  return SyncDescriptor(file.get(), path);
}

Status SyncDirectory(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const Descriptor directory, OpenForReading(path, O_DIRECTORY));
  Status status = SyncDescriptor(directory.get(), path);
  // Some network file systems have no notion of it: their renames last when they return.
  if (status.error_number() == EINVAL || status.error_number() == ENOTSUP) return Status::Ok();
  return status;
}

Status SyncFileSystem(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const Descriptor file, OpenForReading(path));
  if (RetryInterrupted([&] { return ::syncfs(file.get()); }) == 0) return Status::Ok();
  return Status::FromErrno(errno, Cannot("sync the file system of", path));
}

Status MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0) return Status::Ok();
  return Status::FromErrno(errno, Cannot("make directory", path));
}

Status MakeDirectories(const std::string& path) {
  if (path.empty() || IsDirectory(path)) return Status::Ok();
  if (path.find('/') != std::string::npos) TARN_RETURN_IF_ERROR(MakeDirectories(std::string(DirName(path))));
  Status status = MakeDirectory(path);
  if (status.code() == ErrorCode::kAlreadyExists && IsDirectory(path)) return Status::Ok();
  return status;
}

Status Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
  return Status::FromErrno(errno, Cannot("rename", from) + " to '" + to + "'");
}

Status RenameNoReplace(const std::string& from, const std::string& to) {
  const std::string what = Cannot("rename", from) + " to '" + to + "'";
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return Status::Ok();
  if (errno != EINVAL && errno != ENOSYS) return Status::FromErrno(errno, what);
  return RenameNoReplaceByHand(from, to, what);
}

Status HardLink(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return Status::Ok();
  const int error = errno;
  const std::string what = Cannot("link", from) + " to '" + to + "'";
  // EMLINK: the file has as many names as this file system gives one; a copy starts afresh.
  if (error == EPERM || error == ENOTSUP || error == ENOSYS || error == EXDEV || error == EMLINK) {
    return Status(ErrorCode::kUnsupported, Status::FromErrno(error, what).message());
  }
  return Status::FromErrno(error, what);
}

Status CopyFile(const std::string& from, const std::string& to) {
  TARN_ASSIGN_OR_RETURN(const Descriptor source, OpenForReading(from));
  const Descriptor target(RetryInterrupted(
      [&] { return ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644); }));
  if (!target.valid()) return Status::FromErrno(errno, Cannot("create", to));
  Status status;
  if (::ioctl(target.get(), FICLONE, source.get()) != 0) {
    status = CopyBytes(source.get(), target.get(), from, to);
  }
  if (status.ok()) status = SyncDescriptor(target.get(), to);
  return UnlinkedUnlessOk(std::move(status), to);
}

Status RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return Status::Ok();
  return Status::FromErrno(errno, Cannot("remove", path));
}

Status RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error || error.value() == ENOENT) return Status::Ok();
  return Status::FromErrno(error.value(), Cannot("remove", path));
}

bool Exists(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(Descriptor descriptor, OpenForReading(path, O_DIRECTORY));
  DIR* const directory = ::fdopendir(descriptor.get());
  if (directory == nullptr) return Status::FromErrno(errno, Cannot("list", path));
  descriptor.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(directory, ::closedir);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const item = ::readdir(directory);
    if (item == nullptr) break;
    const std::string_view name(item->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return Status::FromErrno(errno, Cannot("list", path));
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> RealPath(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), ::free);
  if (!resolved) return Status::FromErrno(errno, Cannot("find", path));
  return std::string(resolved.get());
}

Result<uint64_t> FreeBytes(const std::string& path) {
  struct statvfs found {};
  if (::statvfs(path.c_str(), &found) != 0) return Status::FromErrno(errno, Cannot("look at", path));
  return uint64_t{found.f_bavail} * found.f_frsize;
}

Result<bool> IsReadOnly(const std::string& path) {
  struct statvfs found {};
  if (::statvfs(path.c_str(), &found) != 0) return Status::FromErrno(errno, Cannot("look at", path));
  return (found.f_flag & ST_RDONLY) != 0;
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  if (name.empty()) return std::string(directory);
  std::string path(directory);
  if (path.back() != '/') path += '/';
  return path.append(name);
}

std::string_view DirName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Result<std::optional<FileLock>> FileLock::TryAcquire(const std::string& path) {
  for (;;) {
    Descriptor file(RetryInterrupted(
        [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644); }));
    if (!file.valid()) return Status::FromErrno(errno, Cannot("open lock", path));
    if (RetryInterrupted([&] { return ::flock(file.get(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno == EWOULDBLOCK) return std::optional<FileLock>();
      return Status::FromErrno(errno, Cannot("lock", path));
    }
    // Whoever held it may have removed the file in between: a lock on a file without a name keeps nobody out.
    struct stat held {
    }, named{};
    if (::fstat(file.get(), &held) != 0) return Status::FromErrno(errno, Cannot("look at", path));
    if (::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
      return std::optional<FileLock>(FileLock(file.release()));
    }
  }
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::unique_ptr<AppendFile>> AppendFile::Create(const std::string& path) {
  const int fd = RetryInterrupted(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0644); });
  if (fd < 0) return Status::FromErrno(errno, Cannot("create", path));
  return std::unique_ptr<AppendFile>(new AppendFile(fd, path));
}

Result<std::unique_ptr<AppendFile>> AppendFile::Continue(const std::string& path) {
  const int fd = RetryInterrupted(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644); });
  if (fd < 0) return Status::FromErrno(errno, Cannot("open", path));
  return std::unique_ptr<AppendFile>(new AppendFile(fd, path));
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status AppendFile::Append(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kAppendBufferBytes) TARN_RETURN_IF_ERROR(Flush());
  if (bytes.size() >= kAppendBufferBytes) return WriteAll(fd_, bytes, path_);
  buffer_.append(bytes);
  return Status::Ok();
}

Status AppendFile::Flush() {
  TARN_RETURN_IF_ERROR(WriteAll(fd_, buffer_, path_));
  buffer_.clear();
  return Status::Ok();
}

Status AppendFile::Sync() {
  TARN_RETURN_IF_ERROR(Flush());
  return SyncDescriptor(fd_, path_);
}

Status AppendFile::Close() {
  TARN_RETURN_IF_ERROR(Flush());
  // Network file systems report a full disk or quota here.
  if (::close(std::exchange(fd_, -1)) != 0) return Status::FromErrno(errno, Cannot("close", path_));
  return Status::Ok();
}

}  // namespace tarn::io

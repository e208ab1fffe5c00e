// Writing, for those who may: the index root, caches, runtime directories. Never data.
//
// Everything that has to be there whole or not at all is written aside, synced (its directory too) and
// renamed.
#ifndef TARN_IO_FILESYSTEM_H_
#define TARN_IO_FILESYSTEM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"

namespace tarn::io {

// Reads a whole small file; kUnsupported beyond `limit` bytes.
Result<std::string> ReadFile(const std::string& path, size_t limit = size_t{64} << 20);

// Writes `contents` beside `path`, syncs, renames over it, syncs the directory: after a crash the old or the
// new file is there, whole.
Status WriteFileAtomically(const std::string& path, std::string_view contents);
// The same, but kAlreadyExists when `path` is there: exactly one of several writers wins.
Status CreateFileAtomically(const std::string& path, std::string_view contents);

Status SyncFile(const std::string& path);
// fsync(2) of a directory: makes renames and links in it last.
Status SyncDirectory(const std::string& path);

// syncfs(2): makes everything written to the file system that holds `path` last, in one go. Cheaper than many
// single syncs, and waits for what others have written too.
Status SyncFileSystem(const std::string& path);

// mkdir(2); kAlreadyExists when it is there (also as something else): the exclusive form that hands out
// numbers.
Status MakeDirectory(const std::string& path);
// mkdir -p; fine when it is there.
Status MakeDirectories(const std::string& path);

// rename(2) of a file or directory. RenameNoReplace gives kAlreadyExists when `to` exists and leaves both
// alone.
Status Rename(const std::string& from, const std::string& to);
Status RenameNoReplace(const std::string& from, const std::string& to);

// link(2); kUnsupported where the file system has no hard links (then: copy).
Status HardLink(const std::string& from, const std::string& to);
// Copies bytes and syncs the copy; reflinks where the file system can.
Status CopyFile(const std::string& from, const std::string& to);

// unlink(2); fine when it is not there.
Status RemoveFile(const std::string& path);
// rm -r, never following links; fine when it is not there.
Status RemoveTree(const std::string& path);

bool Exists(const std::string& path);
bool IsDirectory(const std::string& path);
// Names in a directory without "." and "..", sorted.
Result<std::vector<std::string>> ListDirectory(const std::string& path);
// realpath(3).
Result<std::string> RealPath(const std::string& path);

// Free bytes for the caller on the file system that holds `path` (statvfs f_bavail).
Result<uint64_t> FreeBytes(const std::string& path);

// Whether the file system that holds `path` takes no writes (ST_RDONLY).
Result<bool> IsReadOnly(const std::string& path);

// "a/b" from "a" and "b"; either may be empty.
std::string JoinPath(std::string_view directory, std::string_view name);
std::string_view DirName(std::string_view path);  // "" when there is no '/'
std::string_view BaseName(std::string_view path);

// An advisory lock (flock on a file that it makes). Released by the destructor and by the death of the
// process.
class FileLock {
 public:
  // Takes the lock if nobody has it; nothing if somebody has.
  static Result<std::optional<FileLock>> TryAcquire(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// A file that is written front to back and appended to; buffered. Close() syncs nothing: call Sync() first
// when the bytes have to last.
class AppendFile {
 public:
  // Creates `path`; kAlreadyExists when it is there.
  static Result<std::unique_ptr<AppendFile>> Create(const std::string& path);
  // Goes on behind what `path` holds; creates it when it is not there.
  static Result<std::unique_ptr<AppendFile>> Continue(const std::string& path);
  ~AppendFile();

  Status Append(std::string_view bytes);
  Status Flush();
  Status Sync();
  Status Close();
  const std::string& path() const { return path_; }

 private:
  AppendFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
  std::string buffer_;
};

}  // namespace tarn::io

#endif  // TARN_IO_FILESYSTEM_H_

// A source that is a directory of a mounted file system.
//
// Every path is resolved by the kernel below a descriptor of the root (openat2 with RESOLVE_BENEATH), so that
// no symbolic link, however it changes under us, leads out of what the user named. Absolute links are refused
// by that rule even when they lead back below the root; those, and everything on kernels without openat2, are
// resolved by name first and checked by name after the open. Opening uses O_NONBLOCK: a fifo among the data
// must not hang whoever looks at it.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "io/descriptor.h"
#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/random_access_file.h"

namespace tarn::io {
namespace {

// cachestat(2) as linux/mman.h has it; the C library of Debian 12 is older than the call. The number is the
// same on all architectures.
constexpr long kSysCachestat = 451;
struct CacheRange {
  uint64_t offset;
  uint64_t length;
};
struct CacheStat {
  uint64_t cached;
  uint64_t dirty;
  uint64_t writeback;
  uint64_t evicted;
  uint64_t recently_evicted;
};

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
// A rename on the path while ".." of a link is resolved makes openat2 give up with EAGAIN.
constexpr int kOpenAttempts = 16;

FileType TypeOf(mode_t mode) {
  if (S_ISREG(mode)) return FileType::kRegular;
  if (S_ISDIR(mode)) return FileType::kDirectory;
  if (S_ISLNK(mode)) return FileType::kSymlink;
  return FileType::kOther;
}

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileStat Translate(const struct stat& found) {
  FileStat stat;
  stat.type = TypeOf(found.st_mode);
  stat.identity = FileIdentity{.size = static_cast<uint64_t>(found.st_size),
                               .mtime_ns = Nanoseconds(found.st_mtim),
                               .ctime_ns = Nanoseconds(found.st_ctim),
                               .inode = found.st_ino};
  stat.access = FileAccess{.mode = found.st_mode & 07777, .uid = found.st_uid, .gid = found.st_gid};
  return stat;
}

Result<FileStat> StatOf(const Descriptor& file, const std::string& name) {
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return Status::FromErrno(errno, Cannot("look at", name));
  return Translate(found);
}

class PathFile final : public RandomAccessFile {
 public:
  PathFile(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    size_t done = 0;
    while (done < out.size()) {
      TARN_ASSIGN_OR_RETURN(const size_t got, ReadOnce(file_, offset + done, out.subspan(done)));
      if (got == 0) break;
      done += got;
    }
    return done;
  }

  std::optional<CachedPart> Cached(uint64_t offset, uint64_t length) const override {
    // cachestat(2), of Linux 6.5: for the owner and whoever may write; other answers are "nobody can tell".
    CacheRange range{.offset = offset, .length = length};
    CacheStat found{};
    if (length == 0 || ::syscall(kSysCachestat, file_.get(), &range, &found, 0U) != 0) return std::nullopt;
    if (found.cached == 0) return CachedPart::kNone;
    static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t pages = (offset + length - 1) / page - offset / page + 1;
    return found.cached < pages ? CachedPart::kSome : CachedPart::kAll;
  }

  Result<size_t> ReadCachedAt(uint64_t offset, std::span<std::byte> out) const override {
    const iovec vector{.iov_base = out.data(), .iov_len = out.size()};
    const ssize_t got = RetryInterrupted(
        [&] { return ::preadv2(file_.get(), &vector, 1, static_cast<off_t>(offset), RWF_NOWAIT); });
    // EAGAIN: nothing there; EOPNOTSUPP: the file system cannot tell. A real error comes again with ReadAt.
    return got < 0 ? size_t{0} : static_cast<size_t>(got);
  }

  Result<size_t> ReadDirectAt(uint64_t offset, std::span<std::byte> out) const override {
    std::call_once(direct_opened_, [this] {
      // The same inode again, whatever its path leads to now.
      const std::string self = "/proc/self/fd/" + std::to_string(file_.get());
      direct_ = Descriptor(::open(self.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
    });
    if (!direct_.valid()) return RandomAccessFile::ReadDirectAt(offset, out);
    size_t done = 0;
    while (done < out.size()) {
      // Behind what ends in the middle of a block comes the end of the file, or nothing that can be asked
      // for.
      if (done % kDirectAlignment != 0) {
        TARN_ASSIGN_OR_RETURN(const size_t rest, ReadAt(offset + done, out.subspan(done)));
        return done + rest;
      }
      const Result<size_t> got = ReadOnce(direct_, offset + done, out.subspan(done));
      if (got.status().error_number() == EINVAL) return RandomAccessFile::ReadDirectAt(offset, out);
      TARN_RETURN_IF_ERROR(got.status());
      if (*got == 0) break;
      done += *got;
    }
    return done;
  }

  Result<FileStat> Stat() const override { return StatOf(file_, name_); }

  std::optional<FileIdentity> KnownIdentity() const override {
    constexpr unsigned kWanted = STATX_SIZE | STATX_MTIME | STATX_CTIME | STATX_INO;
    struct statx found {};
    if (::statx(file_.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, kWanted, &found) != 0 ||
        (found.stx_mask & kWanted) != kWanted) {
      return std::nullopt;
    }
    const auto nanoseconds = [](const statx_timestamp& time) {
      return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    };
    return FileIdentity{.size = found.stx_size,
                        .mtime_ns = nanoseconds(found.stx_mtime),
                        .ctime_ns = nanoseconds(found.stx_ctime),
                        .inode = found.stx_ino};
  }

  void Advise(AccessPattern pattern) const override {
    ::posix_fadvise(file_.get(), 0, 0,
                    pattern == AccessPattern::kRandom ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
  }

  void Prefetch(uint64_t offset, uint64_t length) const override {
    // One call brings in no more than the device's read-ahead, however much it is asked for; 128 KiB is what
    // every device has.
    constexpr uint64_t kAtOnce = 128 << 10;
    for (uint64_t done = 0; done < length; done += kAtOnce) {
      ::posix_fadvise(file_.get(), static_cast<off_t>(offset + done),
                      static_cast<off_t>(std::min(kAtOnce, length - done)), POSIX_FADV_WILLNEED);
    }
  }

  void DropCache(uint64_t offset, uint64_t length) const override {
    ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_DONTNEED);
  }

  const std::string& name() const override { return name_; }

 private:
  // One call that was not interrupted: bytes, 0 at the end of the file.
  Result<size_t> ReadOnce(const Descriptor& from, uint64_t offset, std::span<std::byte> out) const {
    const ssize_t got = RetryInterrupted(
        [&] { return ::pread(from.get(), out.data(), out.size(), static_cast<off_t>(offset)); });
    if (got >= 0) return static_cast<size_t>(got);
    return Status::FromErrno(errno, Cannot("read", name_) + " at offset " + std::to_string(offset));
  }

  const Descriptor file_;
  const std::string name_;
  mutable std::once_flag direct_opened_;
  mutable Descriptor direct_;  // the same file with O_DIRECT, opened when first wanted
};

// Only what has bytes at offsets can be read at random.
Result<std::unique_ptr<RandomAccessFile>> MakeFile(Descriptor file, std::string name) {
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return Status::FromErrno(errno, Cannot("look at", name));
  if (!S_ISREG(found.st_mode)) {
    return Status(ErrorCode::kInvalidArgument,
                  "'" + name + "' is " + (S_ISDIR(found.st_mode) ? "a directory" : "a special file") +
                      ", not a file that can be read at offsets");
  }
  return std::unique_ptr<RandomAccessFile>(std::make_unique<PathFile>(std::move(file), std::move(name)));
}

class PathSource final : public Source {
 public:
  PathSource(Descriptor root, std::string name) : root_(std::move(root)), name_(std::move(name)) {}

  Result<std::unique_ptr<RandomAccessFile>> Open(std::string_view path) const override {
    TARN_ASSIGN_OR_RETURN(Descriptor file, OpenBelow(path, kOpenFlags));
    return MakeFile(std::move(file), FullName(path));
  }

  Result<FileStat> Stat(std::string_view path) const override {
    TARN_ASSIGN_OR_RETURN(const Descriptor file, OpenBelow(path, O_PATH | O_CLOEXEC));
    return StatOf(file, FullName(path));
  }

  Result<std::vector<DirectoryItem>> List(std::string_view path) const override;

  const std::string& name() const override { return name_; }

 private:
  std::string FullName(std::string_view path) const { return JoinPath(name_, path); }
  Result<Descriptor> OpenBelow(std::string_view path, int flags) const;
  Result<Descriptor> OpenByName(const std::string& path, int flags) const;
  Status Outside(std::string_view path) const {
    return Status(ErrorCode::kPermissionDenied,
                  "'" + FullName(path) + "' is a symbolic link that leaves the source '" + name_ + "'")
        .WithHint("name a source directory that holds the link and what it points to");
  }

  const Descriptor root_;
  const std::string name_;
};

Result<Descriptor> PathSource::OpenBelow(std::string_view path, int flags) const {
  if (path.find('\0') != std::string_view::npos) {
    return Status(ErrorCode::kInvalidArgument, "'" + EscapeName(path) + "' holds a NUL byte");
  }
  const std::string relative(path.empty() ? std::string_view(".") : path);
  open_how how{};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int error = EAGAIN;
  for (int attempt = 0; attempt < kOpenAttempts && error == EAGAIN; ++attempt) {
    const auto fd = RetryInterrupted(
        [&] { return ::syscall(SYS_openat2, root_.get(), relative.c_str(), &how, sizeof how); });
    if (fd >= 0) return Descriptor(static_cast<int>(fd));
    error = errno;
  }
  // EXDEV: a link that is absolute or leaves the root. ENOSYS, EPERM: no openat2, or a sandbox that has not
  // heard of it.
  if (error == EXDEV || error == ENOSYS || error == EPERM) return OpenByName(relative, flags);
  return Status::FromErrno(error, Cannot("open", FullName(path)));
}

// Whether `path` is `root` or something below it; both resolved.
bool IsBelow(std::string_view path, std::string_view root) {
  if (root == "/") return true;
  return path.substr(0, root.size()) == root && (path.size() == root.size() || path[root.size()] == '/');
}

Result<std::string> NameOfDescriptor(int fd, const std::string& what) {
  std::array<char, PATH_MAX> name{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), name.data(), name.size());
  if (length < 0) return Status::FromErrno(errno, Cannot("resolve", what));
  return std::string(name.data(), static_cast<size_t>(length));
}

Result<Descriptor> PathSource::OpenByName(const std::string& path, int flags) const {
  const std::string full = FullName(path);
  Descriptor file(RetryInterrupted([&] { return ::openat(root_.get(), path.c_str(), flags); }));
  if (!file.valid()) return Status::FromErrno(errno, Cannot("open", full));
  // What was opened is what is asked about: nobody can swap a link in between.
  TARN_ASSIGN_OR_RETURN(const std::string root, NameOfDescriptor(root_.get(), name_));
  TARN_ASSIGN_OR_RETURN(const std::string opened, NameOfDescriptor(file.get(), full));
  if (!IsBelow(opened, root)) return Outside(path);
  return file;
}

Result<std::vector<DirectoryItem>> PathSource::List(std::string_view path) const {
  TARN_ASSIGN_OR_RETURN(Descriptor descriptor, OpenBelow(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const directory = ::fdopendir(descriptor.get());
  if (directory == nullptr) return Status::FromErrno(errno, Cannot("list", FullName(path)));
  const int fd = descriptor.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(directory, ::closedir);
  std::vector<DirectoryItem> items;
  for (;;) {
    errno = 0;
    const dirent* const item = ::readdir(directory);
    if (item == nullptr) break;
    const std::string_view name(item->d_name);
    if (name == "." || name == "..") continue;
    FileType type = TypeOf(DTTOIF(item->d_type));
    if (item->d_type == DT_UNKNOWN) {  // a file system that does not say
      struct stat found {};
      if (::fstatat(fd, item->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) continue;  // gone since
        return Status::FromErrno(errno, Cannot("look at", JoinPath(FullName(path), name)));
      }
      type = TypeOf(found.st_mode);
    }
    items.push_back(DirectoryItem{std::string(name), type});
  }
  if (errno != 0) return Status::FromErrno(errno, Cannot("list", FullName(path)));
  return items;
}

}  // namespace

Result<std::shared_ptr<Source>> OpenSource(std::string_view spec) {
  std::string path(spec);
  Descriptor root(RetryInterrupted([&] { return ::open(path.c_str(), O_PATH | O_CLOEXEC); }));
  if (!root.valid()) return Status::FromErrno(errno, Cannot("open source", path));
  struct stat found {};
  if (::fstat(root.get(), &found) != 0) return Status::FromErrno(errno, Cannot("look at", path));
  if (!S_ISDIR(found.st_mode)) {
    return Status(ErrorCode::kInvalidArgument, "source '" + path + "' is not a directory");
  }
  return std::shared_ptr<Source>(std::make_shared<PathSource>(std::move(root), std::move(path)));
}

Result<std::unique_ptr<RandomAccessFile>> OpenFile(const std::string& path) {
  Descriptor file(RetryInterrupted([&] { return ::open(path.c_str(), kOpenFlags); }));
  if (!file.valid()) return Status::FromErrno(errno, Cannot("open", path));
  return MakeFile(std::move(file), path);
}

}  // namespace tarn::io

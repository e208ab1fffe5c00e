#include "tarn/io/shared_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "io/descriptor.h"
#include "tarn/io/filesystem.h"

namespace tarn::io {
namespace {

// The start of the file. Other processes read and write it at the same time.
struct Header {
  uint64_t magic;
  uint64_t used;  // bytes, this header included
};
static_assert(sizeof(Header) == 16 && std::atomic_ref<uint64_t>::is_always_lock_free);

constexpr size_t RoundUp(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

// flock(2) of the open file, for as long as this lives; the kernel takes it from a process that dies.
class Locked {
 public:
  explicit Locked(int fd) : fd_(fd) {
    RetryInterrupted([fd] { return ::flock(fd, LOCK_EX); });
  }
  ~Locked() { ::flock(fd_, LOCK_UN); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const int fd_;
};

// Nobody but its owner, who has to be us, may write it.
Status CheckOwner(const struct stat& found, const std::string& path) {
  if (found.st_uid == ::geteuid() && (found.st_mode & 022) == 0) return Status::Ok();
  return Status(ErrorCode::kPermissionDenied, "'" + path + "' belongs to user " +
                                                  std::to_string(found.st_uid) +
                                                  " or may be written by others; expected one of user " +
                                                  std::to_string(::geteuid()) + " alone")
      .WithHint("name another directory");
}

// Makes room for all of [0, bytes): a full file system is told here, and not by SIGBUS.
Status Reserve(int fd, size_t bytes, const std::string& path) {
  const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  return error == 0 ? Status::Ok() : Status::FromErrno(error, Cannot("extend", path));
}

enum class Usable : uint8_t { kYes, kStartAnew };

// Looks at an open file; fills in the header of an empty one. With the lock held.
Result<Usable> Prepare(int fd, uint64_t magic, size_t most_bytes, const std::string& path) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return Status::FromErrno(errno, Cannot("look at", path));
  TARN_RETURN_IF_ERROR(CheckOwner(found, path));
  Header header{};
  if (found.st_size == 0) {
    TARN_RETURN_IF_ERROR(Reserve(fd, sizeof(Header), path));
    header = {.magic = magic, .used = sizeof(Header)};
    if (::pwrite(fd, &header, sizeof(header), 0) != sizeof(header)) {
      return Status::FromErrno(errno, Cannot("write", path));
    }
    return Usable::kYes;
  }
  const bool whole = ::pread(fd, &header, sizeof(header), 0) == sizeof(header) && header.magic == magic &&
                     header.used >= sizeof(Header) && header.used <= static_cast<uint64_t>(found.st_size);
  return whole && header.used <= most_bytes / 2 ? Usable::kYes : Usable::kStartAnew;
}

}  // namespace

SharedFile::SharedFile(int fd, std::byte* memory, size_t most_bytes, std::string path)
    : fd_(fd), memory_(memory), most_bytes_(most_bytes), path_(std::move(path)) {}

SharedFile::~SharedFile() {
  ::munmap(memory_, most_bytes_);
  ::close(fd_);
}

Result<std::unique_ptr<SharedFile>> SharedFile::Open(const std::string& path, uint64_t magic,
                                                     size_t most_bytes) {
  // Twice: an unusable file is removed and made again.
  for (int attempt = 0; attempt < 2; ++attempt) {
    Descriptor file(RetryInterrupted(
        [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); }));
    if (!file.valid()) return Status::FromErrno(errno, Cannot("open", path));
    Usable usable = Usable::kYes;
    {
      const Locked lock(file.get());
      TARN_ASSIGN_OR_RETURN(usable, Prepare(file.get(), magic, most_bytes, path));
    }
    if (usable == Usable::kStartAnew) {
      if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return Status::FromErrno(errno, Cannot("remove", path));
      }
      continue;
    }
    void* const memory = ::mmap(nullptr, most_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) return Status::FromErrno(errno, Cannot("map", path));
    return std::unique_ptr<SharedFile>(
        new SharedFile(file.release(), static_cast<std::byte*>(memory), most_bytes, path));
  }
  return Status(ErrorCode::kBusy, "'" + path + "' is being replaced by others");
}

std::span<std::byte> SharedFile::contents() const {
  auto* const header = reinterpret_cast<Header*>(memory_);
  const uint64_t used = std::atomic_ref<uint64_t>(header->used).load(std::memory_order_acquire);
  return {memory_ + sizeof(Header), std::min<size_t>(used, most_bytes_) - sizeof(Header)};
}

Result<std::span<std::byte>> SharedFile::Append(std::span<const std::byte> record) {
  // flock(2) is the open file's: threads of one process share it.
  static std::mutex mutex;
  const std::lock_guard in_process(mutex);
  const Locked among_processes(fd_);
  auto* const header = reinterpret_cast<Header*>(memory_);
  const std::atomic_ref<uint64_t> used(header->used);
  const uint64_t start = used.load(std::memory_order_acquire);
  const size_t bytes = RoundUp(record.size());
  if (start > most_bytes_ || bytes > most_bytes_ - start) {
    return Status(ErrorCode::kNoSpace, "'" + path_ + "' is full");
  }
  TARN_RETURN_IF_ERROR(Reserve(fd_, start + bytes, path_));
  std::memset(memory_ + start, 0, bytes);
  std::memcpy(memory_ + start, record.data(), record.size());
  // Whoever is killed before this has appended nothing.
  used.store(start + bytes, std::memory_order_release);
  return std::span<std::byte>(memory_ + start, bytes);
}

Status MakePrivateDirectory(const std::string& path) {
  if (const std::string parent(DirName(path)); !parent.empty()) TARN_RETURN_IF_ERROR(MakeDirectories(parent));
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status::FromErrno(errno, Cannot("make the directory", path));
  }
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return Status::FromErrno(errno, Cannot("look at", path));
  if (!S_ISDIR(found.st_mode)) {
    return Status(ErrorCode::kInvalidArgument, "'" + path + "' is no directory");
  }
  return CheckOwner(found, path);
}

}  // namespace tarn::io

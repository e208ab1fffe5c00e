// tarn-bench slow-source: a directory, read-only, as if it lay on a file server far away.
//
// A local stand-in, so that behaviour that waits for round trips shows on one machine. Every request that
// would go to the server (lookup, open, read, list) takes the latency; reads share the bandwidth. What the
// kernel answers from its caches costs nothing, as on NFS: names and attributes are kept for 3 s (NFS's
// acregmin), pages until the file changes (close-to-open).
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fuse.h>
#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>

#include "bench/commands.h"
#include "bench/far_server.h"
#include "bench/slow_source_names.h"
#include "bench/units.h"
#include "cli/command_line.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

constexpr char kName[] = "tarn-bench slow-source";
constexpr unsigned kThreads = 1024;  // each waiting request has one
constexpr unsigned kBackground = 1024;
constexpr double kCachedSeconds = 3;

class SlowSource {
 public:
  SlowSource(const FarServerOptions& options, int root) : server_(options), root_(root) {}

  // Waits as long as a reply with `bytes` takes.
  void Wait(uint64_t bytes) {
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    constexpr uint64_t kSecond = 1'000'000'000;
    const uint64_t at = server_.ReplyAt(
        static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec), bytes);
    const timespec until = {static_cast<time_t>(at / kSecond), static_cast<long>(at % kSecond)};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
  }

  void CountRead(uint64_t bytes) {
    read_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    read_requests_.fetch_add(1, std::memory_order_relaxed);
  }

  int root() const { return root_; }
  uint64_t read_bytes() const { return read_bytes_.load(std::memory_order_relaxed); }
  uint64_t read_requests() const { return read_requests_.load(std::memory_order_relaxed); }

 private:
  FarServer server_;
  const int root_;  // descriptor of the directory that is shown
  std::atomic<uint64_t> read_bytes_{0};
  std::atomic<uint64_t> read_requests_{0};
};

SlowSource* Self() {
  return static_cast<SlowSource*>(::fuse_get_context()->private_data);
}

// The path below the shown directory: libfuse gives it from the mount's root.
const char* Below(const char* path) {
  return path[1] == '\0' ? "." : path + 1;
}

void* Init(fuse_conn_info* connection, fuse_config* config) {
  connection->max_background = kBackground;
  config->kernel_cache = 0;
  config->auto_cache = 1;
  config->entry_timeout = kCachedSeconds;
  config->attr_timeout = kCachedSeconds;
  config->ac_attr_timeout_set = 1;
  config->ac_attr_timeout = kCachedSeconds;
  config->use_ino = 1;
  config->nullpath_ok = 1;  // what is open is known by its descriptor
  return ::fuse_get_context()->private_data;
}

int GetAttributes(const char* path, struct stat* facts, fuse_file_info* file) {
  Self()->Wait(0);
  const int result = file != nullptr ? ::fstat(static_cast<int>(file->fh), facts)
                                     : ::fstatat(Self()->root(), Below(path), facts, AT_SYMLINK_NOFOLLOW);
  return result == 0 ? 0 : -errno;
}

int ReadLink(const char* path, char* target, size_t size) {
  Self()->Wait(0);
  const ssize_t length = ::readlinkat(Self()->root(), Below(path), target, size - 1);
  if (length < 0) return -errno;
  target[length] = '\0';
  return 0;
}

int Open(const char* path, fuse_file_info* file) {
  if ((file->flags & O_ACCMODE) != O_RDONLY) return -EROFS;
  Self()->Wait(0);
  const int fd = ::openat(Self()->root(), Below(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  file->fh = static_cast<uint64_t>(fd);
  return 0;
}

int Release(const char*, fuse_file_info* file) {
  ::close(static_cast<int>(file->fh));
  return 0;
}

int Read(const char*, char* buffer, size_t size, off_t offset, fuse_file_info* file) {
  const ssize_t got = ::pread(static_cast<int>(file->fh), buffer, size, offset);
  const int error = errno;
  Self()->Wait(got > 0 ? static_cast<uint64_t>(got) : 0);
  if (got < 0) return -error;
  Self()->CountRead(static_cast<uint64_t>(got));
  return static_cast<int>(got);
}

int OpenDirectory(const char* path, fuse_file_info* directory) {
  Self()->Wait(0);
  const int fd = ::openat(Self()->root(), Below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -errno;
  directory->fh = static_cast<uint64_t>(fd);
  return 0;
}

int ReadDirectory(const char*, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info* open,
                  fuse_readdir_flags) {
  Self()->Wait(0);
  const int fd = ::fcntl(static_cast<int>(open->fh), F_DUPFD_CLOEXEC, 0);
  DIR* const directory = fd < 0 ? nullptr : ::fdopendir(fd);
  if (directory == nullptr) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    return -error;
  }
  ::rewinddir(directory);
  errno = 0;
  while (const dirent* item = ::readdir(directory)) {
    struct stat facts = {};
    facts.st_ino = item->d_ino;
    facts.st_mode = static_cast<mode_t>(DTTOIF(item->d_type));
    if (fill(buffer, item->d_name, &facts, 0, static_cast<fuse_fill_dir_flags>(0)) != 0) break;
  }
  const int error = errno;
  ::closedir(directory);
  return -error;
}

int FileSystemFacts(const char*, struct statvfs* facts) {
  Self()->Wait(0);
  return ::fstatvfs(Self()->root(), facts) == 0 ? 0 : -errno;
}

int GetAttribute(const char* path, const char* name, char* value, size_t size) {
  if (std::strcmp(path, "/") != 0) return -ENODATA;
  uint64_t number = 0;
  if (std::strcmp(name, kSlowSourceBytes) == 0) {
    number = Self()->read_bytes();
  } else if (std::strcmp(name, kSlowSourceRequests) == 0) {
    number = Self()->read_requests();
  } else {
    return -ENODATA;
  }
  const std::string text = std::to_string(number);
  if (size == 0) return static_cast<int>(text.size());
  if (size < text.size()) return -ERANGE;
  std::memcpy(value, text.data(), text.size());
  return static_cast<int>(text.size());
}

fuse_operations Operations() {
  fuse_operations operations = {};
  operations.init = Init;
  operations.getattr = GetAttributes;
  operations.readlink = ReadLink;
  operations.open = Open;
  operations.release = Release;
  operations.read = Read;
  operations.opendir = OpenDirectory;
  operations.readdir = ReadDirectory;
  operations.releasedir = Release;
  operations.statfs = FileSystemFacts;
  operations.getxattr = GetAttribute;
  return operations;
}

struct Arguments {
  std::string directory;
  std::string mount_point;
  std::string latency = "1ms";
  std::string bandwidth = "1GB/s";
  uint64_t iops = 0;
  bool foreground = false;
  bool allow_other = false;
};

void Declare(CLI::App* app, Arguments* arguments) {
  app->add_option("DIR", arguments->directory, "the directory to show")->required();
  app->add_option("MNT", arguments->mount_point, "where to mount it")->required();
  app->add_option("--latency", arguments->latency, "of each request, there and back")->capture_default_str();
  app->add_option("--bandwidth", arguments->bandwidth, "of the link that all reads share; 0: without limit")
      ->capture_default_str();
  app->add_option("--iops", arguments->iops, "requests a second; 0: without limit")->capture_default_str();
  app->add_flag("--foreground", arguments->foreground, "do not go to the background once mounted");
  app->add_flag("--allow-other", arguments->allow_other, "let other users in (fuse.conf(5) may forbid it)");
}

Status Interpret(const Arguments& arguments, FarServerOptions* options) {
  TARN_ASSIGN_OR_RETURN(const auto latency, ParseDuration(arguments.latency));
  options->latency_ns = static_cast<uint64_t>(latency.count());
  options->iops = arguments.iops;
  if (arguments.bandwidth == "0") return Status::Ok();
  TARN_ASSIGN_OR_RETURN(options->bytes_per_second, ParseRate(arguments.bandwidth));
  return Status::Ok();
}

// Mounts and serves until it is unmounted or told to stop.
Status Serve(const Arguments& arguments, SlowSource* source) {
  std::string options = "ro,fsname=" + arguments.directory + ",subtype=tarn-slow-source";
  if (arguments.allow_other) options += ",allow_other";
  fuse_args fuse_arguments = FUSE_ARGS_INIT(0, nullptr);
  ::fuse_opt_add_arg(&fuse_arguments, "tarn-bench");
  ::fuse_opt_add_arg(&fuse_arguments, "-o");
  ::fuse_opt_add_arg(&fuse_arguments, options.c_str());
  const fuse_operations operations = Operations();
  fuse* const file_system = ::fuse_new(&fuse_arguments, &operations, sizeof operations, source);
  ::fuse_opt_free_args(&fuse_arguments);
  if (file_system == nullptr) return Status(ErrorCode::kIo, "libfuse cannot set up a file system");
  Status status;
  if (::fuse_mount(file_system, arguments.mount_point.c_str()) != 0) {
    status = Status(ErrorCode::kIo, "cannot mount on '" + arguments.mount_point + "'")
                 .WithHint("the mount point must be an empty directory, /dev/fuse must be there and usable");
  } else {
    ::fuse_set_signal_handlers(::fuse_get_session(file_system));
    ::fuse_daemonize(arguments.foreground ? 1 : 0);
    fuse_loop_config* const loop = ::fuse_loop_cfg_create();
    ::fuse_loop_cfg_set_max_threads(loop, kThreads);
    ::fuse_loop_cfg_set_idle_threads(loop, kThreads);
    const int result = ::fuse_loop_mt(file_system, loop);
    ::fuse_loop_cfg_destroy(loop);
    ::fuse_remove_signal_handlers(::fuse_get_session(file_system));
    ::fuse_unmount(file_system);
    if (result < 0) status = Status::FromErrno(-result, "cannot serve '" + arguments.mount_point + "'");
  }
  ::fuse_destroy(file_system);
  return status;
}

}  // namespace

int RunSlowSource(const Program& program) {
  Arguments arguments;
  const auto app = cli::MakeCommandLine(
      kName,
      "Mounts DIR on MNT, read-only, as if it lay on a far file server. Unmount it with fusermount3 -u MNT.");
  Declare(app.get(), &arguments);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;
  FarServerOptions options;
  if (Status status = Interpret(arguments, &options); !status.ok()) return program.Fail(kName, status);
  const int root = ::open(arguments.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0)
    return program.Fail(kName, Status::FromErrno(errno, "cannot open '" + arguments.directory + "'"));
  SlowSource source(options, root);
  const Status status = Serve(arguments, &source);
  ::close(root);
  return status.ok() ? static_cast<int>(ExitCode::kOk) : program.Fail(kName, status);
}

}  // namespace tarn::bench

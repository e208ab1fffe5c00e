// Every way of reading gives the bytes that are in the archive.
#include <fcntl.h>
#include <liburing.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "integration/posix_dataset.h"

namespace tarn::integration {
namespace {

using PosixReads = PosixTest;

TEST_F(PosixReads, Read) {
  Try([&] {
    EXPECT_EQ(ReadAll(OpenOrFail(Mounted("big.bin"))) == big(), true);
    EXPECT_EQ(ReadAll(OpenOrFail(Mounted("small.txt"))), kSmallText);
    EXPECT_EQ(ReadAll(OpenOrFail(Mounted("empty"))), "");
    EXPECT_EQ(ReadAll(OpenOrFail(Mounted("link"))), kSmallText);
    EXPECT_EQ(ReadAll(OpenOrFail(Mounted("hard"))), kSmallText);
  });
}

TEST_F(PosixReads, PreadAnywhereAndBeyondTheEnd) {
  Try([&] {
    const int fd = OpenOrFail(Mounted("big.bin"));
    std::string buffer(300000, '\0');
    for (const size_t offset : {size_t{1}, size_t{4095}, size_t{131071}, size_t{1} << 20, kBigBytes - 7}) {
      const ssize_t got = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
      ASSERT_EQ(got, static_cast<ssize_t>(std::min(buffer.size(), kBigBytes - offset))) << offset;
      EXPECT_EQ(buffer.compare(0, static_cast<size_t>(got), big(), offset, static_cast<size_t>(got)), 0)
          << offset;
    }
    EXPECT_EQ(pread(fd, buffer.data(), buffer.size(), kBigBytes), 0);
    EXPECT_EQ(pread(fd, buffer.data(), buffer.size(), 1LL << 40), 0);
  });
}

TEST_F(PosixReads, Preadv2) {
  Try([&] {
    const int fd = OpenOrFail(Mounted("big.bin"));
    std::string first(1000, '\0');
    std::string second(200000, '\0');
    const iovec parts[] = {{first.data(), first.size()}, {second.data(), second.size()}};
    ASSERT_EQ(preadv2(fd, parts, 2, 12345, 0), 201000) << std::strerror(errno);
    EXPECT_EQ(first + second == big().substr(12345, 201000), true);
    // RWF_NOWAIT: what is cached now comes at once; EAGAIN and EOPNOTSUPP are the kernel's to say.
    const ssize_t got = preadv2(fd, parts, 2, 12345, RWF_NOWAIT);
    if (got == -1) {
      EXPECT_TRUE(errno == EAGAIN || errno == EOPNOTSUPP) << std::strerror(errno);
    } else {
      EXPECT_EQ((first + second).compare(0, static_cast<size_t>(got), big(), 12345, static_cast<size_t>(got)),
                0);
    }
  });
}

TEST_F(PosixReads, DirectIo) {
  Try([&] {
    const int fd = OpenOrFail(Mounted("big.bin"), O_DIRECT);
    constexpr size_t kSize = 1 << 20;
    const std::unique_ptr<void, decltype(&std::free)> buffer(std::aligned_alloc(4096, kSize), &std::free);
    std::string bytes;
    for (;;) {
      const ssize_t got = read(fd, buffer.get(), kSize);
      ASSERT_NE(got, -1) << std::strerror(errno);
      if (got == 0) break;
      bytes.append(static_cast<const char*>(buffer.get()), static_cast<size_t>(got));
    }
    EXPECT_EQ(bytes == big(), true);
  });
}

TEST_F(PosixReads, MmapPrivateCanBeWrittenAndStaysPrivate) {
  Try([&] {
    const int fd = OpenOrFail(Mounted("big.bin"));
    void* mapped = mmap(nullptr, kBigBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    ASSERT_NE(mapped, MAP_FAILED) << std::strerror(errno);
    EXPECT_EQ(std::memcmp(mapped, big().data(), kBigBytes), 0);
    std::memset(mapped, 'x', 4096);
    std::string page(4096, '\0');
    ASSERT_EQ(pread(fd, page.data(), page.size(), 0), 4096);
    EXPECT_EQ(page == big().substr(0, 4096), true);
  });
}

TEST_F(PosixReads, MmapSharedIsReadOnly) {
  Try([&] {
    const int fd = OpenOrFail(Mounted("big.bin"));
    void* mapped = mmap(nullptr, kBigBytes, PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_NE(mapped, MAP_FAILED) << std::strerror(errno);
    EXPECT_EQ(madvise(mapped, kBigBytes, MADV_WILLNEED), 0);
    EXPECT_EQ(std::memcmp(mapped, big().data(), kBigBytes), 0);
    // Behind the end of the file the last page is zeros.
    const char* behind = static_cast<const char*>(mapped) + kBigBytes;
    EXPECT_EQ(std::count(behind, behind + (4096 - kBigBytes % 4096), '\0'),
              static_cast<ptrdiff_t>(4096 - kBigBytes % 4096));
    EXPECT_EQ(mprotect(mapped, kBigBytes, PROT_READ | PROT_WRITE), -1);
    EXPECT_EQ(errno, EACCES);
  });
}

TEST_F(PosixReads, IoUring) {
  io_uring ring;
  const int available = io_uring_queue_init(32, &ring, 0);
  if (available < 0) GTEST_SKIP() << "no io_uring here: " << std::strerror(-available);
  io_uring_queue_exit(&ring);
  Try([&] {
    io_uring own;
    ASSERT_EQ(io_uring_queue_init(32, &own, 0), 0);
    const int fd = OpenOrFail(Mounted("big.bin"));
    constexpr size_t kPart = 50000;
    std::vector<std::string> parts(32, std::string(kPart, '\0'));
    for (size_t i = 0; i < parts.size(); ++i) {
      io_uring_sqe* request = io_uring_get_sqe(&own);
      io_uring_prep_read(request, fd, parts[i].data(), kPart, i * kPart);
      io_uring_sqe_set_data64(request, i);
    }
    ASSERT_EQ(io_uring_submit_and_wait(&own, 32), 32);
    for (size_t i = 0; i < parts.size(); ++i) {
      io_uring_cqe* answer = nullptr;
      ASSERT_EQ(io_uring_wait_cqe(&own, &answer), 0);
      const size_t part = io_uring_cqe_get_data64(answer);
      EXPECT_EQ(answer->res, static_cast<int>(kPart));
      EXPECT_EQ(parts[part] == big().substr(part * kPart, kPart), true) << part;
      io_uring_cqe_seen(&own, answer);
    }
  });
}

TEST_F(PosixReads, SendfileToAFile) {
  Try([&] {
    const int in = OpenOrFail(Mounted("big.bin"));
    const std::string copy = *scratch_ / "sent";
    const int out = open(copy.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    off_t offset = 0;
    while (offset < static_cast<off_t>(kBigBytes)) {
      ASSERT_GT(sendfile(out, in, &offset, kBigBytes), 0) << std::strerror(errno);
    }
    EXPECT_EQ(support::Scratch::Read(copy) == big(), true);
  });
}

TEST_F(PosixReads, SpliceToAPipe) {
  Try([&] {
    const int in = OpenOrFail(Mounted("big.bin"));
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::thread feeder([&] {
      loff_t offset = 0;
      while (splice(in, &offset, ends[1], nullptr, 1 << 16, SPLICE_F_MOVE) > 0) {
      }
      close(ends[1]);
    });
    const std::string bytes = ReadAll(ends[0]);
    feeder.join();
    EXPECT_EQ(bytes == big(), true);
  });
}

// The kernel copies between file systems only where their types agree (EXDEV); then so does it from tmpfs,
// and callers fall back to reading.
TEST_F(PosixReads, CopyFileRangeOut) {
  Try([&] {
    const int in = OpenOrFail(Mounted("big.bin"));
    const int out = open((*scratch_ / "copied").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const int foreign = memfd_create("foreign", MFD_CLOEXEC);
    ASSERT_EQ(write(foreign, kSmallText.data(), kSmallText.size()), static_cast<ssize_t>(kSmallText.size()));
    off64_t offset = 0;
    const ssize_t from_foreign = copy_file_range(foreign, &offset, out, nullptr, kSmallText.size(), 0);
    const int foreign_errno = from_foreign == -1 ? errno : 0;
    ASSERT_EQ(ftruncate(out, 0), 0);
    ASSERT_EQ(lseek(out, 0, SEEK_SET), 0);
    offset = 0;
    while (offset < static_cast<off64_t>(kBigBytes)) {
      const ssize_t got = copy_file_range(in, &offset, out, nullptr, kBigBytes, 0);
      if (got == -1) {
        EXPECT_EQ(errno, EXDEV);
        EXPECT_EQ(foreign_errno, EXDEV) << "the kernel copies from other file systems, but not from this one";
        return;
      }
      ASSERT_GT(got, 0);
    }
    EXPECT_EQ(support::Scratch::Read(*scratch_ / "copied") == big(), true);
  });
}

TEST_F(PosixReads, ReadaheadAndFadvise) {
  Try([&] {
    const int fd = OpenOrFail(Mounted("big.bin"));
    EXPECT_EQ(readahead(fd, 0, kBigBytes), 0) << std::strerror(errno);
    for (const int advice : {POSIX_FADV_NORMAL, POSIX_FADV_SEQUENTIAL, POSIX_FADV_RANDOM, POSIX_FADV_NOREUSE,
                             POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED}) {
      EXPECT_EQ(posix_fadvise(fd, 0, 0, advice), 0) << advice;
    }
    EXPECT_EQ(ReadAll(fd) == big(), true);
  });
}

TEST_F(PosixReads, SeekDataAndSeekHole) {
  Try([&] {
    const int fd = OpenOrFail(Mounted("big.bin"));
    EXPECT_EQ(lseek(fd, 100, SEEK_DATA), 100);
    EXPECT_EQ(lseek(fd, 100, SEEK_HOLE), static_cast<off_t>(kBigBytes));
    EXPECT_EQ(lseek(fd, 0, SEEK_END), static_cast<off_t>(kBigBytes));
    EXPECT_EQ(lseek(fd, static_cast<off_t>(kBigBytes), SEEK_DATA), -1);
    EXPECT_EQ(errno, ENXIO);
    EXPECT_EQ(lseek(fd, static_cast<off_t>(kBigBytes) + 5, SEEK_HOLE), -1);
    EXPECT_EQ(errno, ENXIO);
  });
}

TEST_F(PosixReads, Statx) {
  Try([&] {
    struct statx status {};
    ASSERT_EQ(statx(AT_FDCWD, Mounted("small.txt").c_str(), AT_STATX_FORCE_SYNC, STATX_ALL, &status), 0)
        << std::strerror(errno);
    struct stat original {};
    ASSERT_EQ(stat(Original("small.txt").c_str(), &original), 0);
    EXPECT_EQ(status.stx_mask & STATX_BASIC_STATS, static_cast<unsigned>(STATX_BASIC_STATS));
    EXPECT_EQ(status.stx_size, kSmallText.size());
    EXPECT_EQ(status.stx_nlink, 2U);
    EXPECT_EQ(status.stx_mode & S_IFMT, static_cast<unsigned>(S_IFREG));
    EXPECT_EQ(status.stx_mode & 0222, 0U);
    EXPECT_EQ(status.stx_mtime.tv_sec, original.st_mtim.tv_sec);
    EXPECT_EQ(status.stx_mtime.tv_nsec, static_cast<unsigned>(original.st_mtim.tv_nsec));
    struct stat hard {};
    ASSERT_EQ(stat(Mounted("hard").c_str(), &hard), 0);
    EXPECT_EQ(hard.st_ino, status.stx_ino);
    EXPECT_EQ(statx(AT_FDCWD, Mounted("nothing").c_str(), 0, STATX_ALL, &status), -1);
    EXPECT_EQ(errno, ENOENT);
  });
}

TEST_F(PosixReads, Openat2StaysBeneath) {
  Try([&] {
    const int root = OpenOrFail(Mounted(""), O_DIRECTORY);
    open_how how{
        .flags = O_RDONLY | O_CLOEXEC, .mode = 0, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    // EAGAIN, openat2(2): something was renamed or mounted anywhere while ".." was resolved.
    const auto open_beneath = [&](const char* path) {
      int fd = -1;
      for (int attempt = 0; attempt < 1000 && fd == -1; ++attempt) {
        fd = static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof(how)));
        if (fd == -1 && errno != EAGAIN) break;
      }
      return fd;
    };
    const int fd = open_beneath("dir/../link");
    ASSERT_NE(fd, -1) << std::strerror(errno);
    EXPECT_EQ(ReadAll(fd), kSmallText);
    EXPECT_EQ(open_beneath("../../data"), -1);
    EXPECT_EQ(errno, EXDEV);
    how.resolve = RESOLVE_NO_SYMLINKS;
    EXPECT_EQ(open_beneath("link"), -1);
    EXPECT_EQ(errno, ELOOP);
  });
}

// What an NFS server does: a handle is found again by another server that has never seen its file.
TEST_F(PosixReads, AFileHandleOutlivesTheServer) {
  struct Handle {
    file_handle head;
    unsigned char bytes[MAX_HANDLE_SZ];
  };
  alignas(Handle) unsigned char memory[sizeof(Handle)] = {};
  auto* handle = reinterpret_cast<file_handle*>(memory);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  Try([&] {
    handle->handle_bytes = MAX_HANDLE_SZ;
    int mount_id = 0;
    ASSERT_EQ(name_to_handle_at(AT_FDCWD, Mounted("dir/inner.txt").c_str(), handle, &mount_id, 0), 0)
        << std::strerror(errno);
    ASSERT_EQ(write(pipe_ends[1], memory, sizeof(memory)), static_cast<ssize_t>(sizeof(memory)));
  });
  ASSERT_EQ(read(pipe_ends[0], memory, sizeof(memory)), static_cast<ssize_t>(sizeof(memory)));
  const std::string path = mount_->path();
  mount_.reset();
  mount_.emplace(path, std::vector<std::string>{"--index", *scratch_ / "index", "--source", scratch_->path(),
                                                "--dataset", "posix"});
  Try([&] {
    const int root = OpenOrFail(mount_->path(), O_DIRECTORY);
    const int fd = open_by_handle_at(root, handle, O_RDONLY | O_CLOEXEC);
    ASSERT_NE(fd, -1) << std::strerror(errno);
    EXPECT_EQ(ReadAll(fd), "inner\n");
  });
}

TEST_F(PosixReads, XattrsOfTarnAndOfTheMember) {
  Try([&] {
    char value[256];
    const std::string path = Mounted("colored.txt");
    ASSERT_EQ(getxattr(path.c_str(), "user.color", value, sizeof(value)), 4) << std::strerror(errno);
    EXPECT_EQ(std::string(value, 4), "blue");
    EXPECT_EQ(getxattr(path.c_str(), "user.color", nullptr, 0), 4);
    EXPECT_EQ(getxattr(path.c_str(), "user.color", value, 2), -1);
    EXPECT_EQ(errno, ERANGE);
    EXPECT_EQ(getxattr(path.c_str(), "user.nothing", value, sizeof(value)), -1);
    EXPECT_EQ(errno, ENODATA);
    const ssize_t offset_size = getxattr(path.c_str(), "user.tarn.data_offset", value, sizeof(value));
    ASSERT_GT(offset_size, 0) << std::strerror(errno);
    const std::string offset(value, static_cast<size_t>(offset_size));
    // Where the attribute says, the archive has the member's bytes.
    const int archive = OpenOrFail(*scratch_ / "data/a.tar");
    ASSERT_EQ(pread(archive, value, 18, std::stoll(offset)), 18);
    EXPECT_EQ(std::string(value, 18), "with an attribute\n");

    const ssize_t list_size = listxattr(path.c_str(), value, sizeof(value));
    ASSERT_GT(list_size, 0);
    const std::string list(value, static_cast<size_t>(list_size));
    EXPECT_NE(list.find(std::string("user.color\0", 11)), std::string::npos);
    EXPECT_NE(list.find(std::string("user.tarn.archive_id\0", 21)), std::string::npos);
    EXPECT_EQ(listxattr(path.c_str(), value, 1), -1);
    EXPECT_EQ(errno, ERANGE);
  });
}

TEST_F(PosixReads, StatvfsTellsSizeAndReadOnly) {
  Try([&] {
    struct statvfs status {};
    ASSERT_EQ(statvfs(Mounted("small.txt").c_str(), &status), 0) << std::strerror(errno);
    EXPECT_EQ(status.f_flag & ST_RDONLY, static_cast<unsigned long>(ST_RDONLY));
    EXPECT_GE(status.f_blocks * status.f_frsize, kBigBytes);
    EXPECT_EQ(status.f_bfree, 0U);
    EXPECT_GE(status.f_files, 10U);
  });
}

TEST_F(PosixReads, FilesAreAlwaysReady) {
  Try([&] {
    pollfd file{.fd = OpenOrFail(Mounted("small.txt")), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&file, 1, 1000), 1);
    EXPECT_EQ(file.revents, POLLIN);
    const int fd = OpenOrFail(Mounted("small.txt"));
    EXPECT_EQ(ReadAll(fd), kSmallText);
    EXPECT_EQ(fsync(fd), 0) << std::strerror(errno);
    EXPECT_EQ(ioctl(fd, 0x5401 /* TCGETS */, nullptr), -1);
    EXPECT_EQ(errno, ENOTTY);
  });
}

TEST_F(PosixReads, AProgramInTheMountRuns) {
  const support::Finished run = support::RunProgram({Mounted("run.sh")});
  EXPECT_EQ(run.exit_code, 7) << run.err;
}

TEST_F(PosixReads, SpecialFilesAreShownAndDevicesNeverOpen) {
  Try([&] {
    struct stat status {};
    ASSERT_EQ(lstat(Mounted("fifo").c_str(), &status), 0);
    EXPECT_TRUE(S_ISFIFO(status.st_mode));
    ASSERT_EQ(lstat(Mounted("null").c_str(), &status), 0);
    EXPECT_TRUE(S_ISCHR(status.st_mode));
    EXPECT_EQ(open(Mounted("null").c_str(), O_RDONLY), -1);
    EXPECT_EQ(errno, EACCES);
    char target[64];
    ASSERT_EQ(readlink(Mounted("link").c_str(), target, sizeof(target)), 9);
    EXPECT_EQ(std::string(target, 9), "small.txt");
  });
}

TEST_F(PosixReads, ManyReadersAtOnceGetTheirOwnBytes) {
  Try([&] {
    std::vector<std::thread> readers;
    std::atomic<int> wrong{0};
    for (size_t reader = 0; reader < 16; ++reader) {
      readers.emplace_back([&, reader] {
        const int fd = open(Mounted("big.bin").c_str(), O_RDONLY | O_CLOEXEC);
        std::string buffer(70000, '\0');
        for (size_t i = 0; i < 60; ++i) {
          const size_t offset = (reader * 331 + i * 87211) % (kBigBytes - buffer.size());
          const ssize_t got = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
          if (got != static_cast<ssize_t>(buffer.size()) || big().compare(offset, buffer.size(), buffer) != 0)
            ++wrong;
        }
        close(fd);
      });
    }
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(wrong.load(), 0);
  });
}

}  // namespace
}  // namespace tarn::integration

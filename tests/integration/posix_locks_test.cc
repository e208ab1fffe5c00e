// Read locks: the kernel keeps them, no server is asked.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "integration/posix_dataset.h"

namespace tarn::integration {
namespace {

using PosixLocks = PosixTest;

TEST_F(PosixLocks, FlockSharedAndExclusive) {
  Try([&] {
    const int first = OpenOrFail(Mounted("small.txt"));
    const int second = OpenOrFail(Mounted("small.txt"));
    EXPECT_EQ(flock(first, LOCK_SH), 0) << std::strerror(errno);
    EXPECT_EQ(flock(second, LOCK_SH), 0) << std::strerror(errno);
    EXPECT_EQ(flock(second, LOCK_EX | LOCK_NB), -1);
    EXPECT_EQ(errno, EWOULDBLOCK);
    EXPECT_EQ(flock(first, LOCK_UN), 0);
    EXPECT_EQ(flock(second, LOCK_EX | LOCK_NB), 0) << std::strerror(errno);
  });
}

TEST_F(PosixLocks, FcntlReadLocksOfTwoProcesses) {
  Try([&] {
    const int fd = OpenOrFail(Mounted("small.txt"));
    struct flock lock {};
    lock.l_type = F_RDLCK;
    lock.l_whence = SEEK_SET;
    ASSERT_EQ(fcntl(fd, F_SETLK, &lock), 0) << std::strerror(errno);
    EXPECT_TRUE(support::InChild([&] {
      const int other = OpenOrFail(Mounted("small.txt"));
      struct flock wanted {};
      wanted.l_type = F_RDLCK;
      wanted.l_whence = SEEK_SET;
      EXPECT_EQ(fcntl(other, F_SETLK, &wanted), 0) << std::strerror(errno);
      wanted.l_type = F_WRLCK;
      ASSERT_EQ(fcntl(other, F_GETLK, &wanted), 0) << std::strerror(errno);
      EXPECT_EQ(wanted.l_type, F_RDLCK);  // the parent's stands in the way
      EXPECT_EQ(wanted.l_pid, getppid());
    }));
  });
}

TEST_F(PosixLocks, OpenFileDescriptionReadLocks) {
  Try([&] {
    const int fd = OpenOrFail(Mounted("small.txt"));
    struct flock lock {};
    lock.l_type = F_RDLCK;
    lock.l_whence = SEEK_SET;
    EXPECT_EQ(fcntl(fd, F_OFD_SETLK, &lock), 0) << std::strerror(errno);
  });
}

TEST_F(PosixLocks, AReadLease) {
  Try([&] {
    const int fd = OpenOrFail(Mounted("small.txt"));
    // Not every file system grants leases; the kernel decides, without asking.
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == -1) {
      EXPECT_TRUE(errno == EAGAIN || errno == EINVAL) << std::strerror(errno);
    }
  });
}

}  // namespace
}  // namespace tarn::integration

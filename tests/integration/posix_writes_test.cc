// Every call that would change something says EROFS: never ENOSYS, which the kernel would remember, nor
// EPERM, which would blame the caller.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "integration/posix_dataset.h"

namespace tarn::integration {
namespace {

#define EXPECT_EROFS(call)                                                \
  do {                                                                    \
    errno = 0;                                                            \
    EXPECT_EQ((call), -1) << #call;                                       \
    EXPECT_EQ(errno, EROFS) << #call << " gave " << std::strerror(errno); \
  } while (false)

class PosixWrites : public PosixTest {
 protected:
  // What works on names, whatever the mount's flags are.
  void ExpectNamesCannotChange() const {
    const std::string small = Mounted("small.txt");
    const std::string fresh = Mounted("new");
    EXPECT_EROFS(open(fresh.c_str(), O_RDWR | O_CREAT, 0644));
    EXPECT_EROFS(open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644));
    EXPECT_EROFS(creat(fresh.c_str(), 0644));
    EXPECT_EROFS(mkdir(fresh.c_str(), 0755));
    EXPECT_EROFS(mknod(fresh.c_str(), S_IFREG | 0644, 0));
    EXPECT_EROFS(mkfifo(fresh.c_str(), 0644));
    EXPECT_EROFS(symlink("target", fresh.c_str()));
    EXPECT_EROFS(link(small.c_str(), fresh.c_str()));
    EXPECT_EROFS(rename(small.c_str(), fresh.c_str()));
    EXPECT_EROFS(rename(Mounted("dir").c_str(), fresh.c_str()));
    EXPECT_EROFS(renameat2(AT_FDCWD, small.c_str(), AT_FDCWD, fresh.c_str(), RENAME_NOREPLACE));
    EXPECT_EROFS(unlink(small.c_str()));
    EXPECT_EROFS(rmdir(Mounted("dir").c_str()));
    EXPECT_EROFS(chmod(small.c_str(), 0600));
    EXPECT_EROFS(chown(small.c_str(), 1, 1));
    EXPECT_EROFS(lchown(Mounted("link").c_str(), 1, 1));
    EXPECT_EROFS(truncate(small.c_str(), 0));
    EXPECT_EROFS(utimensat(AT_FDCWD, small.c_str(), nullptr, 0));
    EXPECT_EROFS(utimes(small.c_str(), nullptr));
    EXPECT_EROFS(setxattr(small.c_str(), "user.x", "y", 1, 0));
    EXPECT_EROFS(setxattr(small.c_str(), "trusted.x", "y", 1, 0));
    EXPECT_EROFS(removexattr(Mounted("colored.txt").c_str(), "user.color"));
  }
  // What works on a descriptor that was opened for reading.
  void ExpectDescriptorsCannotChange() const {
    const int fd = OpenOrFail(Mounted("small.txt"));
    EXPECT_EROFS(fchmod(fd, 0600));
    EXPECT_EROFS(fchown(fd, 1, 1));
    EXPECT_EROFS(futimens(fd, nullptr));
    EXPECT_EROFS(fsetxattr(fd, "user.x", "y", 1, 0));
    EXPECT_EROFS(fremovexattr(fd, "user.x"));
  }
  void ExpectUnchanged() const {
    EXPECT_EQ(ReadAll(OpenOrFail(Mounted("small.txt"))), kSmallText);
    struct stat status {};
    EXPECT_EQ(lstat(Mounted("new").c_str(), &status), -1);
    EXPECT_EQ(errno, ENOENT);
  }
};

TEST_F(PosixWrites, EveryChangeIsErofs) {
  Try([&] {
    ExpectNamesCannotChange();
    ExpectDescriptorsCannotChange();
    const std::string small = Mounted("small.txt");
    EXPECT_EROFS(open(small.c_str(), O_WRONLY));
    EXPECT_EROFS(open(small.c_str(), O_RDWR));
    EXPECT_EROFS(open(small.c_str(), O_WRONLY | O_APPEND));
    EXPECT_EROFS(open(small.c_str(), O_RDONLY | O_TRUNC));
    EXPECT_EROFS(open(Mounted("").c_str(), O_RDWR | O_TMPFILE, 0600));
    EXPECT_EROFS(access(small.c_str(), W_OK));
    const int flags = FS_NODUMP_FL;
    EXPECT_EROFS(ioctl(OpenOrFail(small), FS_IOC_SETFLAGS, &flags));
    ExpectUnchanged();
  });
}

TEST_F(PosixWrites, WhatIsThereAlreadyIsSaidFirstAsEverywhere) {
  Try([&] {
    EXPECT_EQ(mkdir(Mounted("dir").c_str(), 0755), -1);
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(open(Mounted("small.txt").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644), -1);
    EXPECT_EQ(errno, EEXIST);
    const int fd = OpenOrFail(Mounted("small.txt"));
    EXPECT_EQ(write(fd, "x", 1), -1);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(ftruncate(fd, 0), -1);
    EXPECT_EQ(errno, EINVAL);
  });
}

// The kernel stands before the server as long as the mount is read-only. Behind it the server says the same.
TEST_F(PosixWrites, TheServerRefusesTooWhenTheMountIsMadeWritable) {
  ASSERT_EQ(mount(nullptr, mount_->path().c_str(), nullptr, MS_REMOUNT | MS_NOSUID | MS_NODEV, nullptr), 0)
      << std::strerror(errno);
  Try([&] {
    ExpectNamesCannotChange();
    ExpectDescriptorsCannotChange();
    const std::string small = Mounted("small.txt");
    // The kernel opens by itself; the change is refused when it comes.
    const int fd = open(small.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_NE(fd, -1) << std::strerror(errno);
    EXPECT_EROFS(write(fd, "x", 1));
    EXPECT_EROFS(pwrite(fd, "x", 1, 100));
    EXPECT_EROFS(ftruncate(fd, 1));
    EXPECT_EROFS(fallocate(fd, 0, 0, 100000));
    EXPECT_EROFS(open(small.c_str(), O_WRONLY | O_TRUNC));
    const int in = OpenOrFail(Mounted("big.bin"));
    EXPECT_EROFS(copy_file_range(in, nullptr, fd, nullptr, 4096, 0));
    ExpectUnchanged();
  });
}

}  // namespace
}  // namespace tarn::integration

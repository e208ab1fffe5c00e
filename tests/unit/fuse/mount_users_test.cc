#include "fuse/mount_users.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/scratch.h"

namespace tarn::fuse {
namespace {

TEST(MountUsersTest, AProcessThatStandsInTheDirectoryIsNamed) {
  const support::Scratch scratch;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(scratch.path().c_str()) == 0 && write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const auto users = UsersOfMount(scratch.path());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  ASSERT_EQ(users.size(), 1U);
  EXPECT_EQ(users[0].pid, child);
  EXPECT_EQ(users[0].what, "cwd " + scratch.path());
}

TEST(MountUsersTest, ADirectoryWhoseNameBeginsTheSameIsAnother) {
  const support::Scratch scratch;
  EXPECT_TRUE(UsersOfMount(scratch.path() + "-not").empty());
}

TEST(MountUsersTest, ManyUsersAreCounted) {
  const MountUser user{.pid = 7, .command = "python3", .what = "fd 5 /m/a"};
  EXPECT_EQ(DescribeUsers({user}), "python3 (pid 7: fd 5 /m/a)");
  EXPECT_EQ(DescribeUsers({user, user, user}, 1), "python3 (pid 7: fd 5 /m/a) and 2 more");
}

}  // namespace
}  // namespace tarn::fuse

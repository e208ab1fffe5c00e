// Starting and ending: as a daemon, through mount(8), as a user; by signal, by unmount, and when the server
// is gone.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "support/child.h"
#include "support/mount.h"
#include "support/scratch.h"

namespace tarn::integration {
namespace {

using support::Finished;
using support::InChild;
using support::IsMounted;
using support::Program;
using support::RunProgram;
using support::ServedMount;
using testing::HasSubstr;

// Processes whose command line has `word`, this one left out.
std::vector<pid_t> ProcessesWith(const std::string& word) {
  std::vector<pid_t> found;
  std::error_code error;  // processes come and go while the list is read
  std::filesystem::directory_iterator item("/proc", error);
  for (; !error && item != std::filesystem::directory_iterator(); item.increment(error)) {
    const std::string name = item->path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc() || pid == getpid())
      continue;
    std::ifstream file(item->path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), {});
    if (line.find(word) != std::string::npos) found.push_back(pid);
  }
  return found;
}

template <typename Condition>
bool Soon(Condition condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class MountLife : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = support::WhyNoMounts();
    if (!why.empty()) GTEST_SKIP() << why;
    scratch_.Write("data/a.txt", "a\n");
    support::Publish(scratch_ / "data", "small", scratch_ / "index");
    std::filesystem::create_directory(Mountpoint());
  }
  void TearDown() override {
    if (IsMounted(Mountpoint())) umount2(Mountpoint().c_str(), MNT_DETACH);
    for (const pid_t pid : ProcessesWith(Mountpoint())) kill(pid, SIGKILL);
  }

  std::string Mountpoint() const { return scratch_ / "mnt"; }
  std::vector<std::string> Options() const {
    return {"--index", scratch_ / "index", "--source", scratch_.path(), "--dataset", "small"};
  }
  std::vector<std::string> MountCommand(std::vector<std::string> more = {}) const {
    std::vector<std::string> command = {Program("tarn-mount"), Mountpoint()};
    for (auto& option : Options()) command.push_back(option);
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  void ExpectServes(const std::string& mountpoint) const {
    EXPECT_TRUE(InChild([&] { EXPECT_EQ(support::Scratch::Read(mountpoint + "/a.txt"), "a\n"); }));
  }

  support::Scratch scratch_;
};

TEST_F(MountLife, TheCommandReturnsWhenTheMountAnswersAndItsServerStays) {
  const Finished mounted = RunProgram(MountCommand());
  ASSERT_EQ(mounted.exit_code, 0) << mounted.err;
  EXPECT_EQ(mounted.out + mounted.err, "");
  ASSERT_TRUE(IsMounted(Mountpoint()));
  ExpectServes(Mountpoint());
  const std::vector<pid_t> servers = ProcessesWith(Mountpoint());
  ASSERT_EQ(servers.size(), 1U);
  // It has left terminal, session and directory.
  EXPECT_EQ(getsid(servers[0]), servers[0]);
  EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(servers[0]) + "/cwd"), "/");

  const Finished unmounted = RunProgram({Program("tarn-mount"), "unmount", Mountpoint()});
  EXPECT_EQ(unmounted.exit_code, 0) << unmounted.err;
  EXPECT_FALSE(IsMounted(Mountpoint()));
  EXPECT_TRUE(Soon([&] { return ProcessesWith(Mountpoint()).empty(); }));
}

TEST_F(MountLife, TheLogFileSaysWhatIsServedAndHowItEnded) {
  ASSERT_EQ(RunProgram(MountCommand({"--log-file", scratch_ / "log"})).exit_code, 0);
  ASSERT_EQ(RunProgram({Program("tarn-mount"), "unmount", Mountpoint()}).exit_code, 0);
  EXPECT_TRUE(Soon([&] { return ProcessesWith(Mountpoint()).empty(); }));
  const std::string log = support::Scratch::Read(scratch_ / "log");
  EXPECT_THAT(log, HasSubstr("shows small@1"));
  EXPECT_THAT(log, HasSubstr("was unmounted"));
}

TEST_F(MountLife, MountEightCallsTheHelper) {
  // mount(8) looks for its helpers in /sbin: in this mount namespace, for as long as it runs, that has ours.
  const std::string sbin = std::filesystem::canonical("/sbin");
  std::filesystem::create_directory(scratch_ / "sbin");
  std::filesystem::create_symlink(Program("tarn-mount"), scratch_ / "sbin/mount.fuse.tarn");
  ASSERT_EQ(mount((scratch_ / "sbin").c_str(), sbin.c_str(), nullptr, MS_BIND, nullptr), 0)
      << std::strerror(errno);
  const Finished mounted =
      RunProgram({"mount", "-t", "fuse.tarn", "small@1", Mountpoint(), "-o",
                  "index=" + (scratch_ / "index") + ",source=" + scratch_.path() + ",_netdev"});
  ASSERT_EQ(umount2(sbin.c_str(), MNT_DETACH), 0);
  ASSERT_EQ(mounted.exit_code, 0) << mounted.err;
  ExpectServes(Mountpoint());
  EXPECT_EQ(RunProgram({"umount", Mountpoint()}).exit_code, 0);
  EXPECT_TRUE(Soon([&] { return ProcessesWith(Mountpoint()).empty(); }));
}

TEST_F(MountLife, ADirectoryThatIsNotMountedSaysSo) {
  {
    ServedMount mount(Mountpoint(), Options());
    EXPECT_TRUE(InChild([&] { EXPECT_FALSE(std::filesystem::exists(mount / "TARN-NOT-MOUNTED")); }));
  }
  EXPECT_THAT(support::Scratch::Read(Mountpoint() + "/TARN-NOT-MOUNTED"),
              HasSubstr("Nothing is mounted here"));
  // And it does not stand in the way of the next mount.
  ServedMount again(Mountpoint(), Options());
  ExpectServes(again.path());
}

TEST_F(MountLife, SignalsUnmountAndEndWithZero) {
  for (const int signal : {SIGINT, SIGTERM}) {
    ServedMount mount(Mountpoint(), Options());
    ExpectServes(mount.path());
    const pid_t server = mount.server();
    kill(server, signal);
    const int status = support::WaitForChild(server, std::chrono::seconds(60));
    ASSERT_TRUE(WIFEXITED(status)) << signal;
    EXPECT_EQ(WEXITSTATUS(status), 0) << signal;
    EXPECT_FALSE(IsMounted(mount.path())) << signal;
  }
}

TEST_F(MountLife, WhoHasAFileOpenIsNamedAndCanFinish) {
  ServedMount mount(Mountpoint(), Options());
  int to_child[2];
  int to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t reader = fork();
  if (reader == 0) {
    const int fd = open((mount / "a.txt").c_str(), O_RDONLY | O_DIRECT);
    char byte = 'r';
    if (fd == -1 || write(to_parent[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1) _exit(2);
    alignas(4096) char text[4096];
    _exit(pread(fd, text, sizeof(text), 0) == 2 && std::memcmp(text, "a\n", 2) == 0 ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(to_parent[0], &byte, 1), 1);
  kill(mount.server(), SIGTERM);
  // Out of sight at once ...
  EXPECT_TRUE(Soon([&] { return !IsMounted(mount.path()); }));
  EXPECT_TRUE(Soon([&] { return mount.Log().find("is in use by") != std::string::npos; }));
  EXPECT_THAT(mount.Log(), HasSubstr("(pid " + std::to_string(reader) + ": fd"));
  // ... but the open file is served, and when it is closed the server ends.
  ASSERT_EQ(write(to_child[1], "g", 1), 1);
  const int read_status = support::WaitForChild(reader, std::chrono::seconds(60));
  EXPECT_TRUE(WIFEXITED(read_status) && WEXITSTATUS(read_status) == 0) << read_status;
  const int status = support::WaitForChild(mount.server(), std::chrono::seconds(60));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << mount.Log();
}

TEST_F(MountLife, TheGracePeriodEnds) {
  std::vector<std::string> options = Options();
  options.insert(options.end(), {"--unmount-grace", "0.2"});
  ServedMount mount(Mountpoint(), options);
  const pid_t holder = fork();
  if (holder == 0) {
    if (open((mount / "a.txt").c_str(), O_RDONLY) != -1) pause();
    _exit(1);
  }
  EXPECT_TRUE(Soon([&] {
    return !RunProgram({"find", "/proc/" + std::to_string(holder) + "/fd", "-lname", mount / "a.txt"})
                .out.empty();
  }));
  const int status = mount.Terminate();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_THAT(mount.Log(), HasSubstr("ending although files are still open"));
  kill(holder, SIGKILL);
  support::WaitForChild(holder, std::chrono::seconds(5));
}

TEST_F(MountLife, UnmountOfABusyMountNamesItsUsersAndLazyTakesIt) {
  ServedMount mount(Mountpoint(), Options());
  const pid_t holder = fork();
  if (holder == 0) {
    if (chdir(mount.path().c_str()) == 0) pause();
    _exit(1);
  }
  EXPECT_TRUE(Soon([&] {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/" + std::to_string(holder) + "/cwd", error) == mount.path();
  }));
  const Finished busy = RunProgram({Program("tarn-mount"), "unmount", mount.path()});
  EXPECT_EQ(busy.exit_code, 3);
  EXPECT_THAT(busy.err, HasSubstr("(pid " + std::to_string(holder) + ": cwd"));
  EXPECT_THAT(busy.err, HasSubstr("--lazy"));
  EXPECT_TRUE(IsMounted(mount.path()));
  EXPECT_EQ(RunProgram({Program("tarn-mount"), "unmount", "--lazy", mount.path()}).exit_code, 0);
  EXPECT_FALSE(IsMounted(mount.path()));
  kill(holder, SIGKILL);
  support::WaitForChild(holder, std::chrono::seconds(5));
  const int status = support::WaitForChild(mount.server(), std::chrono::seconds(60));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(MountLife, AMountWhoseServerWasKilledIsSaidToBeThereAndCanBeUnmounted) {
  ServedMount mount(Mountpoint(), Options());
  kill(mount.server(), SIGKILL);
  support::WaitForChild(mount.server(), std::chrono::seconds(5));
  const Finished refused = RunProgram(MountCommand());
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("also when its server is gone"));
  const Finished unmounted = RunProgram({Program("tarn-mount"), "unmount", mount.path()});
  EXPECT_EQ(unmounted.exit_code, 0) << unmounted.err;
  EXPECT_EQ(RunProgram(MountCommand()).exit_code, 0);
  ExpectServes(Mountpoint());
}

// A server asks its own mount before it says that it is ready. Killed while it waits for the answer, it must
// not keep the connection open: whoever touched the mount would hang for ever.
TEST_F(MountLife, AServerThatIsKilledWhileItStartsLeavesNoMountThatHangs) {
  std::vector<std::string> command = {Program("tarn-mount"), Mountpoint(), "--foreground"};
  for (const std::string& word : Options()) command.push_back(word);
  std::filesystem::create_directories(Mountpoint());
  for (int round = 0; round < 12; ++round) {
    const pid_t server = support::StartProgram(command, scratch_ / "killed.log");
    ASSERT_TRUE(Soon([&] { return IsMounted(Mountpoint()); }));
    std::this_thread::sleep_for(std::chrono::microseconds(round * 500));
    kill(server, SIGKILL);
    EXPECT_TRUE(InChild([&] {
      struct statx status {};
      // It dies when the kernel comes to it. Which error tells so depends on how far it had come; that one
      // comes at all is what the child's deadline holds.
      while (statx(AT_FDCWD, Mountpoint().c_str(), AT_STATX_FORCE_SYNC, STATX_TYPE, &status) == 0) continue;
    })) << "in round "
        << round;
    EXPECT_NE(support::WaitForChild(server, std::chrono::seconds(60)), -1);
    const Finished unmounted = RunProgram({Program("tarn-mount"), "unmount", "--lazy", Mountpoint()});
    ASSERT_EQ(unmounted.exit_code, 0) << unmounted.err;
  }
}

// Through fusermount3. The device is usually open to all; here a copy of it is put in its place.
TEST_F(MountLife, AUserMountsThroughFusermount) {
  const std::string device = scratch_ / "fuse-device";
  ASSERT_EQ(mknod(device.c_str(), S_IFCHR | 0666, makedev(10, 229)), 0);
  ASSERT_EQ(chmod(device.c_str(), 0666), 0);
  ASSERT_EQ(chmod(scratch_.path().c_str(), 0755), 0);
  ASSERT_EQ(chown(Mountpoint().c_str(), 65534, 65534), 0);
  ASSERT_EQ(mount(device.c_str(), "/dev/fuse", nullptr, MS_BIND, nullptr), 0);
  const std::vector<std::string> as_user = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  std::vector<std::string> command = as_user;
  for (const std::string& word : MountCommand()) command.push_back(word);
  const Finished mounted = RunProgram(command);
  EXPECT_EQ(mounted.exit_code, 0) << mounted.err;
  std::vector<std::string> cat = as_user;
  cat.insert(cat.end(), {"cat", Mountpoint() + "/a.txt"});
  EXPECT_EQ(RunProgram(cat).out, "a\n");
  // Without allow_other the mount is the user's alone, even before root.
  EXPECT_NE(RunProgram({"cat", Mountpoint() + "/a.txt"}).exit_code, 0);
  std::vector<std::string> unmount = as_user;
  unmount.insert(unmount.end(), {Program("tarn-mount"), "unmount", Mountpoint()});
  const Finished unmounted = RunProgram(unmount);
  EXPECT_EQ(unmounted.exit_code, 0) << unmounted.err;
  EXPECT_FALSE(IsMounted(Mountpoint()));
  umount2("/dev/fuse", MNT_DETACH);
}

}  // namespace
}  // namespace tarn::integration

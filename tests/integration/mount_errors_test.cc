// What a user does wrong, or a machine lacks: a message that helps, and the exit code.
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#include "support/child.h"
#include "support/mount.h"
#include "support/scratch.h"

namespace tarn::integration {
namespace {

using support::Finished;
using support::Program;
using support::RunProgram;
using testing::HasSubstr;
using testing::Not;

class MountErrors : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = support::WhyNoMounts();
    if (!why.empty()) GTEST_SKIP() << why;
    scratch_.Write("data/a.txt", "a\n");
    support::Publish(scratch_ / "data", "small", scratch_ / "index");
    std::filesystem::create_directory(Mountpoint());
  }
  void TearDown() override {
    // A mount that should not have come about is not left behind.
    RunProgram({Program("tarn-mount"), "unmount", "--lazy", Mountpoint()});
  }

  std::string Mountpoint() const { return scratch_ / "mnt"; }
  // tarn-mount on the small dataset, with `more` behind; the last of an option wins nothing: each stands
  // once.
  Finished Mount(const std::string& mountpoint, std::string index, std::string dataset,
                 std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {Program("tarn-mount"), mountpoint,  "--index",
                                          std::move(index),      "--dataset", std::move(dataset)};
    if (more.empty()) more = {"--source", scratch_.path()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments);
  }
  Finished Mount(const std::string& mountpoint) const {
    return Mount(mountpoint, scratch_ / "index", "small");
  }

  void ExpectRefused(const Finished& run, int exit_code, const std::string& message,
                     const std::string& help) const {
    EXPECT_EQ(run.exit_code, exit_code) << run.err;
    EXPECT_THAT(run.err, HasSubstr(message));
    EXPECT_THAT(run.err, HasSubstr(help));
    EXPECT_FALSE(support::IsMounted(Mountpoint()));
  }

  support::Scratch scratch_;
};

TEST_F(MountErrors, TheMountpointIsNotThere) {
  ExpectRefused(Mount(scratch_ / "nowhere"), 3, "cannot use the mountpoint", "mkdir -p");
}

TEST_F(MountErrors, TheMountpointIsAFile) {
  ExpectRefused(Mount(scratch_.Write("file", "")), 2, "is no directory", "empty directory");
}

TEST_F(MountErrors, TheMountpointIsNotEmpty) {
  scratch_.Write("mnt/mine", "precious");
  ExpectRefused(Mount(Mountpoint()), 2, "it holds 'mine'", "would be hidden");
}

TEST_F(MountErrors, SomethingOfTarnIsMountedThereAlready) {
  support::ServedMount mounted(
      scratch_ / "first", {"--index", scratch_ / "index", "--source", scratch_.path(), "--dataset", "small"});
  ExpectRefused(Mount(mounted.path()), 3, "is already the mountpoint of 'tarn:small@1'", "unmount");
}

TEST_F(MountErrors, NoSuchDataset) {
  ExpectRefused(Mount(Mountpoint(), scratch_ / "index", "smal"), 3, "smal", "small");
  ExpectRefused(Mount(Mountpoint(), scratch_ / "index", "small@9"), 3, "9", "tarn");
}

TEST_F(MountErrors, TheIndexRootIsMissingOrOfSomethingElse) {
  ExpectRefused(Mount(Mountpoint(), scratch_ / "no-index", "small"), 3, "no-index", "--index");
  ExpectRefused(Mount(Mountpoint(), scratch_ / "data", "small"), 2, scratch_ / "data", "help:");
}

TEST_F(MountErrors, TheIndexRootIsOfANewerFormat) {
  std::string format = support::Scratch::Read(scratch_ / "index/format");
  const size_t digit = format.find('1');
  ASSERT_NE(digit, std::string::npos) << format;
  format.replace(digit, 1, "99");
  std::filesystem::permissions(scratch_ / "index/format", std::filesystem::perms::owner_all);
  scratch_.Write("index/format", format);
  ExpectRefused(Mount(Mountpoint(), scratch_ / "index", "small"), 3, "99", "help:");
}

TEST_F(MountErrors, TheSourceIsNotThere) {
  ExpectRefused(Mount(Mountpoint(), scratch_ / "index", "small", {"--source", scratch_ / "gone"}), 3, "gone",
                "a source is the directory");
}

TEST_F(MountErrors, TheSourceIsAnotherDirectory) {
  std::filesystem::create_directory(scratch_ / "other");
  ExpectRefused(Mount(Mountpoint(), scratch_ / "index", "small", {"--source", scratch_ / "other"}), 3,
                "'a.txt' is in none of", "the dataset's own directory");
  // Either of the two that are meant will do.
  for (const std::string& source : {scratch_.path(), scratch_ / "data"}) {
    EXPECT_EQ(Mount(Mountpoint(), scratch_ / "index", "small", {"--source", source}).exit_code, 0) << source;
    EXPECT_EQ(RunProgram({"cat", Mountpoint() + "/a.txt"}).out, "a\n") << source;
    EXPECT_EQ(RunProgram({Program("tarn-mount"), "unmount", Mountpoint()}).exit_code, 0);
  }
}

TEST_F(MountErrors, NoFuseDevice) {
  // A container without the device: nothing is there.
  ASSERT_TRUE(support::InChild([&] {
    ASSERT_EQ(mount("tmpfs", "/dev", "tmpfs", 0, nullptr), 0);
    ASSERT_EQ(mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)), 0);
    const Finished run = Mount(Mountpoint());
    ASSERT_EQ(umount2("/dev", MNT_DETACH), 0);
    ExpectRefused(run, 3, "cannot open /dev/fuse", "tarn cat");
  }));
}

TEST_F(MountErrors, AFuseDeviceThatRefuses) {
  const std::string device = scratch_ / "fuse-device";
  ASSERT_EQ(mknod(device.c_str(), S_IFCHR | 0600, makedev(10, 229)), 0);
  std::filesystem::permissions(scratch_.path(), static_cast<std::filesystem::perms>(0755));
  ASSERT_TRUE(support::InChild([&] {
    ASSERT_EQ(mount(device.c_str(), "/dev/fuse", nullptr, MS_BIND, nullptr), 0);
    ASSERT_EQ(chmod(Mountpoint().c_str(), 0777), 0);
    const Finished run = RunProgram({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                     Program("tarn-mount"), Mountpoint(), "--index", scratch_ / "index",
                                     "--source", scratch_.path(), "--dataset", "small"});
    ASSERT_EQ(umount2("/dev/fuse", MNT_DETACH), 0);
    ExpectRefused(run, 3, "cannot open /dev/fuse", "mode 0666");
  }));
}

TEST_F(MountErrors, ALogFileThatCannotBeWrittenLeavesNothingMounted) {
  ExpectRefused(Mount(Mountpoint(), scratch_ / "index", "small",
                      {"--source", scratch_.path(), "--log-file", "/nowhere/log"}),
                3, "/nowhere/log", "");
}

TEST_F(MountErrors, UnmountOfWhatIsNotMounted) {
  const Finished run = RunProgram({Program("tarn-mount"), "unmount", Mountpoint()});
  ExpectRefused(run, 3, "Tarn has nothing mounted at", "help:");
}

}  // namespace
}  // namespace tarn::integration

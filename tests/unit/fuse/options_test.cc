#include "fuse/options.h"

#include <gmock/gmock.h>

#include <sstream>

namespace tarn::fuse {
namespace {

using testing::HasSubstr;

class OptionsTest : public testing::Test {
 protected:
  Result<Command> Parsed(std::vector<std::string> arguments, bool mount_helper = false) {
    const tarn::Program program{.arguments = std::move(arguments),
                                .in = &in_,
                                .out = &out_,
                                .err = &err_,
                                .environment = environment_};
    return ParseCommand(program, mount_helper);
  }
  MountCommand Mount(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"/m", "--index", "/i", "--source", "/s", "--dataset", "d@3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto command = Parsed(std::move(arguments));
    EXPECT_TRUE(command.ok()) << command.status().ToString();
    return command.ok() ? std::get<MountCommand>(*command) : MountCommand();
  }
  Status Refused(std::vector<std::string> arguments) { return Parsed(std::move(arguments)).status(); }
  // The code to leave with; -1 when the command line is one to go on with.
  int ExitCodeOf(std::vector<std::string> arguments) {
    const auto command = Parsed(std::move(arguments));
    if (!command.ok()) return static_cast<int>(tarn::ExitCodeOf(command.status()));
    const auto* answered = std::get_if<Answered>(&*command);
    return answered != nullptr ? answered->exit_code : -1;
  }

  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  std::map<std::string, std::string> environment_;
};

TEST_F(OptionsTest, TheDefaultsAreThoseOfTheManual) {
  const MountCommand command = Mount();
  EXPECT_EQ(command.mountpoint, "/m");
  ASSERT_TRUE(command.dataset);
  EXPECT_EQ(command.dataset->ToString(), "d@3");
  EXPECT_EQ(command.tree.access, dataset::AccessMode::kArchive);
  EXPECT_EQ(command.tree.umask, 0U);
  EXPECT_EQ(command.verify, dataset::VerifyMode::kStat);
  EXPECT_EQ(command.identity_interval.count(), 1000);
  EXPECT_EQ(command.session.max_workers, 128U);
  EXPECT_EQ(command.session.deadline.count(), 300000);
  EXPECT_EQ(command.read_ahead.max_bytes, uint64_t{8} << 20);
  EXPECT_EQ(command.unmount_grace.count(), 10000);
  EXPECT_FALSE(command.foreground);
  EXPECT_EQ(command.allow_other, geteuid() == 0);
}

TEST_F(OptionsTest, ADeadlineOfNoneIsForEverAndTheSmallestIsNotNone) {
  EXPECT_EQ(Mount({"--source-deadline", "0"}).session.deadline.count(), 0);
  EXPECT_EQ(Mount({"--source-deadline", "0.0001"}).session.deadline.count(), 1);
  EXPECT_EQ(Mount({"-o", "source_deadline=2.5"}).session.deadline.count(), 2500);
}

TEST_F(OptionsTest, WhereArchivesAreSearchedAndHowSourcesAreTriedAgain) {
  const MountCommand command = Mount({"--search", "/a", "--search=b", "--retry-for=2.5", "--check-rate=1M"});
  ASSERT_EQ(command.searched.size(), 2U);
  EXPECT_EQ(command.searched[0].value, "/a");
  EXPECT_EQ(command.searched[1].value.front(), '/') << "the server leaves its directory";
  EXPECT_EQ(command.retry_for.count(), 2500);
  EXPECT_EQ(command.check_bytes_per_second, uint64_t{1} << 20);
  EXPECT_EQ(Mount().retry_for.count(), 30000);
  EXPECT_EQ(Mount().check_bytes_per_second, uint64_t{64} << 20);
}

TEST_F(OptionsTest, WhereTheIndexIsCopiedTo) {
  environment_ = {{"HOME", "/home/u"}};
  EXPECT_FALSE(Mount().index_cache) << "as the file system of the index says";
  EXPECT_EQ(Mount().default_index_cache, geteuid() == 0 ? "/var/cache/tarn" : "/home/u/.cache/tarn");
  EXPECT_EQ(Mount().index_cache_bytes, uint64_t{8} << 30);
  environment_["XDG_CACHE_HOME"] = "/c";
  EXPECT_EQ(Mount().default_index_cache, geteuid() == 0 ? "/var/cache/tarn" : "/c/tarn");
  EXPECT_EQ(Mount({"--index-cache", "/x"}).index_cache, "/x");
  EXPECT_EQ(Mount({"--index-cache=x"}).index_cache->front(), '/') << "the server leaves its directory";
  EXPECT_EQ(Mount({"--index-cache", ""}).index_cache, "");
  EXPECT_EQ(Mount({"--no-index-cache"}).index_cache, "");
  EXPECT_EQ(Mount({"-o", "index_cache=/x,index_cache_size=2M"}).index_cache_bytes, uint64_t{2} << 20);
  EXPECT_EQ(ExitCodeOf({"/m", "--index", "/i", "--source", "/s", "--no-index-cache", "--index-cache", "/x"}),
            2);
}

TEST_F(OptionsTest, TheRuntimeDirectoryIsTheMachinesOrTheUsers) {
  environment_ = {{"XDG_RUNTIME_DIR", "/run/user/7"}};
  EXPECT_EQ(Mount().runtime_directory, geteuid() == 0 ? "/run/tarn" : "/run/user/7/tarn");
  EXPECT_EQ(Mount({"--runtime-dir", "/r"}).runtime_directory, "/r");
  EXPECT_EQ(Mount({"--runtime-dir", ""}).runtime_directory, "");
}

TEST_F(OptionsTest, OptionsOfMountMeanTheSameAsLongOnes) {
  const MountCommand command =
      Mount({"-o", "access=member,uid=7,gid=8,umask=027,no_allow_other,verify=chunk"});
  EXPECT_EQ(command.tree.access, dataset::AccessMode::kMember);
  EXPECT_EQ(command.tree.uid, 7U);
  EXPECT_EQ(command.tree.gid, 8U);
  EXPECT_EQ(command.tree.umask, 027U);
  EXPECT_FALSE(command.allow_other);
  EXPECT_EQ(command.verify, dataset::VerifyMode::kChunk);
}

TEST_F(OptionsTest, CalledByMountTheSpecIsTheDataset) {
  const auto command = Parsed({"d@2", "/m", "-o", "rw,index=/i,source=/s"}, /*mount_helper=*/true);
  ASSERT_TRUE(command.ok()) << command.status().ToString();
  ASSERT_TRUE(std::get<MountCommand>(*command).dataset);
  EXPECT_EQ(std::get<MountCommand>(*command).dataset->ToString(), "d@2");
  EXPECT_TRUE(IsMountHelper("/sbin/mount.fuse.tarn"));
  EXPECT_FALSE(IsMountHelper("/usr/bin/tarn-mount"));
}

TEST_F(OptionsTest, WithoutADatasetAllAreMeant) {
  for (const char* const spec : {"none", "*", "tarn:*"}) {
    const auto command = Parsed({spec, "/m", "-o", "index=/i,source=/s"}, /*mount_helper=*/true);
    ASSERT_TRUE(command.ok()) << command.status().ToString();
    EXPECT_FALSE(std::get<MountCommand>(*command).dataset) << spec;
  }
}

TEST_F(OptionsTest, SourcesAreTriedInTheirOrder) {
  const MountCommand command = Mount({"--source", "/second"});
  ASSERT_EQ(command.sources.size(), 2U);
  EXPECT_EQ(command.sources[0].value, "/s");
  EXPECT_EQ(command.sources[1].value, "/second");
}

TEST_F(OptionsTest, TheEnvironmentFillsInIndexAndSource) {
  environment_ = {{"TARN_INDEX", "/ei"}, {"TARN_SOURCE", "/es"}};
  const auto command = Parsed({"/m", "--dataset", "d"});
  ASSERT_TRUE(command.ok()) << command.status().ToString();
  EXPECT_EQ(std::get<MountCommand>(*command).index.origin, "TARN_INDEX");
  EXPECT_EQ(std::get<MountCommand>(*command).sources.at(0).value, "/es");
}

TEST_F(OptionsTest, AMistypedOptionGetsTheNearestOne) {
  EXPECT_EQ(ExitCodeOf({"/m", "--acess=open"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("'--access'"));
}

TEST_F(OptionsTest, ValuesOutOfRangeAreUsageErrors) {
  for (const char* bad : {"--umask=8", "--umask=1000", "--access=nobody", "--threads=0", "--verify=maybe",
                          "--identity-interval=-1", "--dataset=a/b", "--uid=x"}) {
    EXPECT_EQ(ExitCodeOf({"/m", "--index=/i", "--source=/s", "--dataset=d", bad}), 2) << bad;
  }
}

TEST_F(OptionsTest, UnmountIsACommandOfItsOwn) {
  const auto command = Parsed({"unmount", "--lazy", "/m"});
  ASSERT_TRUE(command.ok()) << command.status().ToString();
  EXPECT_EQ(std::get<UnmountCommand>(*command).mountpoint, "/m");
  EXPECT_TRUE(std::get<UnmountCommand>(*command).lazy);
  EXPECT_EQ(ExitCodeOf({"unmount"}), 2);
}

TEST_F(OptionsTest, HelpAndVersionArePrinted) {
  EXPECT_EQ(ExitCodeOf({"--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("--identity-interval"));
  EXPECT_EQ(ExitCodeOf({"--version"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("tarn-mount "));
}

}  // namespace
}  // namespace tarn::fuse

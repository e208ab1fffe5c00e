// tarn-bench as its users call it, in this process, without a mount.
#include "bench/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/mount_info.h"
#include "tests/support/scratch.h"

namespace tarn::bench {
namespace {

using testing::HasSubstr;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome RunBench(std::vector<std::string> arguments) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const Program program{
      .arguments = std::move(arguments), .in = &in, .out = &out, .err = &err, .environment = {}};
  const int code = Run(program);
  return {code, out.str(), err.str()};
}

class BenchProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    const Outcome made = RunBench({"make-dataset", scratch_ / "data", "--archives", "2", "--members", "50",
                                   "--size", "1k-20k", "--loose", scratch_ / "loose"});
    ASSERT_EQ(made.code, 0) << made.err;
  }
  std::vector<std::string> Read(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {
        "read",   "--archives", scratch_ / "data", "--compare", "loose=" + (scratch_ / "loose"),
        "--runs", "5",          "--reads",         "100"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  support::Scratch scratch_;
};

TEST_F(BenchProgramTest, AWarmReadMeasuresEveryContestantInEveryRun) {
  const Outcome result =
      RunBench(Read({"--cache", "warm", "--sweep", "threads=1,3", "--json", "--ramp-up", "10"}));
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("valid"), true);
  ASSERT_EQ(json.at("configurations").size(), 2U);
  for (const auto& configuration : json.at("configurations")) {
    ASSERT_EQ(configuration.at("contestants").size(), 2U);
    for (const auto& contestant : configuration.at("contestants")) {
      ASSERT_EQ(contestant.at("runs").size(), 5U);
      for (const auto& run : contestant.at("runs")) {
        EXPECT_EQ(run.at("members"), 90);
        EXPECT_EQ(run.at("ramp_members"), 10);
        EXPECT_EQ(run.at("errors"), 0);
      }
    }
  }
}

TEST_F(BenchProgramTest, ProcessesReadLikeThreadsDo) {
  const Outcome result = RunBench(Read({"--cache", "warm", "--processes", "2", "--threads", "2", "--json"}));
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("configurations").at(0).at("processes"), 2);
  EXPECT_EQ(json.at("configurations").at(0).at("contestants").at(1).at("runs").at(0).at("members"), 98);
}

TEST_F(BenchProgramTest, BlocksAndStreamsAndHotSetsAreRead) {
  const Outcome result = RunBench(Read({"--cache", "warm", "--sweep", "unit=block,stream", "--sweep",
                                        "distribution=uniform,zipf", "--read-size", "4k", "--json"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out).at("configurations").size(), 4U);
}

TEST_F(BenchProgramTest, AReportIsWrittenInAllItsForms) {
  const Outcome result = RunBench(Read({"--cache", "warm", "--output", scratch_ / "report"}));
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* name : {"report.json", "runs.csv", "summary.md", "plot.svg"})
    EXPECT_FALSE(support::Scratch::Read(scratch_ / ("report/" + std::string(name))).empty()) << name;
  EXPECT_EQ(support::Scratch::Read(scratch_ / "report/summary.md"), result.out);
}

TEST_F(BenchProgramTest, ACommandGetsTheListAndIsTimed) {
  const Outcome result = RunBench(
      Read({"--cache", "warm", "--compare", "cmd=test $(wc -l < $TARN_BENCH_LIST) -eq 100", "--json"}));
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  const auto& command = json.at("configurations").at(0).at("contestants").at(2);
  EXPECT_EQ(command.at("kind"), "command");
  EXPECT_EQ(command.at("runs").size(), 5U);
  const Outcome failing = RunBench(Read({"--cache", "warm", "--compare", "cmd=false"}));
  EXPECT_NE(failing.code, 0);
}

TEST_F(BenchProgramTest, AMissingFileOfAContestantFailsBeforeAnythingIsMeasured) {
  std::filesystem::remove_all(scratch_ / "loose");
  const Outcome result = RunBench(Read({"--cache", "warm"}));
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("loose"));
}

TEST_F(BenchProgramTest, AContestantWithOtherBytesIsFound) {
  for (const auto& file : std::filesystem::recursive_directory_iterator(scratch_ / "loose")) {
    if (!file.is_regular_file()) continue;
    std::string bytes = support::Scratch::Read(file.path().string());
    bytes[0] = static_cast<char>(bytes[0] ^ 1);
    scratch_.Write(std::filesystem::relative(file.path(), scratch_.path()).string(), bytes);
  }
  const Outcome result = RunBench(Read({"--cache", "warm"}));
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("other bytes"));
}

TEST(BenchProgramColdTest, AColdRunThatNothingProvesIsSaidAndFails) {
  const auto mount = FindMount("/dev/shm");
  if (!mount.ok() || mount->type != "tmpfs") GTEST_SKIP() << "/dev/shm is no tmpfs here";
  std::string place = "/dev/shm/tarn-bench-test-XXXXXX";
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  EXPECT_EQ(RunBench({"make-dataset", place + "/d", "--members", "20", "--size", "1k"}).code, 0);
  const Outcome result = RunBench({"read", "--archives", place + "/d", "--cache", "cold", "--reads", "20",
                                   "--runs", "1", "--no-drop-caches"});
  std::filesystem::remove_all(place);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("INVALID"));
  EXPECT_THAT(result.err, HasSubstr("fewer than 5"));
  EXPECT_THAT(result.out, HasSubstr("not proven cold"));
}

TEST(BenchProgramUsageTest, MistypedCommandsGetTheNearestOne) {
  const Outcome result = RunBench({"reed"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'read'?"));
  EXPECT_EQ(RunBench({}).code, 2);
  EXPECT_EQ(RunBench({"--help"}).code, 0);
  EXPECT_THAT(RunBench({"--version"}).out, HasSubstr("tarn-bench "));
}

TEST(BenchProgramUsageTest, ExactlyOnePlaceNamesTheMembers) {
  EXPECT_EQ(RunBench({"read"}).code, 2);
  EXPECT_EQ(RunBench({"read", "--archives", "a", "--files", "b"}).code, 2);
  EXPECT_EQ(RunBench({"fio", "--archives", "/nowhere/at/all"}).code, 3);
}

}  // namespace
}  // namespace tarn::bench

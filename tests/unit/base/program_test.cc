#include "tarn/base/program.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tarn {
namespace {

TEST(ProgramTest, UsageExitsWith2AndTheMachineWith3) {
  EXPECT_EQ(ExitCodeOf(Status()), ExitCode::kOk);
  EXPECT_EQ(ExitCodeOf(Status(ErrorCode::kInvalidArgument, "x")), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(Status(ErrorCode::kNoSpace, "x")), ExitCode::kEnvironment);
}

TEST(ProgramTest, AnEmptyVariableCountsAsUnset) {
  const Program program{
      .arguments = {}, .in = nullptr, .out = nullptr, .err = nullptr, .environment = {{"A", ""}, {"B", "b"}}};
  EXPECT_EQ(program.Environment("A"), std::nullopt);
  EXPECT_EQ(program.Environment("B"), "b");
  EXPECT_EQ(program.Environment("C"), std::nullopt);
}

TEST(ProgramTest, FailPrintsTheErrorAndWhatHelps) {
  std::ostringstream err;
  const Program program{.arguments = {}, .in = nullptr, .out = nullptr, .err = &err, .environment = {}};
  EXPECT_EQ(program.Fail("tarn", Status(ErrorCode::kIo, "no disk").WithHint("plug it in")), 3);
  EXPECT_EQ(err.str(), "tarn: error: no disk\ntarn: help: plug it in\n");
}

TEST(ProgramTest, AMistypedWordFindsItsNeighbour) {
  const std::vector<std::string> words = {"imagenet", "coco", "laion"};
  EXPECT_EQ(NearestMatch("imagnet", words), "imagenet");
  EXPECT_EQ(NearestMatch("cocoo", words), "coco");
  EXPECT_EQ(NearestMatch("openimages", words), std::nullopt);
  EXPECT_EQ(NearestMatch("x", {}), std::nullopt);
}

}  // namespace
}  // namespace tarn

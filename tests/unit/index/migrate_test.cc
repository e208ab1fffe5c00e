#include "tarn/index/migrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/index/made_up_root.h"

namespace tarn::index {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MigrateTest : public testing::Test {
 protected:
  std::string Format() { return support::Scratch::Read(made_.path + "/format"); }
  MigrationStep Step(uint32_t from, Status outcome = Status::Ok()) {
    return {.from = from,
            .summary = "step " + std::to_string(from),
            .features = uint64_t{from} << 4,
            .run = [this, from, outcome](const std::string& root) {
              EXPECT_EQ(root, made_.path);
              ran_.push_back(from);
              formats_.push_back(Format());
              return outcome;
            }};
  }

  MadeUpRoot made_;
  std::vector<uint32_t> ran_;
  std::vector<std::string> formats_;
};

TEST_F(MigrateTest, ARootOfTheNewestFormatHasNothingToDo) {
  const std::string before = Format();
  const auto report = Migrate(*made_.root, KnownMigrations(), kIndexFormatVersion, false);
  ASSERT_OK(report);
  EXPECT_EQ(report->from, 1U);
  EXPECT_EQ(report->to, 1U);
  EXPECT_THAT(report->steps, IsEmpty());
  EXPECT_EQ(Format(), before);
}

TEST_F(MigrateTest, KnownStepsLeadFromFormatOneToTheNewest) {
  uint32_t version = 1;
  for (const MigrationStep& step : KnownMigrations()) {
    EXPECT_EQ(step.from, version++);
    EXPECT_FALSE(step.summary.empty());
    EXPECT_TRUE(step.run);
  }
  EXPECT_EQ(version, kIndexFormatVersion);
}

TEST_F(MigrateTest, StepsRunInOrderAndTheFormatFileFollowsEach) {
  const std::vector<MigrationStep> steps = {Step(2), Step(1)};
  const auto report = Migrate(*made_.root, steps, 3, false);
  ASSERT_OK(report);
  EXPECT_EQ(report->to, 3U);
  EXPECT_THAT(report->steps, ElementsAre("step 1", "step 2"));
  EXPECT_THAT(ran_, ElementsAre(1, 2));
  EXPECT_THAT(formats_, ElementsAre(HasSubstr("format 1\n"), HasSubstr("format 2\n")));
  EXPECT_EQ(Format(), "tarn-index-root\nformat 3\nfeatures 30\nuuid " + made_.root->uuid() + "\n");
  // This build refuses it from now on, with both versions.
  const auto opened = IndexRoot::Open(made_.path);
  EXPECT_EQ(opened.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(opened.status().message(), HasSubstr("format 3"));
}

TEST_F(MigrateTest, AStepThatFailsLeavesTheFormatOfTheOneBefore) {
  const std::vector<MigrationStep> steps = {Step(1), Step(2, Status(ErrorCode::kNoSpace, "full"))};
  const auto report = Migrate(*made_.root, steps, 3, false);
  EXPECT_EQ(report.code(), ErrorCode::kNoSpace);
  EXPECT_THAT(report.status().message(), HasSubstr("raising the format to 3: full"));
  EXPECT_THAT(Format(), HasSubstr("format 2\nfeatures 10\n"));
}

TEST_F(MigrateTest, ADryRunNamesTheStepsAndRunsNone) {
  const std::string before = Format();
  const std::vector<MigrationStep> steps = {Step(1)};
  const auto report = Migrate(*made_.root, steps, 2, true);
  ASSERT_OK(report);
  EXPECT_THAT(report->steps, ElementsAre("step 1"));
  EXPECT_EQ(report->to, 2U);
  EXPECT_THAT(ran_, IsEmpty());
  EXPECT_EQ(Format(), before);
}

TEST_F(MigrateTest, NobodyMayPublishMeanwhile) {
  auto publisher = IndexRoot::Open(made_.path);
  ASSERT_OK(publisher);
  ASSERT_OK((*publisher)->MakeStagingDirectory("publish"));
  const std::vector<MigrationStep> steps = {Step(1)};
  const auto report = Migrate(*made_.root, steps, 2, false);
  EXPECT_EQ(report.code(), ErrorCode::kBusy);
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(MigrateTest, ATableWithAGapIsADefectAndChangesNothingBehindIt) {
  const std::vector<MigrationStep> steps = {Step(1)};
  EXPECT_EQ(Migrate(*made_.root, steps, 3, false).code(), ErrorCode::kInternal);
  EXPECT_THAT(Format(), HasSubstr("format 2\n"));
}

}  // namespace
}  // namespace tarn::index

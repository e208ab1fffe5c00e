// Which share a worker takes, from what engines say.
#include "indexer/share_choice.h"

#include <gtest/gtest.h>

#include <map>

namespace tarn::indexer {
namespace {

constexpr uint32_t kShares = 8;
using Variables = std::map<std::string, std::string>;

Result<ShareChoice> Choose(const Variables& variables,
                           const std::optional<std::string>& option = std::nullopt) {
  return ChooseShare(
      option,
      [&variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end() || found->second.empty()) return std::nullopt;
        return found->second;
      },
      kShares);
}

Variables Array(const std::string& id, const std::string& count, const std::string& first,
                const std::string& last, const std::string& step) {
  return {{"SLURM_ARRAY_TASK_ID", id},    {"SLURM_ARRAY_TASK_COUNT", count}, {"SLURM_ARRAY_TASK_MIN", first},
          {"SLURM_ARRAY_TASK_MAX", last}, {"SLURM_ARRAY_TASK_STEP", step},   {"SLURM_PROCID", "0"},
          {"SLURM_NTASKS", "1"}};
}

void ExpectShare(const Result<ShareChoice>& choice, uint32_t share) {
  ASSERT_TRUE(choice.ok()) << choice.status().ToString();
  EXPECT_EQ(choice->share, share);
}

// A usage error that names every one of `words`.
void ExpectContradiction(const Result<ShareChoice>& choice, const std::vector<std::string>& words) {
  ASSERT_EQ(choice.code(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(choice.status().hint().empty());
  for (const std::string& word : words) {
    EXPECT_NE(choice.status().message().find(word), std::string::npos)
        << word << " in " << choice.status().message();
  }
}

TEST(ShareChoiceTest, TheOptionBeatsTheEnvironment) {
  ExpectShare(Choose({{"JOB_COMPLETION_INDEX", "5"}}, "3/8"), 3);
  ExpectShare(Choose(Array("2", "8", "1", "8", "1"), "8/8"), 8);
}

TEST(ShareChoiceTest, AnOptionOfAnotherPlanNamesBothNumbers) {
  ExpectContradiction(Choose({}, "3/9"), {"9", "8"});
}

TEST(ShareChoiceTest, AnOptionThatIsNoShareIsRefused) {
  for (const char* const text : {"0/8", "9/8", "3", "/8", "3/", "a/8", "3/8x", "-1/8", ""}) {
    ExpectContradiction(Choose({}, text), {"I/N"});
  }
}

TEST(ShareChoiceTest, AnIndexedJobCountsFromZero) {
  ExpectShare(Choose({{"JOB_COMPLETION_INDEX", "0"}}), 1);
  ExpectShare(Choose({{"JOB_COMPLETION_INDEX", "7"}}), 8);
  ExpectContradiction(Choose({{"JOB_COMPLETION_INDEX", "8"}}), {"JOB_COMPLETION_INDEX=8", "share 9", "8"});
  ExpectContradiction(Choose({{"JOB_COMPLETION_INDEX", "one"}}), {"JOB_COMPLETION_INDEX='one'"});
}

TEST(ShareChoiceTest, AWholeArrayMayBeginAnywhereAndHaveAnyStep) {
  ExpectShare(Choose(Array("1", "8", "1", "8", "1")), 1);
  ExpectShare(Choose(Array("8", "8", "1", "8", "1")), 8);
  ExpectShare(Choose(Array("0", "8", "0", "7", "1")), 1);
  ExpectShare(Choose(Array("7", "8", "0", "7", "1")), 8);
  ExpectShare(Choose(Array("14", "8", "10", "24", "2")), 3);
}

TEST(ShareChoiceTest, InASmallerArrayTheTaskIsTheShare) {
  ExpectShare(Choose(Array("7", "2", "3", "7", "1")), 7);
  ExpectShare(Choose(Array("3", "1", "3", "3", "1")), 3);
  ExpectContradiction(Choose(Array("9", "1", "9", "9", "1")), {"SLURM_ARRAY_TASK_ID=9", "8"});
  ExpectContradiction(Choose(Array("0", "1", "0", "0", "1")), {"SLURM_ARRAY_TASK_ID=0", "8"});
}

TEST(ShareChoiceTest, AListOfAsManyTasksIsTakenByNumber) {
  // --array=1-7,9: eight tasks with a gap, so it is no row of eight.
  ExpectShare(Choose(Array("5", "8", "1", "9", "1")), 5);
  ExpectContradiction(Choose(Array("9", "8", "1", "9", "1")), {"SLURM_ARRAY_TASK_ID=9"});
}

TEST(ShareChoiceTest, AnArrayOfMoreTasksThanSharesNamesBothNumbers) {
  ExpectContradiction(Choose(Array("1", "10", "1", "10", "1")), {"SLURM_ARRAY_TASK_COUNT=10", "8"});
}

TEST(ShareChoiceTest, SeveralTasksInOneElementOfAnArrayAreRefused) {
  Variables variables = Array("1", "8", "1", "8", "1");
  variables["SLURM_PROCID"] = "2";
  ExpectContradiction(Choose(variables), {"SLURM_ARRAY_TASK_ID=1", "SLURM_PROCID=2"});
}

TEST(ShareChoiceTest, AStepOfSrunTakesItsTask) {
  ExpectShare(Choose({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}), 1);
  ExpectShare(Choose({{"SLURM_PROCID", "7"}, {"SLURM_NTASKS", "8"}}), 8);
  ExpectContradiction(Choose({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}), {"SLURM_NTASKS=1", "8"});
  ExpectContradiction(Choose({{"SLURM_PROCID", "9"}}), {"SLURM_PROCID=9", "8"});
}

TEST(ShareChoiceTest, TwoEnginesMayAgreeAndMustNotDiffer) {
  Variables variables = Array("3", "8", "1", "8", "1");
  variables["JOB_COMPLETION_INDEX"] = "2";
  ExpectShare(Choose(variables), 3);
  variables["JOB_COMPLETION_INDEX"] = "3";
  ExpectContradiction(Choose(variables), {"JOB_COMPLETION_INDEX=3", "SLURM_ARRAY_TASK_ID=3"});
}

TEST(ShareChoiceTest, NobodySaysIsAnErrorThatSaysWhatHelps) {
  ExpectContradiction(Choose({}), {"--share", "JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID", "SLURM_PROCID"});
}

}  // namespace
}  // namespace tarn::indexer

#include "tarn/index/holds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tarn/base/timestamp.h"
#include "tests/support/scratch.h"
#include "tests/unit/index/archives.h"

namespace tarn::index {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kNow = 1'790'000'000;

class HoldsTest : public testing::Test {
 protected:
  support::Scratch scratch_;
  const Holds holds_{scratch_ / "holds"};
};

TEST_F(HoldsTest, WhatIsPutIsListedUntilItEnds) {
  EXPECT_THAT(*holds_.List(kNow), IsEmpty());
  const Hold hold{"set", 7, "train-42", kNow + 60, kNow};
  ASSERT_OK(holds_.Put(hold));
  EXPECT_THAT(*holds_.List(kNow), ElementsAre(hold));
  EXPECT_THAT(*holds_.List(kNow + 59), ElementsAre(hold));
  EXPECT_THAT(*holds_.List(kNow + 60), IsEmpty());
  EXPECT_THAT(*holds_.On("set", 7, kNow), ElementsAre(hold));
  EXPECT_THAT(*holds_.On("set", 8, kNow), IsEmpty());
  EXPECT_THAT(*holds_.On("se", 7, kNow), IsEmpty());
  EXPECT_THAT(hold.ToString(), HasSubstr("set@7 is held by job 'train-42' until 2026-"));
}

TEST_F(HoldsTest, HoldingAgainRenewsAndKeepsWhenItBegan) {
  ASSERT_OK(holds_.Put({"set", 7, "train", kNow + 60, kNow}));
  ASSERT_OK(holds_.Put({"set", 7, "train", kNow + 900, kNow + 30}));
  EXPECT_THAT(*holds_.List(kNow), ElementsAre(Hold{"set", 7, "train", kNow + 900, kNow}));
}

TEST_F(HoldsTest, JobsOfAnyNameHoldBesideEachOther) {
  for (const char* const job : {"a/b", "a b", "a%2Fb", "a"}) {
    ASSERT_OK(holds_.Put({"set", 7, job, kNow + 60, kNow}));
  }
  EXPECT_THAT(*holds_.List(kNow), SizeIs(4));
  ASSERT_OK(holds_.Release("set", 7, "a/b"));
  EXPECT_THAT(*holds_.List(kNow), SizeIs(3));
  EXPECT_EQ(holds_.Release("set", 7, "a/b").code(), ErrorCode::kNotFound);
  EXPECT_EQ(holds_.Put({"set", 7, std::string(300, 'x'), kNow, kNow}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(holds_.Put({"../set", 7, "x", kNow, kNow}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(holds_.Put({"set", 0, "x", kNow, kNow}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(holds_.Put({"set", 7, "", kNow, kNow}).code(), ErrorCode::kInvalidArgument);
}

TEST_F(HoldsTest, AFileThatAScriptWroteHolds) {
  scratch_.Write("holds/mine.json",
                 R"({"until": "2030-01-01T00:00:00+01:00", "job": "by hand", "generation": 3,
                     "dataset": "set", "why": "audit"})");
  const auto holds = holds_.On("set", 3, kNow);
  ASSERT_OK(holds);
  ASSERT_THAT(*holds, SizeIs(1));
  EXPECT_EQ(holds->front().until, *ParseTimestamp("2029-12-31T23:00:00Z"));
}

TEST_F(HoldsTest, AFileThatCannotBeUnderstoodIsNamedAndMayHoldAnything) {
  ASSERT_OK(holds_.Put({"set", 7, "train", kNow + 60, kNow}));
  for (const char* const text :
       {"", "{", "[]", "7", R"({"dataset": "set", "generation": 7, "job": "x"})",
        R"({"dataset": "set", "generation": 7, "job": "x", "until": "soon"})",
        R"({"dataset": "set", "generation": -7, "job": "x", "until": "2030-01-01T00:00:00Z"})",
        R"({"dataset": "set", "generation": "7", "job": "x", "until": "2030-01-01T00:00:00Z"})",
        R"({"dataset": "a/b", "generation": 7, "job": "x", "until": "2030-01-01T00:00:00Z"})",
        R"({"dataset": "set", "generation": 7, "job": "", "until": "2030-01-01T00:00:00Z"})"}) {
    scratch_.Write("holds/odd.json", text);
    const auto holds = holds_.List(kNow);
    EXPECT_EQ(holds.code(), ErrorCode::kCorrupt) << text;
    EXPECT_THAT(holds.status().message(), HasSubstr("odd.json")) << text;
    EXPECT_THAT(*holds_.RemoveExpired(kNow), IsEmpty());
    EXPECT_TRUE(io::Exists(scratch_ / "holds/odd.json"));
  }
}

TEST_F(HoldsTest, WhatIsBeingWrittenIsPassedOver) {
  scratch_.Write("holds/.set@7--x.json.00.new", "{");
  EXPECT_THAT(*holds_.List(kNow), IsEmpty());
}

TEST_F(HoldsTest, ExpiredHoldsGoAndOthersStay) {
  const Hold ended{"set", 6, "old", kNow - 1, kNow - 100};
  ASSERT_OK(holds_.Put(ended));
  ASSERT_OK(holds_.Put({"set", 7, "new", kNow + 1, kNow}));
  EXPECT_THAT(*holds_.RemoveExpired(kNow), ElementsAre(ended));
  EXPECT_THAT(*io::ListDirectory(scratch_ / "holds"), ElementsAre("set@7--new.json"));
}

}  // namespace
}  // namespace tarn::index

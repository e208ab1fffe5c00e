#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tarn/index/generation_reader.h"
#include "tests/unit/index/made_up_root.h"

namespace tarn::index {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kNow = 1'790'000'000;

class RetiredTest : public testing::Test {
 protected:
  RetiredTest() {
    const ArchiveId id = made_.AddBundle(1);
    for (int i = 0; i < 3; ++i) made_.Publish("set", {id});
  }
  IndexRoot& root() { return *made_.root; }
  std::string Pointer() { return *io::ReadFile(made_.path + "/datasets/set/LATEST"); }

  MadeUpRoot made_;
};

TEST_F(RetiredTest, ARetiredGenerationLeavesTheListingAndStillResolvesByNumberAndDigest) {
  ASSERT_OK(root().RetireGeneration("set", 2, kNow));
  EXPECT_THAT(*root().Generations("set"), ElementsAre(1, 3));
  EXPECT_THAT(*root().AllGenerations("set"), ElementsAre(1, 2, 3));
  EXPECT_THAT(*root().RetiredGenerations("set"), ElementsAre(2));
  EXPECT_EQ(*root().RetiredSince("set", 2), kNow);
  EXPECT_EQ(*root().Resolve(*DatasetReference::Parse("set@2")), 2U);
  // All three have one digest: a listed one is meant.
  EXPECT_EQ(*root().Resolve(*DatasetReference::Parse("set@0123456789abcdeffedcba9876543210")), 3U);
  ASSERT_OK(root().RetireGeneration("set", 3, kNow));
  ASSERT_OK(root().RetireGeneration("set", 1, kNow));
  EXPECT_EQ(*root().Resolve(*DatasetReference::Parse("set@0123456789abcdeffedcba9876543210")), 3U);
}

TEST_F(RetiredTest, RetiringTheNewestMovesLatestToTheNewestThatIsLeft) {
  ASSERT_OK(root().RetireGeneration("set", 3, kNow));
  EXPECT_EQ(*root().Latest("set"), 2U);
  EXPECT_EQ(Pointer(), "2\n");
  ASSERT_OK(root().RestoreGeneration("set", 3));
  EXPECT_EQ(*root().Latest("set"), 3U);
  EXPECT_EQ(Pointer(), "3\n");
}

TEST_F(RetiredTest, LatestIsRightAlsoWhenWhoRetiredDiedBeforeThePointer) {
  const std::string pointer = Pointer();
  ASSERT_OK(root().RetireGeneration("set", 3, kNow));
  ASSERT_OK(io::WriteFileAtomically(made_.path + "/datasets/set/LATEST", pointer));
  EXPECT_EQ(*root().Latest("set"), 2U);
}

TEST_F(RetiredTest, ADatasetWhoseGenerationsAreAllRetiredSaysSoAndHowToComeBack) {
  for (const uint32_t generation : {1, 2, 3}) ASSERT_OK(root().RetireGeneration("set", generation, kNow));
  EXPECT_THAT(*root().Generations("set"), IsEmpty());
  EXPECT_FALSE(io::Exists(made_.path + "/datasets/set/LATEST"));
  const auto latest = root().Latest("set");
  EXPECT_EQ(latest.code(), ErrorCode::kNotFound);
  EXPECT_THAT(latest.status().message(), HasSubstr("retired"));
  EXPECT_THAT(latest.status().hint(), HasSubstr("tarn-index retire set@3 --undo"));
}

TEST_F(RetiredTest, WhoHasItOpenReadsOn) {
  const auto reader = GenerationReader::Open(root().GenerationPath("set", 2));
  ASSERT_OK(reader);
  ASSERT_OK(root().RetireGeneration("set", 2, kNow));
  EXPECT_OK((*reader)->CheckWhole());
  EXPECT_OK(GenerationReader::Open(root().GenerationPath("set", 2)));
}

TEST_F(RetiredTest, RetiringTwiceKeepsTheEarlierMoment) {
  ASSERT_OK(root().RetireGeneration("set", 1, kNow));
  ASSERT_OK(root().RetireGeneration("set", 1, kNow + 100));
  EXPECT_EQ(*root().RetiredSince("set", 1), kNow);
}

TEST_F(RetiredTest, WhatIsNotThereIsNeitherRetiredNorListedAgain) {
  EXPECT_EQ(root().RetireGeneration("set", 4, kNow).code(), ErrorCode::kNotFound);
  EXPECT_EQ(root().RetireGeneration("sett", 1, kNow).code(), ErrorCode::kNotFound);
  EXPECT_EQ(root().RestoreGeneration("set", 4).code(), ErrorCode::kNotFound);
  const Status listed = root().RestoreGeneration("set", 1);
  EXPECT_EQ(listed.code(), ErrorCode::kNotFound);
  EXPECT_THAT(listed.message(), HasSubstr("not retired"));
  EXPECT_EQ(root().RetiredSince("set", 1).code(), ErrorCode::kNotFound);
}

TEST_F(RetiredTest, AMarkerThatSaysNoMomentIsReported) {
  ASSERT_OK(root().RetireGeneration("set", 1, kNow));
  ASSERT_OK(io::WriteFileAtomically(made_.path + "/datasets/set/retired/1", "yesterday\n"));
  const auto since = root().RetiredSince("set", 1);
  EXPECT_EQ(since.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(since.status().message(), HasSubstr("datasets/set/retired/1"));
}

}  // namespace
}  // namespace tarn::index

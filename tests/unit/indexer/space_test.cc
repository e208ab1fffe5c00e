#include "indexer/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tarn/index/usage.h"
#include "tests/support/scratch.h"

namespace tarn::indexer {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class SpaceTest : public ::testing::Test {
 protected:
  void AddUnread(const std::string& path, uint64_t bytes) {
    ScannedFile file{.path = path, .stat = {}};
    file.stat.identity.size = bytes;
    unread_.push_back(std::move(file));
  }
  void AddKnown(const std::string& path, uint64_t bytes, uint64_t members) {
    dataset::PublishedFile file;
    file.path = path;
    file.id.size = bytes;
    file.facts.members = members;
    known_.push_back(std::move(file));
  }
  SpaceNeed Estimate(const index::GenerationFacts* newest = nullptr) const {
    return EstimateSpace({.unread = &unread_, .known = &known_, .newest = newest, .selection = &selection_});
  }

  std::vector<ScannedFile> unread_;
  std::vector<dataset::PublishedFile> known_;
  const Selection selection_;
};

TEST_F(SpaceTest, AnArchiveNeedsItsChecksumsAndItsMembers) {
  AddUnread("a.tar", 1024 * kMiB);
  const SpaceNeed need = Estimate();
  EXPECT_EQ(need.files, 1U);
  EXPECT_EQ(need.bytes_to_read, 1024 * kMiB);
  // 8,192 chunks of 8 bytes and 16,384 members of 40.
  EXPECT_EQ(need.bundle_bytes, 8192U * 8 + 16384U * 40 + 1400);
}

TEST_F(SpaceTest, TheNewestGenerationTellsHowLargeMembersAre) {
  AddUnread("a.tar", 1024 * kMiB);
  index::GenerationFacts newest;
  newest.bytes = 100 * kMiB;
  newest.members = 100 * 1024;  // one for each KiB
  EXPECT_EQ(Estimate(&newest).bundle_bytes, 8192U * 8 + 1024U * 1024 * 40 + 1400);
}

TEST_F(SpaceTest, ALooseFileHasNoMembers) {
  AddUnread("labels.csv", 1024 * kMiB);
  EXPECT_EQ(Estimate().bundle_bytes, 8192U * 8 + 1400);
}

TEST_F(SpaceTest, WhatIsKnownCostsARowOfTheNextGeneration) {
  AddKnown("a.tar", 1024 * kMiB, 1'000'000);
  AddKnown("b.tar", 1024 * kMiB, 1'000'000);
  index::GenerationFacts newest;
  newest.archives = 3;  // one is gone
  const SpaceNeed need = Estimate(&newest);
  EXPECT_EQ(need.bundle_bytes, 0U);
  EXPECT_GT(need.generation_bytes, 0U);
  EXPECT_LT(need.generation_bytes, 10'000U);
}

TEST_F(SpaceTest, WhereNothingChangedNothingIsNeeded) {
  AddKnown("a.tar", kMiB, 10);
  index::GenerationFacts newest;
  newest.archives = 1;
  EXPECT_EQ(Estimate(&newest).total(), 0U);
}

TEST_F(SpaceTest, BundlesOfManySmallArchivesArePackedToo) {
  for (int i = 0; i < 1000; ++i) AddKnown(std::to_string(i), kMiB, 100);
  const uint64_t linked = Estimate().generation_bytes;
  AddKnown("one more", kMiB, 100);
  EXPECT_GT(Estimate().generation_bytes, linked + 1000U * 100 * 40);
}

TEST_F(SpaceTest, MoreThanIsFreeIsRefusedWithBothFiguresAndWhatHelps) {
  const support::Scratch scratch;
  const auto root = index::IndexRoot::OpenOrCreate(scratch / "ix");
  ASSERT_TRUE(root.ok());
  SpaceNeed need{
      .files = 7, .bytes_to_read = 5 * kMiB, .bundle_bytes = uint64_t{1} << 60, .generation_bytes = 0};
  const Status status = CheckSpace(**root, "img", need);
  EXPECT_EQ(status.code(), ErrorCode::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr("5.0 MiB in 7 files needs about 1.0 EiB"));
  EXPECT_THAT(status.message(), HasSubstr("has "));
  EXPECT_THAT(status.message(), HasSubstr(" free"));
  EXPECT_THAT(status.hint(), HasSubstr("tarn-index gc --index " + (scratch / "ix")));
  need.bundle_bytes = 1;
  EXPECT_TRUE(CheckSpace(**root, "img", need).ok());
}

TEST_F(SpaceTest, MoreThanTheQuotaIsRefusedBeforeAnythingIsRead) {
  const support::Scratch scratch;
  const auto root = index::IndexRoot::OpenOrCreate(scratch / "ix");
  ASSERT_TRUE(root.ok());
  ASSERT_TRUE(index::SetQuota(root->get(), "img", kMiB).ok());
  const SpaceNeed need{
      .files = 7, .bytes_to_read = 5 * kMiB, .bundle_bytes = 2 * kMiB, .generation_bytes = 0};
  const Status status = CheckSpace(**root, "img", need);
  EXPECT_EQ(status.code(), ErrorCode::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr("nothing was read yet"));
  EXPECT_THAT(status.message(), HasSubstr("may take 1.0 MiB"));
  EXPECT_THAT(status.hint(), HasSubstr("tarn-index quota img"));
  EXPECT_TRUE(CheckSpace(**root, "other", need).ok());
}

}  // namespace
}  // namespace tarn::indexer

#include "tarn/index/usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tarn/index/survey.h"
#include "tests/unit/index/made_up_root.h"

namespace tarn::index {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class UsageTest : public testing::Test {
 protected:
  IndexRoot& root() { return *made_.root; }
  RootUsage Measure() {
    auto usage = MeasureUsage(root());
    EXPECT_OK(usage);
    return usage.ok() ? *usage : RootUsage{};
  }
  uint64_t BundleBytes(const ArchiveId& id) { return io::LookAt(root().BundlePath(id))->bytes; }
  // Bytes of a generation's directory, whatever names they have elsewhere.
  uint64_t DirectoryBytes(const std::string& dataset, uint32_t generation) {
    uint64_t bytes = 0;
    EXPECT_OK(io::WalkFiles(root().GenerationPath(dataset, generation),
                            [&](const std::string&, const io::FileFacts& facts) {
                              bytes += facts.bytes;
                              return Status::Ok();
                            }));
    return bytes;
  }

  MadeUpRoot made_;
};

TEST_F(UsageTest, AnEmptyRootTakesItsFormatFile) {
  const RootUsage usage = Measure();
  EXPECT_THAT(usage.datasets, IsEmpty());
  EXPECT_EQ(usage.total_bytes, io::LookAt(made_.path + "/format")->bytes);
}

TEST_F(UsageTest, LinkedBytesAreCountedOnceAndToldApartFromExclusiveOnes) {
  const ArchiveId old = made_.AddBundle(1);
  const ArchiveId shared = made_.AddBundle(2);
  made_.Publish("set", {old, shared});
  made_.Publish("set", {shared});
  const RootUsage usage = Measure();
  ASSERT_THAT(usage.datasets, SizeIs(1));
  ASSERT_THAT(usage.datasets[0].generations, SizeIs(2));
  const auto& [first, second] = std::tie(usage.datasets[0].generations[0], usage.datasets[0].generations[1]);
  EXPECT_EQ(first.bytes, DirectoryBytes("set", 1));
  EXPECT_EQ(second.bytes, DirectoryBytes("set", 2));
  EXPECT_EQ(first.exclusive_bytes, first.bytes - BundleBytes(shared));
  EXPECT_EQ(second.exclusive_bytes, second.bytes - BundleBytes(shared));
  EXPECT_EQ(usage.datasets[0].bytes, first.bytes + second.bytes - BundleBytes(shared));
  EXPECT_EQ(usage.datasets[0].exclusive_bytes, usage.datasets[0].bytes);
  EXPECT_EQ(usage.unreferenced_bundles, 0U);
  EXPECT_EQ(*DatasetBytes(root(), "set"), usage.datasets[0].bytes);
}

TEST_F(UsageTest, APackedBundleBelongsToTheGenerationsThatNameIt) {
  const ArchiveId id = made_.AddBundle(1);
  made_.Publish("set", {id, made_.AddBundle(2)}, false);
  const RootUsage usage = Measure();
  EXPECT_EQ(usage.datasets[0].bytes, DirectoryBytes("set", 1) + usage.bundle_bytes);
  EXPECT_EQ(usage.unreferenced_bundles, 0U);
  EXPECT_EQ(*DatasetBytes(root(), "set"), usage.datasets[0].bytes);
}

TEST_F(UsageTest, WhatTwoDatasetsNeedIsExclusiveToNeither) {
  const ArchiveId shared = made_.AddBundle(1);
  made_.Publish("a", {shared});
  made_.Publish("b", {shared, made_.AddBundle(2)});
  const RootUsage usage = Measure();
  ASSERT_THAT(usage.datasets, SizeIs(2));
  for (const DatasetUsage& dataset : usage.datasets) {
    EXPECT_EQ(dataset.exclusive_bytes + BundleBytes(shared), dataset.bytes) << dataset.dataset;
  }
}

TEST_F(UsageTest, UnreferencedBundlesAndStagingHaveLinesOfTheirOwn) {
  const ArchiveId id = made_.AddBundle(1);
  ASSERT_OK(io::MakeDirectories(made_.path + "/staging/journals/set"));
  ASSERT_OK(io::WriteFileAtomically(made_.path + "/staging/journals/set/x", "12345"));
  const RootUsage usage = Measure();
  EXPECT_EQ(usage.unreferenced_bundles, 1U);
  EXPECT_EQ(usage.unreferenced_bytes, BundleBytes(id));
  EXPECT_EQ(usage.staging_bytes, 5U);
}

TEST_F(UsageTest, ARetiredGenerationIsCountedAndMarked) {
  made_.Publish("set", {made_.AddBundle(1)});
  ASSERT_OK(root().RetireGeneration("set", 1, 0));
  EXPECT_TRUE(Measure().datasets[0].generations[0].retired);
}

// ---- Quota

TEST_F(UsageTest, AQuotaIsKeptLiftedAndMayStandBeforeTheFirstPublish) {
  EXPECT_EQ(*ReadQuota(root(), "set"), std::nullopt);
  ASSERT_OK(SetQuota(&root(), "set", 1000));
  EXPECT_EQ(*ReadQuota(root(), "set"), 1000U);
  EXPECT_THAT(*root().Generations("set"), IsEmpty());
  ASSERT_OK(SetQuota(&root(), "set", std::nullopt));
  EXPECT_EQ(*ReadQuota(root(), "set"), std::nullopt);
  EXPECT_EQ(SetQuota(&root(), "no/name", 1).code(), ErrorCode::kInvalidArgument);
}

TEST_F(UsageTest, AQuotaFileThatSaysNothingIsReportedNotTakenForNone) {
  ASSERT_OK(SetQuota(&root(), "set", 1));
  for (const char* const text : {"", "1", "1G\n", "-1\n", "1\n1\n"}) {
    ASSERT_OK(io::WriteFileAtomically(made_.path + "/datasets/set/quota", text));
    EXPECT_EQ(ReadQuota(root(), "set").code(), ErrorCode::kCorrupt) << text;
    EXPECT_EQ(CheckQuota(root(), "set", 0).code(), ErrorCode::kCorrupt) << text;
  }
}

TEST_F(UsageTest, WhatWouldPassTheQuotaIsRefusedWithWhatHelps) {
  made_.Publish("set", {made_.AddBundle(1)});
  const uint64_t taken = *DatasetBytes(root(), "set");
  EXPECT_OK(CheckQuota(root(), "set", UINT64_MAX / 2));  // no quota
  ASSERT_OK(SetQuota(&root(), "set", taken + 10));
  EXPECT_OK(CheckQuota(root(), "set", 10));
  const Status refused = CheckQuota(root(), "set", 11);
  EXPECT_EQ(refused.code(), ErrorCode::kNoSpace);
  EXPECT_THAT(refused.message(), HasSubstr("dataset 'set' would take"));
  EXPECT_THAT(refused.hint(), HasSubstr("tarn-index quota set --bytes"));
}

TEST_F(UsageTest, AtCommitOnlyWhatIsNewCounts) {
  const ArchiveId id = made_.AddBundle(1);
  const ArchiveId more = made_.AddBundle(2);
  made_.Publish("set", {id});
  made_.Publish("other", {id, more});
  // The generation of the other dataset, as if it were staged for this one: the first bundle is there
  // already.
  const std::string staged = root().GenerationPath("other", 1);
  const uint64_t own = DirectoryBytes("other", 1) - BundleBytes(id);
  const uint64_t taken = *DatasetBytes(root(), "set");
  ASSERT_OK(SetQuota(&root(), "set", taken + own));
  EXPECT_OK(CheckQuotaWith(root(), "set", staged, {id, more}));
  ASSERT_OK(SetQuota(&root(), "set", taken + own - 1));
  EXPECT_EQ(CheckQuotaWith(root(), "set", staged, {id, more}).code(), ErrorCode::kNoSpace);
}

}  // namespace
}  // namespace tarn::index

#include "index/kept_packs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "tarn/index/generation_reader.h"
#include "tarn/index/salvage.h"
#include "tarn/io/file_facts.h"
#include "tests/unit/index/made_up_root.h"

namespace tarn::index {
namespace {

class KeptPacksTest : public ::testing::Test {
 protected:
  // Bundles of made-up archives; a digest that is a multiple of 4,096 ends a pack. ArchiveIds sort by size,
  // and these grow with the seed.
  void SetUp() override {
    for (const uint64_t seed : {100, 1124, 4096, 5120, 6144, 8192, 9216, 10240})
      ids_.push_back(made_.AddBundle(seed));
    // A pack counts as newer than what is in it.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::set<uint64_t> Inodes(uint32_t generation) {
    std::set<uint64_t> inodes;
    EXPECT_OK(io::WalkFiles(made_.root->GenerationPath("img", generation),
                            [&](const std::string& path, const io::FileFacts& facts) {
                              if (path.ends_with(".sst")) inodes.insert(facts.inode);
                              return Status::Ok();
                            }));
    return inodes;
  }
  size_t Shared(uint32_t a, uint32_t b) {
    const std::set<uint64_t> left = Inodes(a), right = Inodes(b);
    size_t shared = 0;
    for (const uint64_t inode : left) shared += right.count(inode);
    return shared;
  }
  void ExpectWhole(uint32_t generation) {
    const auto reader = GenerationReader::Open(made_.root->GenerationPath("img", generation));
    ASSERT_OK(reader);
    EXPECT_OK((*reader)->CheckWhole());
    EXPECT_OK(VerifyTables(made_.root->GenerationPath("img", generation)));
  }

  MadeUpRoot made_;
  std::vector<ArchiveId> ids_;
};

TEST_F(KeptPacksTest, PacksInWhichNothingChangedAreLinked) {
  made_.Publish("img", ids_, /*linked=*/false);
  EXPECT_EQ(Inodes(1).size(), 4U);  // three packs, and the rows of its own
  ids_.push_back(made_.AddBundle(5632));
  std::sort(ids_.begin(), ids_.end());
  made_.Publish("img", ids_, /*linked=*/false, /*previous=*/1);
  EXPECT_EQ(Inodes(2).size(), 4U);
  EXPECT_EQ(Shared(1, 2), 2U);
  ExpectWhole(2);
}

TEST_F(KeptPacksTest, AnArchiveThatWentMakesItsPackAnew) {
  made_.Publish("img", ids_, /*linked=*/false);
  ids_.erase(ids_.begin() + 1);
  made_.Publish("img", ids_, /*linked=*/false, /*previous=*/1);
  EXPECT_EQ(Shared(1, 2), 2U);
  ExpectWhole(2);
}

TEST_F(KeptPacksTest, ABundleThatWasReplacedMakesItsPackAnew) {
  made_.Publish("img", ids_, /*linked=*/false);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::string bundle = made_.root->BundlePath(ids_[0]);
  ASSERT_OK(io::CopyFile(bundle, made_.scratch / "copy"));
  ASSERT_OK(made_.root->ReplaceBundle(ids_[0], made_.scratch / "copy"));
  made_.Publish("img", ids_, /*linked=*/false, /*previous=*/1);
  EXPECT_EQ(Shared(1, 2), 2U);
  ExpectWhole(2);
}

TEST_F(KeptPacksTest, WithoutAPreviousGenerationAllAreWritten) {
  made_.Publish("img", ids_, /*linked=*/false);
  made_.Publish("img", ids_, /*linked=*/false);
  EXPECT_EQ(Shared(1, 2), 0U);
  ExpectWhole(2);
}

TEST_F(KeptPacksTest, APreviousGenerationThatCannotBeReadHasNoneToGive) {
  made_.Publish("img", ids_, /*linked=*/false);
  ASSERT_OK(io::RemoveFile(made_.root->GenerationPath("img", 1) + "/CURRENT"));
  made_.Publish("img", ids_, /*linked=*/false, /*previous=*/1);
  EXPECT_EQ(Shared(1, 2), 0U);
  ExpectWhole(2);
}

}  // namespace
}  // namespace tarn::index

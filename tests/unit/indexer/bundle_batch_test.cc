#include "indexer/bundle_batch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tarn/io/filesystem.h"
#include "tests/support/scratch.h"

namespace tarn::indexer {
namespace {

class BundleBatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto root = index::IndexRoot::OpenOrCreate(scratch_ / "ix");
    ASSERT_TRUE(root.ok()) << root.status().ToString();
    root_ = *std::move(root);
    auto staging = root_->MakeStagingDirectory("test");
    ASSERT_TRUE(staging.ok());
    auto journal = Journal::Open(scratch_ / "journals", "own");
    ASSERT_TRUE(journal.ok());
    journal_ = *std::move(journal);
    batch_ = std::make_unique<BundleBatch>(root_.get(), journal_.get(), *staging);
  }

  static ArchiveId Id(uint64_t number, uint64_t bytes = 1000) {
    return {bytes, Digest{number * 0x9e3779b97f4a7c15ULL, number}};
  }
  BundleBatch::Finished Finished(const ArchiveId& id, const std::string& contents, bool replace = false) {
    std::string path = batch_->NewPath();
    EXPECT_TRUE(io::WriteFileAtomically(path, contents).ok());
    return {id, std::move(path), replace, JournalLine{id.ToString(), {.size = id.size, .ctime_ns = 1}, id}};
  }
  std::string Contents(const ArchiveId& id) {
    const auto text = io::ReadFile(root_->BundlePath(id));
    return text.ok() ? *text : text.status().message();
  }
  size_t JournalLines() {
    const auto text = io::ReadFile(scratch_ / "journals/own.journal");
    EXPECT_TRUE(text.ok()) << text.status().ToString();
    return text.ok() ? static_cast<size_t>(std::count(text->begin(), text->end(), '\n')) : 0;
  }

  const support::Scratch scratch_;
  std::unique_ptr<index::IndexRoot> root_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<BundleBatch> batch_;
};

TEST_F(BundleBatchTest, ABundleIsInItsPlaceWhenTheBatchIsAndNotBefore) {
  ASSERT_TRUE(batch_->Add(Finished(Id(1), "one")).ok());
  EXPECT_FALSE(root_->HasBundle(Id(1)));
  EXPECT_EQ(JournalLines(), 0U);
  ASSERT_TRUE(batch_->Flush().ok());
  EXPECT_EQ(Contents(Id(1)), "one");
  EXPECT_EQ(JournalLines(), 1U);
  EXPECT_TRUE(batch_->Flush().ok());
}

TEST_F(BundleBatchTest, AFullBatchIsPutInPlaceByItself) {
  for (uint64_t i = 0; i < BundleBatch::kMostBundles; ++i) {
    EXPECT_FALSE(root_->HasBundle(Id(BundleBatch::kMostBundles - 1)));
    ASSERT_TRUE(batch_->Add(Finished(Id(i), std::to_string(i))).ok());
  }
  for (uint64_t i = 0; i < BundleBatch::kMostBundles; ++i) ASSERT_EQ(Contents(Id(i)), std::to_string(i));
  EXPECT_EQ(JournalLines(), BundleBatch::kMostBundles);
}

TEST_F(BundleBatchTest, TheBundleOfALargeArchiveDoesNotWait) {
  ASSERT_TRUE(batch_->Add(Finished(Id(1), "small")).ok());
  ASSERT_TRUE(batch_->Add(Finished(Id(2, BundleBatch::kMostArchiveBytes), "large")).ok());
  EXPECT_EQ(Contents(Id(1)), "small");
  EXPECT_EQ(Contents(Id(2, BundleBatch::kMostArchiveBytes)), "large");
}

TEST_F(BundleBatchTest, TheSameBytesTwiceInABatchAreOneBundle) {
  ASSERT_TRUE(batch_->Add(Finished(Id(1), "first")).ok());
  ASSERT_TRUE(batch_->Add(Finished(Id(1), "again")).ok());
  ASSERT_TRUE(batch_->Flush().ok());
  EXPECT_EQ(Contents(Id(1)), "first");
  ASSERT_TRUE(batch_->Add(Finished(Id(1), "better", /*replace=*/true)).ok());
  ASSERT_TRUE(batch_->Flush().ok());
  EXPECT_EQ(Contents(Id(1)), "better");
}

TEST_F(BundleBatchTest, ABundleThatIsGoneEndsThePublishByName) {
  BundleBatch::Finished bundle = Finished(Id(1), "one");
  ASSERT_TRUE(io::RemoveFile(bundle.file).ok());
  const std::string file = bundle.file;
  ASSERT_TRUE(batch_->Add(std::move(bundle)).ok());
  const Status status = batch_->Flush();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(file), std::string::npos) << status.message();
  EXPECT_FALSE(root_->HasBundle(Id(1)));
}

}  // namespace
}  // namespace tarn::indexer

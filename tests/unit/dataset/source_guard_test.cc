// ArchiveBytes and those who bound calls into sources, and what is asked for ahead of readers.
#include "tarn/dataset/source_guard.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "tarn/dataset/archive_bytes.h"
#include "tests/support/fake_archive.h"
#include "tests/support/fake_generation.h"
#include "tests/support/fake_source.h"
#include "tests/support/pseudo_random.h"

namespace tarn::dataset {
namespace {

using index::ManifestRow;
using testing_support::FakeArchive;
using testing_support::FakeGeneration;
using testing_support::FakeSource;

constexpr int64_t kPublished = 1'000'000'000;
constexpr uint64_t kRead = 128 << 10;

// Lets nobody into the sources it was told.
class FakeGuard final : public SourceGuard {
 public:
  bool Enter(size_t source, const std::string& path) override {
    const std::lock_guard lock(mutex_);
    if (full.contains(source)) return false;
    entered.push_back(path);
    ++inside;
    return true;
  }
  bool Answers(size_t source) const override { return !silent.contains(source); }
  void Leave(size_t) override {
    const std::lock_guard lock(mutex_);
    --inside;
  }

  std::set<size_t> full;
  std::set<size_t> silent;
  std::vector<std::string> entered;
  int inside = 0;

 private:
  std::mutex mutex_;  // archives are looked at by several threads
};

class SourceGuardTest : public testing::Test {
 protected:
  SourceGuardTest() {
    archive_.bytes = support::PseudoRandom(1).Bytes(size_t{4} << 20);
    archive_.Finish();
    Use({near_, far_}, std::chrono::milliseconds(0));
  }

  void Use(std::vector<std::shared_ptr<io::Source>> sources, std::chrono::milliseconds interval) {
    ArchiveBytesOptions options;
    options.sources = std::move(sources);
    options.identity_interval = interval;
    options.guard = &guard_;
    bytes_ = std::make_unique<ArchiveBytes>(std::move(options));
    index::GenerationRows rows;
    rows.facts.dataset = "set";
    rows.facts.dataset_number = 3;
    rows.facts.source_path = "data";
    auto generation = std::make_shared<FakeGeneration>(rows);
    generation->AddArchive(archive_);
    generation_ = generation;
    handle_ = Add("a.tar", 1);
  }
  ArchiveBytes::Archive* Add(const std::string& path, uint32_t number) {
    ManifestRow row;
    row.number = number;
    row.path = path;
    row.id = archive_.id;
    row.hint.size = archive_.bytes.size();
    row.hint.mtime_ns = kPublished;
    row.access = {0640, 7, 8};
    return bytes_->Add(generation_, row);
  }

  Status ReadAt(uint64_t offset, size_t bytes) {
    got_.assign(bytes, 'x');
    return bytes_->Read(handle_, offset, std::as_writable_bytes(std::span(got_)));
  }
  // As FileTree reads: a part of the file at `file`.
  Status ReadPart(ArchiveRange file, uint64_t offset, size_t bytes) {
    got_.assign(bytes, 'x');
    return bytes_->Read(handle_, offset, std::as_writable_bytes(std::span(got_)), file);
  }

  FakeArchive archive_;
  FakeGuard guard_;
  std::shared_ptr<FakeSource> near_ = std::make_shared<FakeSource>("/near");
  std::shared_ptr<FakeSource> far_ = std::make_shared<FakeSource>("/far");
  std::shared_ptr<const index::GenerationReader> generation_;
  std::unique_ptr<ArchiveBytes> bytes_;
  ArchiveBytes::Archive* handle_ = nullptr;
  std::string got_;
};

TEST_F(SourceGuardTest, EveryCallIntoASourceIsAskedForAndLeft) {
  near_->Put("data/a.tar", archive_.bytes, kPublished);
  ASSERT_TRUE(ReadAt(0, 100).ok());
  EXPECT_EQ(guard_.entered, (std::vector<std::string>{"a.tar", "a.tar"})) << "to open, and to read";
  ASSERT_TRUE(ReadAt(0, 100).ok());
  EXPECT_EQ(guard_.entered.size(), 4U) << "to look, and to read";
  EXPECT_EQ(guard_.inside, 0);
}

TEST_F(SourceGuardTest, WhatIsNotLetInIsBusyAndLeavesNoTrace) {
  near_->Put("data/a.tar", archive_.bytes, kPublished);
  guard_.full = {0, 1};
  Use({near_, far_}, std::chrono::hours(1));
  EXPECT_EQ(ReadAt(0, 100).code(), ErrorCode::kBusy);
  EXPECT_EQ(bytes_->Access(handle_).code(), ErrorCode::kBusy);
  EXPECT_EQ(near_->opens + near_->stats + near_->reads, 0);
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kUnseen);
  // A failure would be kept for the interval, which is an hour.
  guard_.full.clear();
  EXPECT_TRUE(ReadAt(0, 100).ok());
}

TEST_F(SourceGuardTest, AnOpenArchiveIsBusyToo) {
  near_->Put("data/a.tar", archive_.bytes, kPublished);
  ASSERT_TRUE(ReadAt(0, 100).ok());
  guard_.full = {0};
  EXPECT_EQ(ReadAt(0, 100).code(), ErrorCode::kBusy);
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
}

TEST_F(SourceGuardTest, ASourceThatIsFullIsPassedByWhenAnotherHasTheArchive) {
  far_->Put("data/a.tar", archive_.bytes, kPublished);
  guard_.full = {0};
  EXPECT_TRUE(ReadAt(0, 100).ok());
  EXPECT_TRUE(bytes_->Access(handle_).ok());
}

TEST_F(SourceGuardTest, ASourceThatIsFullMayHaveWhatNoOtherHas) {
  guard_.full = {0};
  EXPECT_EQ(ReadAt(0, 100).code(), ErrorCode::kBusy) << "not: missing";
}

TEST_F(SourceGuardTest, ThePlaceThatWasGoodIsAskedFirstWhenTheArchiveIsOpenedAgain) {
  far_->Put("data/a.tar", archive_.bytes, kPublished);
  ASSERT_TRUE(ReadAt(0, 100).ok());
  const int asked = near_->opens;
  far_->Put("data/a.tar", archive_.bytes, kPublished);  // another inode: it is opened anew
  ASSERT_TRUE(ReadAt(0, 100).ok());
  EXPECT_EQ(near_->opens, asked);
}

TEST_F(SourceGuardTest, AccessIsWhatWasSeenLastWhileTheSourceDoesNotAnswer) {
  near_->Put("data/a.tar", archive_.bytes, kPublished);
  EXPECT_EQ(bytes_->Access(handle_)->mode, 0644U);
  near_->Edit("data/a.tar", [](FakeSource::File* file) { file->access.mode = 0600; });
  const int looks = near_->stats;
  guard_.silent = {0};
  EXPECT_EQ(bytes_->Access(handle_)->mode, 0644U);
  EXPECT_EQ(near_->stats, looks);
  guard_.silent.clear();
  guard_.full = {0, 1};
  EXPECT_EQ(bytes_->Access(handle_)->mode, 0644U);
  guard_.full.clear();
  EXPECT_EQ(bytes_->Access(handle_)->mode, 0600U);
}

TEST_F(SourceGuardTest, OneLookAtAnOpenArchiveServesReadsAndAttributes) {
  near_->Put("data/a.tar", archive_.bytes, kPublished);
  Use({near_}, std::chrono::hours(1));
  ASSERT_TRUE(ReadAt(0, 100).ok());
  const int looks = near_->stats;
  EXPECT_EQ(bytes_->Access(handle_)->uid, 1000U);
  EXPECT_EQ(near_->stats, looks);
}

TEST_F(SourceGuardTest, ManyArchivesAreLookedAtOnceEach) {
  Use({near_}, std::chrono::hours(1));
  std::vector<ArchiveBytes::Archive*> archives;
  for (uint32_t i = 0; i < 50; ++i) {
    const std::string path = std::to_string(i) + ".tar";
    near_->Put("data/" + path, archive_.bytes, kPublished);
    archives.push_back(Add(path, 10 + i));
  }
  bytes_->LookAhead(archives);
  // A machine that is busy may take longer than a listing waits: what is not known yet is looked at here.
  for (ArchiveBytes::Archive* archive : archives) EXPECT_EQ(bytes_->Access(archive)->mode, 0644U);
  EXPECT_EQ(near_->stats, 50);
  bytes_->LookAhead(archives);
  EXPECT_EQ(near_->stats, 50);
}

TEST_F(SourceGuardTest, RandomReadsAskForExactlyTheirBytes) {
  near_->Put("data/a.tar", archive_.bytes, kPublished);
  uint64_t asked = 0;
  for (const uint64_t number : {7, 2, 30, 11, 25, 3, 19, 0, 14, 28}) {
    const uint64_t begin = 512 + number * 110'000;
    ASSERT_TRUE(ReadPart({begin, begin + 100'000}, begin, 100'000).ok());
    EXPECT_EQ(got_, archive_.bytes.substr(begin, 100'000));
    asked += 100'000;
  }
  EXPECT_EQ(near_->read_bytes, asked);
  EXPECT_EQ(near_->ahead_bytes, 0U);
  EXPECT_EQ(bytes_->Totals().reads, 10U);
  EXPECT_EQ(bytes_->Totals().read_bytes, asked);
  EXPECT_EQ(bytes_->Totals().ahead_bytes, 0U);
}

TEST_F(SourceGuardTest, AFileThatIsReadFrontToBackIsAskedForAheadUpToItsEnd) {
  near_->Put("data/a.tar", archive_.bytes, kPublished);
  const ArchiveRange file{512, 512 + 24 * kRead};
  for (uint64_t at = file.begin; at < file.end; at += kRead) {
    ASSERT_TRUE(ReadPart(file, at, kRead).ok());
    EXPECT_EQ(got_, archive_.bytes.substr(at, kRead));
  }
  // All but what was read before it was a run.
  EXPECT_EQ(bytes_->Totals().ahead_bytes, file.size() - 2 * kRead);
  EXPECT_EQ(near_->ahead_bytes, bytes_->Totals().ahead_bytes);
}

TEST_F(SourceGuardTest, ReadsThatAreOfNoFileAreAskedForAsTheyAre) {
  near_->Put("data/a.tar", archive_.bytes, kPublished);
  for (uint64_t at = 0; at < 24 * kRead; at += kRead) ASSERT_TRUE(ReadAt(at, kRead).ok());
  EXPECT_EQ(near_->ahead_bytes, 0U);
}

}  // namespace
}  // namespace tarn::dataset

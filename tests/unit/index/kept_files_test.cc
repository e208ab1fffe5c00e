#include "tarn/index/kept_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tarn/index/fsck.h"
#include "tarn/index/gc.h"
#include "tarn/index/usage.h"
#include "tests/unit/index/made_up_root.h"

namespace tarn::index {
namespace {

const ArchiveId kId{5, Digest{0x3f00000000000000ULL, 7}};

class KeptFilesTest : public ::testing::Test {
 protected:
  std::string Staged(const std::string& bytes) {
    const auto staging = made.root->MakeStagingDirectory("test");
    EXPECT_OK(staging);
    return Written(*staging + "/0", bytes);
  }
  static std::string Written(const std::string& path, const std::string& bytes) {
    EXPECT_OK(io::WriteFileAtomically(path, bytes));
    return path;
  }
  std::string PathOf(const ArchiveId& id) const { return io::JoinPath(made.path, KeptPath(id)); }

  MadeUpRoot made;
};

TEST_F(KeptFilesTest, ThePathIsShardedByTheFirstByteOfTheDigest) {
  EXPECT_EQ(KeptPath(kId), "kept/3f/5-3f000000000000000000000000000007");
}

TEST_F(KeptFilesTest, ARootWithoutKeptFilesKeepsNothing) {
  EXPECT_FALSE(HasKept(*made.root, kId));
  const auto kept = ListKept(*made.root, nullptr);
  ASSERT_OK(kept);
  EXPECT_TRUE(kept->empty());
}

TEST_F(KeptFilesTest, APlacedFileIsMovedAndListed) {
  const std::string staged = Staged("hello");
  ASSERT_OK(PlaceKept(*made.root, kId, staged));
  EXPECT_FALSE(io::Exists(staged));
  EXPECT_TRUE(HasKept(*made.root, kId));
  const auto kept = ListKept(*made.root, nullptr);
  ASSERT_OK(kept);
  ASSERT_EQ(kept->size(), 1u);
  EXPECT_EQ(kept->front().id, kId);
  EXPECT_EQ(kept->front().path, PathOf(kId));
  EXPECT_EQ(kept->front().facts.bytes, 5u);
}

TEST_F(KeptFilesTest, WhatIsKeptStaysAndOneOfAnotherSizeIsReplaced) {
  ASSERT_OK(PlaceKept(*made.root, kId, Staged("hello")));
  const std::string second = Staged("HELLO");
  ASSERT_OK(PlaceKept(*made.root, kId, second));
  EXPECT_FALSE(io::Exists(second));
  EXPECT_EQ(support::Scratch::Read(PathOf(kId)), "hello");

  Written(PathOf(kId), "hell");
  EXPECT_FALSE(HasKept(*made.root, kId));
  ASSERT_OK(PlaceKept(*made.root, kId, Staged("hello")));
  EXPECT_EQ(support::Scratch::Read(PathOf(kId)), "hello");
}

TEST_F(KeptFilesTest, WhatIsNotNamedLikeAKeptFileIsForeign) {
  ASSERT_OK(io::MakeDirectories(made.path + "/kept/40"));
  const std::string lost = Written(made.path + "/kept/40/" + kId.ToString(), "hello");  // not its shard
  const std::string other = Written(made.path + "/kept/README", "x");
  std::vector<std::string> foreign;
  const auto kept = ListKept(*made.root, [&](const std::string& path) { foreign.push_back(path); });
  ASSERT_OK(kept);
  EXPECT_TRUE(kept->empty());
  EXPECT_EQ(foreign, (std::vector<std::string>{lost, other}));
}

// ---- Its care ---------------------------------------------------------------------------------------------

class KeptCareTest : public KeptFilesTest {
 protected:
  // A file as large as the archive; what it holds does not matter here.
  void Keep(const ArchiveId& id) { ASSERT_OK(PlaceKept(*made.root, id, Staged(std::string(id.size, 'x')))); }
  GcReport Collect(int64_t grace_seconds, int64_t now_seconds, bool dry_run = false) {
    made.Reopen();  // staging of the test is of a dead owner
    const auto report =
        CollectGarbage(made.root.get(), Holds(made.path + "/holds"),
                       {.grace_seconds = grace_seconds, .dry_run = dry_run, .now_seconds = now_seconds});
    EXPECT_OK(report);
    return report.ok() ? *report : GcReport{};
  }
};

TEST_F(KeptCareTest, GcTakesAKeptFileWhenNoGenerationNamesItAndItsGraceIsOver) {
  const ArchiveId old = made.AddBundle(1), current = made.AddBundle(2);
  made.Publish("set", {old, current});
  made.Publish("set", {current});
  Keep(old);
  Keep(current);
  const int64_t now = SecondsNow();
  ASSERT_OK(made.root->RetireGeneration("set", 1, now));
  EXPECT_EQ(Collect(100, now + 99).kept_files, 0u);  // the retired generation is there
  EXPECT_TRUE(HasKept(*made.root, old));
  EXPECT_EQ(Collect(100, now + 1000, /*dry_run=*/true).kept_files, 1u);
  EXPECT_TRUE(HasKept(*made.root, old));
  const GcReport taken = Collect(100, now + 1000);
  EXPECT_EQ(taken.kept_files, 1u);
  EXPECT_EQ(taken.kept_bytes, old.size);
  EXPECT_FALSE(HasKept(*made.root, old));
  EXPECT_TRUE(HasKept(*made.root, current));
}

TEST_F(KeptCareTest, GcLeavesYoungKeptFilesAndThoseThatAPublishMayCountOn) {
  Keep(kId);
  const GcReport young = Collect(100, SecondsNow() + 50);
  ASSERT_EQ(young.kept.size(), 1u);
  EXPECT_EQ(young.kept.front().what, "1 unreferenced kept files");
  {
    const auto publisher = IndexRoot::Open(made.path);
    ASSERT_OK(publisher);
    ASSERT_OK((*publisher)->MakeStagingDirectory("publish-other"));
    EXPECT_EQ(Collect(0, SecondsNow()).kept_files, 0u);
    EXPECT_TRUE(HasKept(*made.root, kId));
  }
  EXPECT_EQ(Collect(0, SecondsNow()).kept_files, 1u);
}

TEST_F(KeptCareTest, UsageCountsAKeptFileOnceForEveryGenerationThatNamesIt) {
  const ArchiveId id = made.AddBundle(1);
  made.Publish("set", {id});
  made.Publish("set", {id, made.AddBundle(2)});
  made.Reopen();
  ASSERT_OK(made.root->CleanStaging());
  const auto before = MeasureUsage(*made.root);
  ASSERT_OK(before);
  const uint64_t quota_before = *DatasetBytes(*made.root, "set");
  Keep(id);
  Keep(kId);
  const auto after = MeasureUsage(*made.root);
  ASSERT_OK(after);
  EXPECT_EQ(after->kept_files, 2u);
  EXPECT_EQ(after->kept_bytes, id.size + kId.size);
  EXPECT_EQ(after->unreferenced_kept_files, 1u);
  EXPECT_EQ(after->datasets[0].bytes, before->datasets[0].bytes + id.size);
  EXPECT_EQ(after->datasets[0].generations[0].exclusive_bytes,
            before->datasets[0].generations[0].exclusive_bytes);
  EXPECT_EQ(*DatasetBytes(*made.root, "set"), quota_before + id.size);
}

// Counts problems and keeps their paths.
class Problems final : public FsckListener {
 public:
  void OnProblem(const FsckProblem& problem) override { paths.push_back(problem.path); }
  void OnNote(const std::string&) override {}
  Status OnFile(const std::string&) override { return Status::Ok(); }
  std::vector<std::string> paths;
};

TEST_F(KeptCareTest, FsckChecksNamesSizesAndBytes) {
  const ArchiveId other{5, Digest{0x4000000000000000ULL, 7}}, cut{9, Digest{0x4100000000000000ULL, 7}};
  ASSERT_OK(PlaceKept(*made.root, kId, Staged("hello")));
  ASSERT_OK(PlaceKept(*made.root, other, Staged("HELLO")));
  ASSERT_OK(PlaceKept(*made.root, cut, Staged("hello")));
  const std::string foreign = Written(made.path + "/kept/README", "x");
  Problems problems;
  const auto report = CheckRoot(
      *made.root, {.archive_id = [](const std::string&) { return Result<ArchiveId>(kId); }}, &problems);
  ASSERT_OK(report);
  EXPECT_EQ(report->kept_files, 3u);
  EXPECT_THAT(problems.paths, testing::UnorderedElementsAre(foreign, PathOf(other), PathOf(cut)));
}

}  // namespace
}  // namespace tarn::index

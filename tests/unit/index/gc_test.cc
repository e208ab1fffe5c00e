#include "tarn/index/gc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <set>
#include <thread>

#include "tarn/index/generation_reader.h"
#include "tarn/io/file_facts.h"
#include "tests/unit/index/made_up_root.h"

namespace tarn::index {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kDay = 86400;

class GcTest : public testing::Test {
 protected:
  IndexRoot& root() { return *made_.root; }
  Holds holds() const { return Holds(made_.path + "/holds"); }

  GcReport Collect(GcOptions options = {}) {
    if (options.now_seconds == 0) options.now_seconds = now_;
    auto report = CollectGarbage(&root(), holds(), options);
    EXPECT_OK(report);
    return report.ok() ? *report : GcReport{};
  }
  std::set<std::string> Files() const {
    std::set<std::string> files;
    EXPECT_OK(io::WalkFiles(made_.path, [&](const std::string& path, const io::FileFacts&) {
      files.insert(path);
      return Status::Ok();
    }));
    return files;
  }
  uint64_t TotalBytes() const {
    uint64_t bytes = 0;
    std::set<uint64_t> seen;
    EXPECT_OK(io::WalkFiles(made_.path, [&](const std::string&, const io::FileFacts& facts) {
      if (seen.insert(facts.inode).second) bytes += facts.bytes;
      return Status::Ok();
    }));
    return bytes;
  }
  static testing::Matcher<const std::vector<GcReport::Kept>&> KeepsBecause(const std::string& why) {
    return Contains(Field(&GcReport::Kept::why, HasSubstr(why)));
  }

  MadeUpRoot made_;
  const int64_t now_ = SecondsNow() + 30 * kDay;  // everything in the root is old by then
};

TEST_F(GcTest, NothingOfAListedGenerationGoes) {
  for (const bool linked : {true, false}) {
    const ArchiveId a = made_.AddBundle(linked ? 1 : 2);
    made_.Publish(linked ? "linked" : "packed", {a, made_.AddBundle(linked ? 3 : 4)}, linked);
  }
  const auto before = Files();
  const GcReport report = Collect({.grace_seconds = 0});
  EXPECT_EQ(report.bundles, 0U);
  EXPECT_EQ(report.freed_bytes, 0U);
  EXPECT_THAT(report.kept, IsEmpty());
  EXPECT_EQ(Files(), before);
}

TEST_F(GcTest, ARetiredGenerationGoesAfterItsGraceWithTheBundlesThatOnlyItNeeds) {
  for (const bool linked : {true, false}) {
    const std::string set = linked ? "linked" : "packed";
    const ArchiveId old = made_.AddBundle(linked ? 1 : 11);
    const ArchiveId kept = made_.AddBundle(linked ? 2 : 12);
    made_.Publish(set, {old, kept}, linked);
    made_.Publish(set, {kept}, linked);
    ASSERT_OK(root().RetireGeneration(set, 1, now_ - 7 * kDay));

    EXPECT_THAT(Collect({.now_seconds = now_ - 1}).kept, KeepsBecause("its grace ends"));
    EXPECT_TRUE(io::Exists(root().GenerationPath(set, 1)));

    const uint64_t before = TotalBytes();
    const GcReport report = Collect();
    ASSERT_EQ(report.generations.size(), 1U);
    EXPECT_EQ(report.generations[0].dataset, set);
    EXPECT_EQ(report.generations[0].generation, 1U);
    EXPECT_EQ(report.bundles, 1U);
    EXPECT_FALSE(root().HasBundle(old));
    EXPECT_TRUE(root().HasBundle(kept));
    EXPECT_FALSE(io::Exists(root().GenerationPath(set, 1)));
    EXPECT_FALSE(root().IsRetired(set, 1));
    const uint64_t marker = std::string("retired 2026-11-30T18:25:19Z\n").size();
    EXPECT_EQ(TotalBytes() + report.freed_bytes + marker, before);
    EXPECT_OK((*GenerationReader::Open(root().GenerationPath(set, 2)))->CheckWhole());
  }
}

TEST_F(GcTest, ADryRunSaysTheSameAndChangesNothing) {
  const ArchiveId old = made_.AddBundle(1);
  made_.Publish("set", {old});
  made_.Publish("set", {made_.AddBundle(2)});
  made_.AddBundle(3);
  ASSERT_OK(root().RetireGeneration("set", 1, now_ - 8 * kDay));
  ASSERT_OK(io::MakeDirectories(made_.path + "/staging/publish-dead"));
  ASSERT_OK(io::WriteFileAtomically(made_.path + "/staging/publish-dead/x", "left over"));
  ASSERT_OK(holds().Put({"set", 9, "ended", now_ - 1, now_ - 2}));
  const auto before = Files();
  const GcReport said = Collect({.dry_run = true});
  EXPECT_EQ(Files(), before);
  const GcReport done = Collect();
  EXPECT_EQ(said.generations.size(), done.generations.size());
  EXPECT_EQ(said.bundles, 2U);
  EXPECT_EQ(said.bundles, done.bundles);
  EXPECT_EQ(said.bundle_bytes, done.bundle_bytes);
  EXPECT_EQ(said.staging, 1U);
  EXPECT_EQ(said.staging, done.staging);
  EXPECT_EQ(said.staging_bytes, done.staging_bytes);
  EXPECT_EQ(said.freed_bytes, done.freed_bytes);
  EXPECT_EQ(done.expired_holds.size(), 1U);
}

TEST_F(GcTest, AReaderThatHasItOpenReadsOn) {
  const ArchiveId id = made_.AddBundle(1);
  made_.Publish("set", {id});
  made_.Publish("set", {made_.AddBundle(2)});
  const auto reader = GenerationReader::Open(root().GenerationPath("set", 1));
  ASSERT_OK(reader);
  ASSERT_OK(root().RetireGeneration("set", 1, now_ - 8 * kDay));
  EXPECT_EQ(Collect().generations.size(), 1U);
  EXPECT_OK((*reader)->CheckWhole());
  std::vector<uint64_t> checksums;
  EXPECT_OK((*reader)->GetChunkChecksums(id, 0, 1, &checksums));
}

TEST_F(GcTest, WhatIsHeldStaysAndTheHolderIsNamed) {
  made_.Publish("set", {made_.AddBundle(1)});
  made_.Publish("set", {made_.AddBundle(2)});
  ASSERT_OK(root().RetireGeneration("set", 1, now_ - 8 * kDay));
  ASSERT_OK(holds().Put({"set", 1, "train-42", now_ + 60, now_}));
  EXPECT_THAT(Collect().kept, KeepsBecause("set@1 is held by job 'train-42' until"));
  EXPECT_TRUE(io::Exists(root().GenerationPath("set", 1)));
  EXPECT_EQ(Collect({.now_seconds = now_ + 60}).generations.size(), 1U);
}

TEST_F(GcTest, AHoldThatCannotBeUnderstoodStopsItBeforeAnythingGoes) {
  made_.AddBundle(1);
  ASSERT_OK(io::MakeDirectories(made_.path + "/holds"));
  ASSERT_OK(io::WriteFileAtomically(made_.path + "/holds/odd.json", "{"));
  const auto before = Files();
  const auto report = CollectGarbage(&root(), holds(), {.grace_seconds = 0, .now_seconds = now_});
  EXPECT_EQ(report.code(), ErrorCode::kCorrupt);
  EXPECT_EQ(Files(), before);
}

TEST_F(GcTest, TheNewestGenerationStaysAlsoWhenItIsRetired) {
  made_.Publish("set", {made_.AddBundle(1)});
  ASSERT_OK(root().RetireGeneration("set", 1, now_ - 8 * kDay));
  EXPECT_THAT(Collect().kept, KeepsBecause("numbers go on from it"));
  EXPECT_TRUE(io::Exists(root().GenerationPath("set", 1)));
  EXPECT_EQ(made_.Publish("set", {made_.AddBundle(2)}), 2U);
  EXPECT_EQ(Collect().generations.size(), 1U);
}

TEST_F(GcTest, YoungBundlesStay) {
  const ArchiveId id = made_.AddBundle(1);
  EXPECT_THAT(Collect({.now_seconds = SecondsNow() + kDay}).kept,
              KeepsBecause("younger than the grace of 7d"));
  EXPECT_TRUE(root().HasBundle(id));
  EXPECT_EQ(Collect({.grace_seconds = kDay, .now_seconds = SecondsNow() + 2 * kDay}).bundles, 1U);
  EXPECT_FALSE(root().HasBundle(id));
}

TEST_F(GcTest, BundlesThatInterruptedPublishesKnowStay) {
  const ArchiveId known = made_.AddBundle(1);
  made_.AddBundle(2);
  const GcReport report = Collect({.named_elsewhere = [&] { return std::set<ArchiveId>{known}; }});
  EXPECT_EQ(report.bundles, 1U);
  EXPECT_TRUE(root().HasBundle(known));
}

TEST_F(GcTest, NoBundleGoesWhileSomebodyPublishes) {
  const ArchiveId id = made_.AddBundle(1);
  {
    auto publisher = IndexRoot::Open(made_.path);
    ASSERT_OK(publisher);
    const auto staging = (*publisher)->MakeStagingDirectory("publish-other");
    ASSERT_OK(staging);
    EXPECT_THAT(Collect({.grace_seconds = 0}).kept, KeepsBecause("somebody publishes"));
    EXPECT_TRUE(root().HasBundle(id));
    EXPECT_TRUE(io::Exists(*staging));
  }
  EXPECT_EQ(Collect({.grace_seconds = 0}).bundles, 1U);
}

// A publish that begins between the look and the removal: found by the second look, bundles are put back.
TEST_F(GcTest, APublishThatBeginsMeanwhileGetsItsBundlesBack) {
  const ArchiveId id = made_.AddBundle(1);
  std::unique_ptr<IndexRoot> publisher;
  const GcReport report =
      Collect({.grace_seconds = 0, .named_elsewhere = [&]() -> Result<std::set<ArchiveId>> {
                 publisher = std::move(*IndexRoot::Open(made_.path));
                 TARN_RETURN_IF_ERROR(publisher->MakeStagingDirectory("publish").status());
                 return std::set<ArchiveId>();
               }});
  EXPECT_EQ(report.bundles, 0U);
  EXPECT_THAT(report.kept, KeepsBecause("somebody published while"));
  EXPECT_TRUE(root().HasBundle(id));
}

// The same, when it was over before the second look.
TEST_F(GcTest, AGenerationThatAppearsMeanwhileKeepsItsBundles) {
  const ArchiveId id = made_.AddBundle(1);
  bool published = false;
  const GcReport report =
      Collect({.grace_seconds = 0, .named_elsewhere = [&]() -> Result<std::set<ArchiveId>> {
                 const auto staged = root().MakeStagingDirectory("other");
                 if (!staged.ok()) return staged.status();
                 TARN_RETURN_IF_ERROR(root().DatasetNumberOrCreate("new").status());
                 TARN_RETURN_IF_ERROR(io::WriteFileAtomically(*staged + "/CURRENT", ""));
                 TARN_RETURN_IF_ERROR(root().PublishGeneration("new", 1, *staged));
                 published = true;
                 return std::set<ArchiveId>();
               }});
  EXPECT_TRUE(published);
  EXPECT_EQ(report.bundles, 0U);
  EXPECT_TRUE(root().HasBundle(id));
}

TEST_F(GcTest, PublishesThatRunAllTheTimeNeverMissABundle) {
  std::vector<ArchiveId> ids;
  for (uint64_t seed = 1; seed <= 4; ++seed) ids.push_back(made_.AddBundle(seed));
  made_.Publish("set", {ids[0]});
  std::atomic<bool> done = false;
  std::thread collector([&] {
    auto root = IndexRoot::Open(made_.path);
    ASSERT_OK(root);
    while (!done) {
      EXPECT_OK(CollectGarbage(root->get(), holds(), {.grace_seconds = 0, .now_seconds = now_}));
    }
  });
  for (uint64_t round = 0; round < 12; ++round) {
    // As a publish does it: staging first, then which bundles are there, the missing ones made, then the
    // generation.
    auto publisher = IndexRoot::Open(made_.path);
    ASSERT_OK(publisher);
    ASSERT_OK((*publisher)->MakeStagingDirectory("publish"));
    const std::vector<ArchiveId> wanted = {ids[round % 4], ids[(round + 1) % 4]};
    for (size_t i = 0; i < wanted.size(); ++i) {
      if ((*publisher)->HasBundle(wanted[i])) continue;
      EXPECT_EQ(made_.AddBundle((round + i) % 4 + 1), wanted[i]);
    }
    const uint32_t generation = made_.Publish("set", wanted);
    EXPECT_OK((*GenerationReader::Open(root().GenerationPath("set", generation)))->CheckWhole());
    for (const ArchiveId& id : wanted) EXPECT_TRUE(root().HasBundle(id));
    if (generation > 1) ASSERT_OK(root().RetireGeneration("set", generation - 1, now_ - kDay));
  }
  done = true;
  collector.join();
}

TEST_F(GcTest, AGenerationThatCannotBeReadKeepsAllBundles) {
  made_.Publish("set", {made_.AddBundle(1)});
  const ArchiveId unnamed = made_.AddBundle(2);
  ASSERT_OK(io::RemoveFile(root().GenerationPath("set", 1) + "/CURRENT"));
  const GcReport report = Collect();
  EXPECT_FALSE(report.whole);
  EXPECT_THAT(report.kept, KeepsBecause("set@1 cannot be read and may name any"));
  EXPECT_TRUE(root().HasBundle(unnamed));
}

TEST_F(GcTest, UnfinishedWorkOfTheDeadGoesAndThatOfTheLivingStays) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto own = IndexRoot::Open(made_.path);
    if (!own.ok() || !(*own)->MakeStagingDirectory("publish-killed").ok()) _exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto alive = IndexRoot::Open(made_.path);
  ASSERT_OK(alive);
  const auto staging = (*alive)->MakeStagingDirectory("publish-alive");
  ASSERT_OK(staging);
  EXPECT_EQ(Collect().staging, 1U);
  const auto works = root().ListStaging();
  ASSERT_OK(works);
  ASSERT_EQ(works->size(), 1U);
  EXPECT_TRUE(io::Exists(*staging));
}

}  // namespace
}  // namespace tarn::index

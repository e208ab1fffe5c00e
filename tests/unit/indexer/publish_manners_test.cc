// The manners of tarn-index publish: quotas, space, a look before it works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tarn/index/usage.h"
#include "tests/unit/indexer/publish_fixture.h"

namespace tarn::indexer {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class PublishMannersTest : public PublishFixture {
 protected:
  void SetQuota(std::optional<uint64_t> bytes) {
    const auto root = index::IndexRoot::OpenOrCreate(index_);
    ASSERT_TRUE(root.ok());
    ASSERT_TRUE(index::SetQuota(root->get(), "img", bytes).ok());
  }
  uint64_t Taken() {
    const auto root = index::IndexRoot::Open(index_);
    const auto taken = index::DatasetBytes(**root, "img");
    EXPECT_TRUE(taken.ok());
    return taken.ok() ? *taken : 0;
  }
  // Names, sizes and times of all files.
  static std::string EverythingBelow(const std::string& directory) {
    std::vector<std::string> lines;
    for (const auto& item : std::filesystem::recursive_directory_iterator(directory)) {
      struct stat found {};
      EXPECT_EQ(::lstat(item.path().c_str(), &found), 0);
      lines.push_back(item.path().string() + ' ' + std::to_string(found.st_size) + ' ' +
                      std::to_string(found.st_mtim.tv_sec) + '.' + std::to_string(found.st_mtim.tv_nsec));
    }
    std::sort(lines.begin(), lines.end());
    std::string all;
    for (const std::string& line : lines) all += line + '\n';
    return all;
  }
  std::vector<uint32_t> Generations() {
    const auto root = index::IndexRoot::Open(index_);
    const auto generations = (*root)->Generations("img");
    return generations.ok() ? *generations : std::vector<uint32_t>();
  }
};

TEST_F(PublishMannersTest, AQuotaThatCannotHoldTheEstimateIsSaidBeforeAnythingIsRead) {
  Write("a.tar", Tar(30));
  SetQuota(1000);
  const Ran ran = Publish();
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("nothing was read yet"));
  EXPECT_THAT(ran.err, HasSubstr("may take 1000 B"));
  EXPECT_THAT(ran.err, HasSubstr("'tarn-index quota img --bytes N'"));
  EXPECT_THAT(ran.err, Not(HasSubstr("is full")));
  EXPECT_TRUE(Generations().empty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(index_ + "/bundles"), {}), 0);
}

TEST_F(PublishMannersTest, AQuotaThatTheBuiltGenerationWouldPassRefusesItAtTheCommit) {
  Write("a.tar", Tar(2000, 10));
  LetTimePass();
  // More than the estimate for members of usual size, less than these many small ones take.
  SetQuota(12'000);
  const Ran ran = Publish();
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("dataset 'img' would take"));
  EXPECT_THAT(ran.err, Not(HasSubstr("nothing was read yet")));
  EXPECT_THAT(ran.err, HasSubstr("'tarn-index quota img --bytes N'"));
  EXPECT_THAT(ran.err, Not(HasSubstr("is full")));
  EXPECT_TRUE(Generations().empty());
  // What was indexed is kept for when the limit is raised.
  SetQuota(std::nullopt);
  const Ran again = Publish();
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.report()["bytes_read"], 0);
  EXPECT_EQ(Generations(), std::vector<uint32_t>{1});
}

TEST_F(PublishMannersTest, AQuotaPassedAlreadyDoesNotKeepFromSayingThatNothingChanged) {
  Write("a.tar", Tar(30));
  LetTimePass();
  ASSERT_EQ(Publish().code, 0);
  SetQuota(Taken() / 2);
  const Ran same = Publish();
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.report()["published"], false);
  Write("b.tar", Tar(30, 700, 2));
  EXPECT_EQ(Publish().code, 3);
  EXPECT_EQ(Generations(), std::vector<uint32_t>{1});
}

TEST_F(PublishMannersTest, ADryRunSaysWhatIsNewAndWritesNothing) {
  Write("a.tar", Tar(30));
  Write("labels.csv", "x\n");
  const Ran ran = Publish({"--dry-run"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json report = ran.report();
  EXPECT_EQ(report["dry_run"], true);
  EXPECT_EQ(report["index_exists"], false);
  EXPECT_EQ(report["newest"], nullptr);
  EXPECT_EQ(report["new"]["archives"], 1);
  EXPECT_EQ(report["new"]["loose_files"], 1);
  EXPECT_EQ(report["new"]["paths"], (json{"a.tar", "labels.csv"}));
  EXPECT_EQ(report["files_to_read"], 2);
  EXPECT_EQ(report["bytes_to_read"], Tar(30).size() + 2);
  EXPECT_EQ(report["rate"], "assumed");
  EXPECT_GT(report["seconds"], 0.0);
  EXPECT_GT(report["index_bytes_needed"], 0);
  EXPECT_FALSE(std::filesystem::exists(index_));
}

TEST_F(PublishMannersTest, ADryRunTellsNewChangedUnchangedAndGoneApart) {
  for (const char* name : {"a.tar", "b.tar", "c.tar"}) Write(name, Tar(10, 300, name[0]));
  LetTimePass();
  ASSERT_EQ(Publish().code, 0);
  Write("b.tar", Tar(11, 300, 9));
  Write("d.tar", Tar(12, 300, 10));
  std::filesystem::remove(data_ + "/c.tar");
  const auto root_before = EverythingBelow(index_);
  const Ran ran = Publish({"--dry-run"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json report = ran.report();
  EXPECT_EQ(report["newest"], 1);
  EXPECT_EQ(report["new"]["paths"], json{"d.tar"});
  EXPECT_EQ(report["changed"]["paths"], json{"b.tar"});
  EXPECT_EQ(report["unchanged"]["paths"], json{"a.tar"});
  EXPECT_EQ(report["gone"]["paths"], json{"c.tar"});
  EXPECT_EQ(report["bytes_to_read"], Tar(11, 300, 9).size() + Tar(12, 300, 10).size());
  EXPECT_EQ(EverythingBelow(index_), root_before);
  // And the publish reads what was said.
  EXPECT_EQ(Publish().report()["bytes_read"], report["bytes_to_read"]);
}

TEST_F(PublishMannersTest, ADryRunMeasuresHowFastTheLargestFileIsRead) {
  Write("a.tar", Tar(20, 1 << 20));
  const json report = Publish({"--dry-run"}).report();
  EXPECT_EQ(report["rate"], "measured");
  EXPECT_GT(report["bytes_per_second"], 0);
}

TEST_F(PublishMannersTest, ADryRunIsForPeopleToo) {
  Write("a.tar", Tar(30));
  const Ran ran = Run({"publish", data_, "--name", "img", "--index", index_, "--dry-run"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("dry run for img: nothing was written"));
  EXPECT_THAT(ran.out, HasSubstr("  new         1 archives, 0 loose files"));
  EXPECT_THAT(ran.out, HasSubstr("\n    a.tar\n"));
  EXPECT_THAT(ran.out, HasSubstr("(assumed)"));
  EXPECT_THAT(ran.out, HasSubstr("are free"));
}

TEST_F(PublishMannersTest, ADryRunSaysThatAPublishWouldBeRefused) {
  Write("a.tar", Tar(30));
  SetQuota(1000);
  const Ran ran = Publish({"--dry-run"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.report()["refused"]["code"], "no_space");
}

TEST_F(PublishMannersTest, ADryRunRefusesADirectoryOfAnotherProgramAsAPublishDoes) {
  Write("a.tar", Tar(3));
  scratch_.Write("ix/other", "x");
  EXPECT_EQ(Publish({"--dry-run"}).code, 2);
}

TEST_F(PublishMannersTest, LimitsOfReadingDoNotChangeWhatIsPublished) {
  Write("a.tar", Tar(30));
  const json plain = Publish().report();
  std::filesystem::remove_all(index_);
  const Ran limited = Publish({"--max-rate", "1G", "--max-iops", "100000", "--back-off"});
  ASSERT_EQ(limited.code, 0) << limited.err;
  EXPECT_EQ(limited.report()["digest"], plain["digest"]);
  EXPECT_EQ(Publish({"--max-rate", "fast"}).code, 2);
}

// A publish that a limit holds back for hours, in the hands of `tarn-index throttle`.
TEST_F(PublishMannersTest, ARunningPublishIsLetGoByThrottle) {
  Write("a.tar", Tar(200, 8000));
  Ran slow;
  std::thread publishing([&] { slow = Publish({"--max-rate", "100", "--read-size", "65536"}); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  Ran shown;
  do {
    shown = Run({"throttle", "img", "--index", index_, "--json"});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (shown.code != 0 && std::chrono::steady_clock::now() < deadline);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(Run({"throttle", "other", "--index", index_}).code, 1);
  const Ran changed = Run({"throttle", "img", "--index", index_, "--max-rate", "none"});
  if (changed.code != 0) std::raise(SIGTERM);  // it would wait for hours
  publishing.join();
  ASSERT_EQ(changed.code, 0) << changed.err;
  EXPECT_THAT(changed.out, HasSubstr(": none"));
  EXPECT_EQ(shown.report()["running"][0]["max_rate"], 100);
  EXPECT_EQ(shown.report()["running"][0]["dataset"], "img");
  EXPECT_EQ(slow.code, 0) << slow.err;
  EXPECT_EQ(Run({"throttle", "--index", index_}).code, 1);
  EXPECT_EQ(Run({"throttle", "--index", index_, "--max-rate", "fast"}).code, 2);
}

}  // namespace
}  // namespace tarn::indexer

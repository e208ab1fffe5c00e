// tarn-index watch, run in-process on a dataset that `tarn-index publish` made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <thread>

#include "tarn/dataset/archive_states.h"
#include "tests/unit/indexer/publish_fixture.h"

namespace tarn::indexer {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class WatchTest : public PublishFixture {
 protected:
  WatchTest() {
    Write("a.tar", Tar(3));
    Write("b.tar", Tar(300, 2000, 2));
    Write("labels.csv", "1,2\n");
    for (const char* const name : {"a.tar", "b.tar", "labels.csv"}) SetTime(name, std::chrono::seconds(1000));
    EXPECT_EQ(Publish().code, 0);
  }
  Ran Watch(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"watch", "--index", index_, "--source", scratch_ / "base"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(std::move(arguments));
  }
  // The report on the one dataset.
  json Once(std::vector<std::string> more = {}, int code = 0) {
    more.insert(more.end(), {"--once", "--json"});
    const Ran ran = Watch(more);
    EXPECT_EQ(ran.code, code) << ran.out << ran.err;
    const json report = json::parse(ran.out, nullptr, false);
    return report.is_object() && report["datasets"].size() == 1 ? report["datasets"][0] : json();
  }
  // Flips a byte and puts size and mtime back.
  void Rot(const std::string& name, size_t offset) {
    struct stat before {};
    const std::string path = data_ + "/" + name;
    ASSERT_EQ(::stat(path.c_str(), &before), 0);
    std::string bytes = support::Scratch::Read(path);
    bytes[offset] ^= 1;
    Write(name, bytes);
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  dataset::DatasetStates States() {
    auto states = dataset::ReadStates(index_, "img");
    EXPECT_TRUE(states.ok()) << states.status().ToString();
    return states.ok() ? *states : dataset::DatasetStates();
  }
};

TEST_F(WatchTest, AsPublishedIsSoundAndStandsInStates) {
  const json report = Once();
  EXPECT_EQ(report["as_published"], 3);
  EXPECT_EQ(report["unpublished"]["count"], 0);
  EXPECT_GT(States().looked_at, 0);
  EXPECT_TRUE(States().verdicts.empty());
}

TEST_F(WatchTest, TouchedIsVerifiedByTheScrub) {
  SetTime("a.tar", std::chrono::seconds(500));
  EXPECT_EQ(Once({}, 1)["touched"], 1);
  EXPECT_EQ(Once({"--scrub"})["verified"], 1);
  // And known from then on.
  EXPECT_EQ(Once()["verified"], 1);
  EXPECT_EQ(States().verdicts.at(0).state, dataset::ArchiveVerdict::State::kVerified);
}

TEST_F(WatchTest, SizeAndMtimePutBackAreFoundByTheScrubAlone) {
  Rot("b.tar", 300'000);
  EXPECT_EQ(Once()["as_published"], 3);
  const json report = Once({"--scrub"}, 1);
  EXPECT_EQ(report["changed"], 1);
  EXPECT_THAT(std::string(report["verdicts"][0]["message"]), HasSubstr("chunk 2 (offset 262144)"));
  EXPECT_EQ(Once({}, 1)["changed"], 1);
}

TEST_F(WatchTest, MissingIsSaidAndItsReturn) {
  const std::string path = data_ + "/a.tar";
  std::filesystem::rename(path, scratch_ / "aside");
  const json report = Once({}, 1);
  EXPECT_EQ(report["missing"], 1);
  EXPECT_EQ(report["verdicts"][0]["path"], "a.tar");
  const int64_t since = States().verdicts.at(0).since;
  EXPECT_GT(since, 0);
  EXPECT_THAT(Watch({"--once"}).out,
              AllOf(HasSubstr("img: 'a.tar' is missing"), HasSubstr("put the file back")));
  EXPECT_EQ(States().verdicts.at(0).since, since);
  std::filesystem::rename(scratch_ / "aside", path);
  EXPECT_EQ(Once()["as_published"], 3);
  EXPECT_TRUE(States().verdicts.empty());
}

TEST_F(WatchTest, UnpublishedArchivesAreCountedAndPublishedOnceSettled) {
  Write("sub/new.tar", Tar(2, 100, 3));
  Write("notes.txt", "no archive");
  const json counted = Once({}, 1);
  EXPECT_EQ(counted["unpublished"]["count"], 1);
  EXPECT_EQ(counted["unpublished"]["names"], json({"sub/new.tar"}));
  EXPECT_EQ(States().unpublished->names, std::vector<std::string>{"sub/new.tar"});
  // It was written just now.
  EXPECT_EQ(Once({"--publish", "--settle", "3600"}, 1)["unpublished"]["count"], 1);
  const json published = Once({"--publish", "--settle", "0"});
  EXPECT_EQ(published["published"], json({2}));
  EXPECT_EQ(published["unpublished"]["count"], 0);
  EXPECT_TRUE(Rows(2).contains("sub/new.tar"));
}

TEST_F(WatchTest, NothingIsPublishedWhileAnArchiveIsMissing) {
  Write("new.tar", Tar(2, 100, 3));
  std::filesystem::remove(data_ + "/a.tar");
  const Ran ran = Watch({"--once", "--publish", "--settle", "0"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("not published: 1 archives of the newest generation"));
  EXPECT_FALSE(std::filesystem::exists(index_ + "/datasets/img/2"));
}

TEST_F(WatchTest, ASecondWatchIsRefused) {
  auto lock = io::FileLock::TryAcquire(index_ + "/watch.lock");
  ASSERT_TRUE(lock.ok() && lock->has_value());
  const Ran ran = Watch({"--once"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("another 'tarn-index watch' watches"));
}

TEST_F(WatchTest, ANameThatIsNotThereIsRefusedAtTheStart) {
  EXPECT_EQ(Watch({"--once", "--dataset", "imh"}).code, 3);
  EXPECT_EQ(Watch({"--scrub"}).code, 2);
}

TEST_F(WatchTest, FsckDoesNotMindAWatch) {
  Once();
  const Ran fsck = Run({"fsck", "--index", index_});
  EXPECT_EQ(fsck.code, 0) << fsck.out;
  EXPECT_EQ(fsck.out.find("is not Tarn's"), std::string::npos) << fsck.out;
}

TEST_F(WatchTest, ARunningWatchTellsEventsAndEndsCleanly) {
  std::filesystem::remove(data_ + "/a.tar");
  // Ends the watch when it has written what it saw, or after so long that it never will.
  std::thread ender([this] {
    for (int i = 0; i < 600; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const auto states = dataset::ReadStates(index_, "img");
      if (states.ok() && !states->verdicts.empty() && states->looked_at > 0) break;
    }
    ::kill(::getpid(), SIGTERM);
  });
  const Ran ran = Watch({"--json", "--interval", "1"});
  ender.join();
  EXPECT_EQ(ran.code, 0) << ran.err;
  const json event = json::parse(ran.out.substr(0, ran.out.find('\n')));
  EXPECT_EQ(event["event"], "missing");
  EXPECT_EQ(event["path"], "a.tar");
  EXPECT_EQ(States().verdicts.size(), 1U);
  EXPECT_GT(States().scrub.round_started, 0);
}

}  // namespace
}  // namespace tarn::indexer

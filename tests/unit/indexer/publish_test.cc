// tarn-index publish as its users meet it: command lines in, reports and exit codes out, in one process.
#include "indexer/publish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tarn/digest/archive_digester.h"
#include "tests/unit/indexer/publish_fixture.h"

namespace tarn::indexer {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PublishTest : public PublishFixture {};

TEST_F(PublishTest, ADirectoryOfArchivesAndFilesBecomesAGeneration) {
  Write("train/a.tar", Tar(3));
  Write("b.tar", Tar(5, 100, 2));
  Write("labels.csv", "x,y\n");
  const std::string before = Listing();
  const Ran ran = Publish();
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json report = ran.report();
  EXPECT_EQ(report["reference"], "img@1");
  EXPECT_EQ(report["published"], true);
  EXPECT_EQ(report["archives"], 2);
  EXPECT_EQ(report["loose_files"], 1);
  EXPECT_EQ(report["members"], 10);
  EXPECT_EQ(report["bytes_read"], report["bytes"]);
  EXPECT_EQ(report["source_path"], "img");
  EXPECT_EQ(report["errors"], 0);
  EXPECT_EQ(report["warnings"], 0);
  EXPECT_EQ(Listing(), before);

  const auto rows = Rows(1);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows.at("train/a.tar").id.digest, digest::DigestOf(Tar(3)));
  EXPECT_EQ(rows.at("train/a.tar").members, 4U);
  EXPECT_EQ(rows.at("labels.csv").kind, index::ManifestKind::kLooseFile);
  EXPECT_TRUE(Reader(1)->CheckWhole().ok());
  EXPECT_EQ(Reader(1)->facts().digest.ToHex(), report["digest"]);
}

TEST_F(PublishTest, PublishingAgainReadsNothingAndChangesNothing) {
  Write("a.tar", Tar(3));
  Write("labels.csv", "x,y\n");
  LetTimePass();
  ASSERT_EQ(Publish().code, 0);
  const Ran again = Publish();
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.report()["published"], false);
  EXPECT_EQ(again.report()["generation"], 1);
  EXPECT_EQ(again.report()["bytes_read"], 0);
  EXPECT_EQ(again.report()["files_unchanged"], 2);
}

TEST_F(PublishTest, FilesThatWereJustWrittenAreReadAgainOnceAndThenTrusted) {
  Write("a.tar", Tar(3));
  ASSERT_EQ(Publish().code, 0);  // within a tick of the file's time stamp, or not: both must come out right
  LetTimePass();
  EXPECT_EQ(Publish().report()["published"], false);
  const json third = Publish().report();
  EXPECT_EQ(third["published"], false);
  EXPECT_EQ(third["bytes_read"], 0);
}

TEST_F(PublishTest, OneChangedArchiveIsReadAloneAndMakesANewGeneration) {
  Write("a.tar", Tar(3));
  Write("b.tar", Tar(4));
  LetTimePass();
  ASSERT_EQ(Publish().code, 0);
  Write("b.tar", Tar(4, 700, 99));  // the same size
  LetTimePass();
  const json report = Publish().report();
  EXPECT_EQ(report["reference"], "img@2");
  EXPECT_EQ(report["files_read"], 1);
  EXPECT_EQ(report["files_unchanged"], 1);
  EXPECT_EQ(report["bytes_read"], Tar(4).size());
  EXPECT_EQ(Rows(1).at("b.tar").id.digest, digest::DigestOf(Tar(4)));
  EXPECT_EQ(Rows(2).at("b.tar").id.digest, digest::DigestOf(Tar(4, 700, 99)));
  EXPECT_EQ(Rows(2).at("a.tar").number, Rows(1).at("a.tar").number);
}

TEST_F(PublishTest, FullIdentityReadsEverythingAndStillFindsNothingChanged) {
  Write("a.tar", Tar(3));
  Write("labels.csv", "x,y\n");
  LetTimePass();
  ASSERT_EQ(Publish().code, 0);
  const json report = Publish({"--identity", "full"}).report();
  EXPECT_EQ(report["published"], false);
  EXPECT_EQ(report["bytes_read"], report["bytes"]);
  EXPECT_EQ(report["bundles_reused"], 2);
}

TEST_F(PublishTest, ARenamedArchiveKeepsItsNumberAndItsBundle) {
  Write("a.tar", Tar(3));
  Write("b.tar", Tar(4));
  ASSERT_EQ(Publish().code, 0);
  std::filesystem::rename(data_ + "/b.tar", data_ + "/c.tar");
  const json report = Publish().report();
  EXPECT_EQ(report["reference"], "img@2");
  EXPECT_GE(report["bundles_reused"], 1);
  EXPECT_EQ(Rows(2).at("c.tar").number, Rows(1).at("b.tar").number);
}

TEST_F(PublishTest, HowItIsReadDoesNotChangeTheResult) {
  for (int i = 0; i < 12; ++i) {
    Write("d" + std::to_string(i % 3) + "/" + std::to_string(i) + ".tar", Tar(20 + i, 3000, 7 + i));
  }
  const std::string digest = Publish().report()["digest"];
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--jobs", "1", "--depth", "1"},
                                             {"--jobs", "7", "--read-size", "4096", "--depth", "9"},
                                             {"--jobs", "3", "--memory", "1M"}}) {
    std::filesystem::remove_all(index_);
    const Ran ran = Publish(options);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.report()["digest"], digest);
    EXPECT_TRUE(Reader(1)->CheckWhole().ok());
  }
}

TEST_F(PublishTest, NamesAreBytes) {
  Write("caf\xc3\xa9/\xff\xfe \n.tar", Tar(1));
  const Ran ran = Publish();
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(Rows(1).count("caf\xc3\xa9/\xff\xfe \n.tar"), 1U);
}

TEST_F(PublishTest, ASelectionPublishesWhatItSelects) {
  Write("train/a.tar", Tar(1));
  Write("old/b.tar", Tar(1));
  Write("labels.csv", "x");
  Write("c.shard", Tar(2));
  const json report =
      Publish({"--exclude", "old", "--include", "*.tar", "--include", "*.shard", "--archive-glob", "*.shard"})
          .report();
  EXPECT_EQ(report["archives"], 2);
  EXPECT_EQ(report["loose_files"], 0);
}

TEST_F(PublishTest, ALooseFileCanBecomeAnArchiveAndBack) {
  Write("c.shard", Tar(2));
  LetTimePass();
  EXPECT_EQ(Publish().report()["loose_files"], 1);
  const json as_archive = Publish({"--archive-glob", "*.shard"}).report();
  EXPECT_EQ(as_archive["reference"], "img@2");
  EXPECT_EQ(as_archive["archives"], 1);
  EXPECT_EQ(as_archive["members"], 3);
  EXPECT_TRUE(Reader(2)->CheckWhole().ok());
  const json as_file = Publish().report();
  EXPECT_EQ(as_file["reference"], "img@3");
  EXPECT_EQ(as_file["loose_files"], 1);
  EXPECT_TRUE(Reader(1)->CheckWhole().ok());
}

// ---- Files that are being written

TEST_F(PublishTest, AYoungFileIsLeftOutByNameWhenItDoesNotSettle) {
  Write("old.tar", Tar(2));
  SetTime("old.tar", std::chrono::hours(1));
  Write("young.tar", Tar(3));
  const Ran ran = Publish({"--settle", "60", "--settle-timeout", "1"});
  EXPECT_EQ(ran.code, 1);
  const json report = ran.report();
  EXPECT_EQ(report["archives"], 1);
  ASSERT_EQ(report["left_out"].size(), 1U);
  EXPECT_EQ(report["left_out"][0]["path"], "young.tar");
  EXPECT_THAT(std::string(report["left_out"][0]["reason"]), HasSubstr("not settled"));
  EXPECT_EQ(report["bytes_read"], Tar(2).size());
}

TEST_F(PublishTest, AYoungFileIsWaitedFor) {
  Write("young.tar", Tar(3));
  const Ran ran = Publish({"--settle", "1", "--settle-timeout", "60"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.report()["archives"], 1);
}

TEST_F(PublishTest, AnArchiveCutBetweenMembersCountsAsUnsettledWhileItIsYoung) {
  Write("cut.tar", CutTar());
  Write("other.tar", Tar(2));
  SetTime("cut.tar", std::chrono::hours(1));  // as a copy that keeps times leaves it; its ctime is young
  SetTime("other.tar", std::chrono::hours(1));
  const Ran ran = Publish({"--settle", "60", "--settle-timeout", "1"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.report()["archives"], 1);
  ASSERT_EQ(ran.report()["left_out"].size(), 1U);
  EXPECT_THAT(std::string(ran.report()["left_out"][0]["reason"]), HasSubstr("MISSING_EOF"));
}

TEST_F(PublishTest, AnOldArchiveWithoutEndMarkerIsPublishedWithAWarning) {
  Write("cut.tar", CutTar());
  const Ran ran = Publish();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.report()["findings_by_code"]["MISSING_EOF"], 1);
  EXPECT_EQ(ran.report()["archives"], 1);
}

// ---- Damage

TEST_F(PublishTest, ADamagedArchiveIsQuarantinedAndTheOthersArePublished) {
  Write("bad.tar", DamagedTar());
  Write("good.tar", Tar(2));
  LetTimePass();
  for (const char* again : {"first", "from its hints"}) {
    const Ran ran = Publish();
    EXPECT_EQ(ran.code, 1) << again;
    const json report = ran.report();
    EXPECT_THAT(std::vector<std::string>(report["quarantined"]), ElementsAre("bad.tar"));
    EXPECT_EQ(report["archives"], 1);
    EXPECT_GE(report["errors"], 1);
    EXPECT_EQ(report["findings_by_code"]["BAD_CHECKSUM"], 1);
    EXPECT_EQ(report["findings"][0]["path"], "bad.tar");
    EXPECT_EQ(report["findings"][0]["offset"], 512);
    EXPECT_EQ(report["generation"], 1);
  }
  EXPECT_EQ(Rows(1).at("bad.tar").kind, index::ManifestKind::kQuarantined);
}

TEST_F(PublishTest, OnDamageFailPublishesNothing) {
  Write("bad.tar", DamagedTar());
  Write("good.tar", Tar(2));
  const Ran ran = Publish({"--on-damage", "fail"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("'bad.tar' (BAD_CHECKSUM at offset 512)"));
  EXPECT_EQ(ran.report()["published"], false);
  EXPECT_FALSE(std::filesystem::exists(index_ + "/datasets/img"));
}

TEST_F(PublishTest, OnDamagePublishShowsWhatIsWhole) {
  Write("bad.tar", DamagedTar());
  const Ran ran = Publish({"--on-damage", "publish"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.report()["archives"], 1);
  EXPECT_EQ(Rows(1).at("bad.tar").kind, index::ManifestKind::kArchive);
  EXPECT_GE(ran.report()["errors"], 1);
}

TEST_F(PublishTest, ACompressedArchiveIsAFindingAndTheRestIsPublished) {
  Write("a.tar.gz", "\x1f\x8b\x08 compressed");
  Write("b.tar", "\x28\xb5\x2f\xfd compressed");
  Write("c.tar", Tar(1));
  LetTimePass();
  for (const char* again : {"first", "from its hints"}) {
    const Ran ran = Publish();
    EXPECT_EQ(ran.code, 0) << again;
    EXPECT_EQ(ran.report()["findings_by_code"]["COMPRESSED"], 2);
    EXPECT_EQ(ran.report()["archives"], 1);
    EXPECT_EQ(ran.report()["loose_files"], 2);
  }
  EXPECT_EQ(Publish().report()["bytes_read"], 0);
}

// ---- What a user does wrong

TEST_F(PublishTest, ALinkThatLeadsNowhereIsLeftOutByName) {
  Write("a.tar", Tar(1));
  std::filesystem::create_symlink("gone.tar", data_ + "/b.tar");
  const Ran ran = Publish();
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.report()["left_out"][0]["path"], "b.tar");
  EXPECT_EQ(ran.report()["left_out"][0]["code"], "not_found");
  EXPECT_EQ(ran.report()["archives"], 1);
}

TEST_F(PublishTest, WhenEverythingIsLeftOutNothingIsPublished) {
  std::filesystem::create_directories(data_);
  std::filesystem::create_symlink("gone.tar", data_ + "/b.tar");
  const Ran ran = Publish();
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("nothing is left to publish"));
  EXPECT_EQ(ran.report()["published"], false);
}

TEST_F(PublishTest, AnEmptyDatasetDirectoryIsAnErrorThatSaysSo) {
  std::filesystem::create_directories(data_ + "/empty");
  const Ran ran = Publish();
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("holds no archives and no files"));
  EXPECT_EQ(ran.report()["error"]["code"], "not_found");
}

TEST_F(PublishTest, ASelectionOfNothingIsAnErrorThatSaysSo) {
  Write("a.tar", Tar(1));
  const Ran ran = Publish({"--include", "*.zip"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("that are selected"));
  EXPECT_THAT(ran.err, HasSubstr("--include"));
}

TEST_F(PublishTest, ADatasetDirectoryThatIsNotThereIsNamed) {
  const Ran ran = Publish();
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("dataset directory '" + data_ + "' does not exist"));
  EXPECT_FALSE(std::filesystem::exists(index_));
}

TEST_F(PublishTest, AFileIsNoDatasetDirectory) {
  scratch_.Write("base/img", "");
  EXPECT_EQ(Publish().code, 2);
}

TEST_F(PublishTest, AnIndexRootInsideTheDatasetIsRefusedBeforeAnythingIsWritten) {
  Write("a.tar", Tar(1));
  const std::string before = Listing();
  const Ran ran = Run({"publish", data_, "--name", "img", "--index", data_ + "/ix"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("inside the dataset directory"));
  EXPECT_EQ(Listing(), before);
}

TEST_F(PublishTest, AnEmptyIndexRootIsMade) {
  Write("a.tar", Tar(1));
  std::filesystem::create_directories(index_);
  EXPECT_EQ(Publish().code, 0);
}

TEST_F(PublishTest, ADirectoryOfAnotherProgramIsNoIndexRoot) {
  Write("a.tar", Tar(1));
  scratch_.Write("ix/precious", "data");
  const Ran ran = Publish();
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no Tarn index root"));
  EXPECT_THAT(ran.err, HasSubstr("precious"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(index_), {}), 1);
}

TEST_F(PublishTest, ANewerFormatIsRefusedAndNothingIsChanged) {
  Write("a.tar", Tar(1));
  ASSERT_EQ(Publish().code, 0);
  std::string format = support::Scratch::Read(index_ + "/format");
  const size_t version = format.find_first_of("0123456789");
  ASSERT_NE(version, std::string::npos);
  format.replace(version, 1, "9");
  scratch_.Write("ix/format", format);
  Write("b.tar", Tar(2));
  const Ran ran = Publish();
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("9"));
  EXPECT_FALSE(std::filesystem::exists(index_ + "/datasets/img/2"));
  EXPECT_EQ(support::Scratch::Read(index_ + "/format"), format);
}

TEST_F(PublishTest, AReadOnlyIndexRootIsAnErrorThatNamesIt) {
  Write("a.tar", Tar(1));
  const Ran ran = Run({"publish", data_, "--name", "img", "--index", "/proc/tarn-index"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("/proc/tarn-index"));
}

TEST_F(PublishTest, ErrorsSayWhichSourceTheIndexRootCameFrom) {
  Write("a.tar", Tar(1));
  scratch_.Write("ix/precious", "data");
  const Ran from_environment = Run({"publish", data_, "--name", "img"}, {{"TARN_INDEX", index_}});
  EXPECT_EQ(from_environment.code, 2);
  EXPECT_THAT(from_environment.err, HasSubstr("from TARN_INDEX"));
  const std::string config = scratch_.Write("config", "index = " + index_ + "\n");
  const Ran from_file = Run({"publish", data_, "--name", "img"}, {{"TARN_CONFIG", config}});
  EXPECT_THAT(from_file.err, HasSubstr(config + ":1"));
}

TEST_F(PublishTest, WithoutAnIndexRootTheHelpNamesTheWaysToGiveOne) {
  Write("a.tar", Tar(1));
  const Ran ran = Run({"publish", data_, "--name", "img"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--index"));
  EXPECT_THAT(ran.err, HasSubstr("TARN_INDEX"));
}

TEST_F(PublishTest, ANameThatCannotBeADatasetIsUsage) {
  Write("a.tar", Tar(1));
  for (const char* name : {"", "../x", "-x", "a b", "a/b", "a@1"}) {
    EXPECT_EQ(Run({"publish", data_, "--name", name, "--index", index_}).code, 2) << name;
  }
  EXPECT_FALSE(std::filesystem::exists(index_));
}

TEST_F(PublishTest, CommandLinesThatCannotBeRightAreUsage) {
  EXPECT_EQ(Run({}).code, 2);
  const Ran mistyped = Run({"publsh"});
  EXPECT_EQ(mistyped.code, 2);
  EXPECT_THAT(mistyped.err, HasSubstr("did you mean 'publish'"));
  const Ran unknown = Run({"publish", data_, "--name", "img", "--jobz", "3"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean '--jobs'"));
  EXPECT_EQ(Run({"publish", data_, "--name", "img", "--jobs", "0"}).code, 2);
  EXPECT_EQ(Run({"publish", data_, "--name", "img", "--on-damage", "ignore"}).code, 2);
  EXPECT_EQ(Run({"publish", data_, "--name", "img", "--settle", "-1"}).code, 2);
  EXPECT_EQ(Run({"publish"}).code, 2);
}

TEST_F(PublishTest, HelpAndVersionAreFine) {
  EXPECT_THAT(Run({"--version"}).out, HasSubstr("tarn-index "));
  EXPECT_THAT(Run({"--help"}).out, HasSubstr("publish"));
  const Ran help = Run({"publish", "--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* option :
       {"--settle-timeout", "--on-damage", "--identity", "--archive-glob", "130 and 143"}) {
    EXPECT_THAT(help.out, HasSubstr(option));
  }
}

TEST_F(PublishTest, TheReportForPeopleNamesWhatMatters) {
  Write("bad.tar", DamagedTar());
  Write("good.tar", Tar(2));
  const Ran ran = Run({"publish", data_, "--name", "img", "--index", index_, "--settle", "0"});
  EXPECT_EQ(ran.code, 1);
  for (const char* text : {"published img@1", "members     3", "BAD_CHECKSUM", "quarantined 1", "bad.tar",
                           "offset 512", "digest "}) {
    EXPECT_THAT(ran.out, HasSubstr(text));
  }
}

TEST_F(PublishTest, NothingIsLeftInStaging) {
  Write("a.tar", Tar(2));
  LetTimePass();
  ASSERT_EQ(Publish().code, 0);
  for (const auto& item : std::filesystem::recursive_directory_iterator(index_ + "/staging")) {
    EXPECT_TRUE(item.is_directory() && item.path().string().find("journals") != std::string::npos)
        << item.path();
  }
}

TEST_F(PublishTest, ADamagedBundleIsMadeAgain) {
  Write("a.tar", Tar(2));
  LetTimePass();
  ASSERT_EQ(Publish().code, 0);
  const auto root = index::IndexRoot::Open(index_);
  const std::string bundle = (*root)->BundlePath(Rows(1).at("a.tar").id);
  std::filesystem::remove(bundle);
  std::ofstream(bundle) << "rubbish";
  const Ran ran = Publish({"--identity", "full"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(std::filesystem::file_size(bundle), 7U);
}

TEST_F(PublishTest, DatasetsDoNotDependOnEachOther) {
  Write("a.tar", Tar(2));
  ASSERT_EQ(Publish().code, 0);
  const Ran other = Run({"publish", data_, "--name", "other", "--index", index_, "--settle", "0", "--json"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(other.report()["reference"], "other@1");
  EXPECT_EQ(other.report()["bundles_reused"], 1);
}

}  // namespace
}  // namespace tarn::indexer

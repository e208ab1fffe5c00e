// Kept files: what is chosen, copied, left out and said.
#include "indexer/keep_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tarn/index/kept_files.h"
#include "tests/unit/indexer/publish_fixture.h"

namespace tarn::indexer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- What is chosen ---------------------------------------------------------------------------------------

KeepCandidate Loose(const std::string& path, uint64_t bytes, uint64_t content) {
  return {path, bytes, ArchiveId{bytes, Digest{content, content}}, /*is_loose=*/true};
}
KeepCandidate Archive(const std::string& path, uint64_t bytes) {
  return {path, bytes, ArchiveId{bytes, Digest{bytes, 1}}, /*is_loose=*/false};
}
std::vector<std::string> Paths(const KeepChoice& choice) {
  std::vector<std::string> paths;
  for (const auto& file : choice.files) paths.push_back(file.file.path);
  return paths;
}

TEST(ChooseKeptTest, SmallLooseFilesUnaskedAndArchivesByName) {
  const std::vector<KeepCandidate> files = {Loose("labels.csv", 10, 1), Loose("large.bin", 101, 2),
                                            Archive("val/a.tar", 5), Archive("train/b.tar", 5)};
  EXPECT_THAT(Paths(ChooseKept({.globs = {}, .most_bytes = 100}, files)), ElementsAre("labels.csv"));
  EXPECT_THAT(Paths(ChooseKept({.globs = {"val/**", "large.*"}, .most_bytes = 100}, files)),
              ElementsAre("large.bin", "val/a.tar", "labels.csv"));
  EXPECT_THAT(Paths(ChooseKept({.globs = {"val/**"}, .none = true}, files)), IsEmpty());
}

TEST(ChooseKeptTest, TheSmallestComeFirstAndTheRestIsSaid) {
  const std::vector<KeepCandidate> files = {Loose("c", 30, 3), Loose("a", 10, 1), Loose("b", 20, 2)};
  const KeepChoice choice = ChooseKept({.globs = {}, .most_bytes_together = 30}, files);
  EXPECT_THAT(Paths(choice), ElementsAre("a", "b"));
  EXPECT_THAT(choice.notes, ElementsAre(HasSubstr("1 loose files")));
  EXPECT_THAT(choice.notes, ElementsAre(HasSubstr("--keep GLOB")));
}

TEST(ChooseKeptTest, TheBoundCountsTheSameBytesOnceAndNotWhatWasAskedFor) {
  const std::vector<KeepCandidate> files = {Loose("a", 20, 1), Loose("again", 20, 1), Loose("asked", 500, 9),
                                            Loose("b", 10, 2)};
  const KeepChoice choice = ChooseKept({.globs = {"asked"}, .most_bytes_together = 30}, files);
  EXPECT_THAT(Paths(choice), ElementsAre("asked", "b", "a", "again"));
  EXPECT_THAT(choice.notes, IsEmpty());
}

TEST(ChooseKeptTest, APatternThatNamesNothingIsSaid) {
  EXPECT_THAT(ChooseKept({.globs = {"vla/**"}}, {Archive("val/a.tar", 5)}).notes,
              ElementsAre(HasSubstr("'vla/**' names no file")));
}

// ---- Publishing -------------------------------------------------------------------------------------------

class KeepTest : public PublishFixture {
 protected:
  void SetUp() override {
    Write("labels.csv", kLabels);
    Write("large.bin", std::string(100'000, 'x'));
    Write("val/v.tar", Tar(3, 700, 5));
    Write("train/t.tar", Tar(3, 700, 6));
    LetTimePass();
  }
  std::string KeptFile(const std::string& path, uint32_t generation = 1) {
    return index_ + "/" + index::KeptPath(Rows(generation).at(path).id);
  }
  uint64_t KeptCount() {
    const auto root = index::IndexRoot::Open(index_);
    const auto kept = index::ListKept(**root, nullptr);
    EXPECT_TRUE(kept.ok()) << kept.status().ToString();
    return kept.ok() ? kept->size() : 0;
  }

  const std::string kLabels = "a,b\n1,2\n";
};

TEST_F(KeepTest, ByDefaultLooseFilesAreKeptAndArchivesAreNot) {
  const std::string before = Listing();
  const Ran ran = Publish();
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.report()["kept"]["files"], 2);
  EXPECT_EQ(ran.report()["kept"]["copied_bytes"], kLabels.size() + 100'000);
  EXPECT_EQ(support::Scratch::Read(KeptFile("labels.csv")), kLabels);
  EXPECT_FALSE(std::filesystem::exists(KeptFile("val/v.tar")));
  EXPECT_EQ(std::filesystem::status(KeptFile("labels.csv")).permissions(), std::filesystem::perms(0444));
  EXPECT_EQ(Listing(), before);
}

TEST_F(KeepTest, AGlobKeepsArchivesOfAnUnchangedDatasetToo) {
  ASSERT_EQ(Publish().code, 0);
  const Ran again = Publish({"--keep", "val/**"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.report()["published"], false);
  EXPECT_EQ(again.report()["kept"]["files"], 3);
  EXPECT_EQ(again.report()["kept"]["copied_files"], 1);
  EXPECT_EQ(again.report()["bytes_read"], 0);
  EXPECT_EQ(support::Scratch::Read(KeptFile("val/v.tar")), support::Scratch::Read(data_ + "/val/v.tar"));
  EXPECT_EQ(Publish({"--keep", "val/**"}).report()["kept"]["copied_files"], 0);
}

TEST_F(KeepTest, KeepMaxBoundsWhatIsKeptUnasked) {
  const Ran ran = Publish({"--keep-max", "1K"});
  EXPECT_EQ(ran.report()["kept"]["files"], 1);
  EXPECT_TRUE(std::filesystem::exists(KeptFile("labels.csv")));
}

TEST_F(KeepTest, NoKeepKeepsNothing) {
  const Ran ran = Publish({"--no-keep"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.report()["kept"].is_null());
  EXPECT_FALSE(std::filesystem::exists(index_ + "/kept"));
}

TEST_F(KeepTest, KeepAndNoKeepContradictEachOther) {
  const Ran ran = Publish({"--no-keep", "--keep", "val/**"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--keep"));
  EXPECT_FALSE(std::filesystem::exists(index_));
}

TEST_F(KeepTest, ADatasetWithoutLooseFilesSaysNothing) {
  std::filesystem::remove(data_ + "/labels.csv");
  std::filesystem::remove(data_ + "/large.bin");
  EXPECT_EQ(Publish().report()["kept"]["files"], 0);
  EXPECT_FALSE(std::filesystem::exists(index_ + "/kept"));
  const Ran text = Run({"publish", data_, "--name", "img", "--index", index_, "--settle", "0"});
  EXPECT_THAT(text.out, testing::Not(HasSubstr("kept")));
}

TEST_F(KeepTest, AQuarantinedArchiveIsNotKept) {
  Write("val/bad.tar", DamagedTar());
  const Ran ran = Publish({"--keep", "bad.tar"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_FALSE(std::filesystem::exists(KeptFile("val/bad.tar")));
  EXPECT_THAT(ran.out, HasSubstr("names no file that is shown"));
}

TEST_F(KeepTest, ADryRunSaysWhatWouldBeKept) {
  const Ran dry = Publish({"--dry-run", "--keep", "val/**"});
  ASSERT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(dry.report()["kept"]["files"], 3);
  EXPECT_EQ(dry.report()["kept"]["files_to_copy"], 3);
  EXPECT_FALSE(std::filesystem::exists(index_));
  ASSERT_EQ(Publish().code, 0);
  EXPECT_EQ(Publish({"--dry-run", "--keep", "val/**"}).report()["kept"]["files_to_copy"], 1);
}

TEST_F(KeepTest, TheCommitOfAPlanKeepsToo) {
  ASSERT_EQ(Run({"plan", data_, "--name", "img", "--index", index_, "--shares", "1"}).code, 0);
  ASSERT_EQ(Run({"worker", "--name", "img", "--index", index_, "--share", "1/1", "--settle", "0"}).code, 0);
  const Ran ran = Run({"commit", "--name", "img", "--index", index_, "--keep", "val/**", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.report()["kept"]["copied_files"], 3);
  EXPECT_TRUE(std::filesystem::exists(KeptFile("val/v.tar")));
  EXPECT_FALSE(std::filesystem::exists(KeptFile("train/t.tar")));
}

TEST_F(KeepTest, TheQuotaCountsKeptBytes) {
  ASSERT_EQ(Publish({"--no-keep"}).code, 0);
  ASSERT_EQ(Run({"quota", "img", "--index", index_, "--bytes", "90000"}).code, 0);
  const Ran refused = Publish();
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("--no-keep"));
  EXPECT_EQ(Publish({"--no-keep"}).code, 0);
}

TEST_F(KeepTest, DuAndGcCountAndTakeKeptFiles) {
  ASSERT_EQ(Publish().code, 0);
  const auto usage = Run({"du", "--index", index_, "--json"}).report();
  EXPECT_EQ(usage["kept_files"], 2);
  EXPECT_EQ(usage["unreferenced_kept_files"], 0);
  std::filesystem::remove(data_ + "/labels.csv");
  ASSERT_EQ(Publish().code, 0);
  ASSERT_EQ(Run({"retire", "img@1", "--index", index_}).code, 0);
  // The retired generation is still there for its grace.
  EXPECT_EQ(Run({"gc", "--index", index_, "--json"}).report()["kept_files"], 0);
  const std::string labels = KeptFile("labels.csv");
  const Ran taken = Run({"gc", "--index", index_, "--grace", "0s", "--json"});
  ASSERT_EQ(taken.code, 0) << taken.err;
  EXPECT_EQ(taken.report()["kept_files"], 1);
  EXPECT_FALSE(std::filesystem::exists(labels));
  EXPECT_EQ(KeptCount(), 1);
}

TEST_F(KeepTest, FsckFindsAFlippedByteAndAWrongSize) {
  ASSERT_EQ(Publish().code, 0);
  ASSERT_EQ(Run({"fsck", "--index", index_}).code, 0);
  const std::string labels = KeptFile("labels.csv"), large = KeptFile("large.bin");
  for (const std::string& path : {labels, large}) {
    std::filesystem::permissions(path, std::filesystem::perms(0644));
  }
  std::ofstream(labels, std::ios::binary) << "a,b\n1,3\n";
  std::filesystem::resize_file(large, 99'999);
  const Ran ran = Run({"fsck", "--index", index_, "--json"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.report()["problem_count"], 2);
  EXPECT_THAT(ran.out, HasSubstr(labels));
  EXPECT_THAT(ran.out, HasSubstr("99999 bytes"));
  // The next publish makes the short one whole; the flipped byte is for who checks the bytes.
  EXPECT_EQ(Publish().report()["kept"]["copied_files"], 1);
  EXPECT_EQ(std::filesystem::file_size(large), 100'000u);
}

// ---- What changes between reading and keeping -------------------------------------------------------------

class KeepPassTest : public KeepTest {
 protected:
  // Keeps the files of generation 1 as if they had just been read.
  PublishReport Keep(KeepOptions keep) {
    auto root = index::IndexRoot::Open(index_);
    EXPECT_TRUE(root.ok());
    const auto staging = (*root)->MakeStagingDirectory("test");
    const auto source = io::OpenSource(scratch_ / "base");
    EXPECT_TRUE(source.ok());
    std::vector<dataset::PublishedFile> files;
    for (const auto& [path, row] : Rows(1)) {
      files.push_back({.path = path, .kind = row.kind, .id = row.id, .hint = {}, .access = {}, .facts = {}});
    }
    Progress progress(&std::cerr, ProgressStyle::kNone);
    const KeepContext context{.root = root->get(),
                              .source = source->get(),
                              .source_path = "img",
                              .staging = *staging,
                              .progress = &progress};
    PublishOptions options;
    options.keep = std::move(keep);
    PublishReport report;
    report.dataset = "img";
    const Status kept = KeepFiles(context, options, files, &report);
    EXPECT_TRUE(kept.ok()) << kept.ToString();
    EXPECT_TRUE(report.kept.has_value());
    return report;
  }
};

TEST_F(KeepPassTest, AChangedFileIsNotKeptAndSaidByName) {
  ASSERT_EQ(Publish({"--no-keep"}).code, 0);
  Write("labels.csv", "a,b\n1,3\n");              // the same size
  Write("large.bin", std::string(90'000, 'x'));   // another
  std::filesystem::remove(data_ + "/val/v.tar");  // and one that is gone
  const PublishReport report = Keep({.globs = {"val/**"}});
  EXPECT_EQ(report.kept->files, 0u);
  EXPECT_EQ(report.kept->missed, 1u);  // of those that were asked for
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("labels.csv: it was changed"),
                                        HasSubstr("large.bin: it was changed"), HasSubstr("val/v.tar")));
  EXPECT_EQ(KeptCount(), 0u);
}

TEST_F(KeepPassTest, TheBoundIsAnOption) {
  ASSERT_EQ(Publish({"--no-keep"}).code, 0);
  const PublishReport report = Keep({.globs = {}, .most_bytes_together = 1000});
  EXPECT_EQ(report.kept->files, 1u);
  EXPECT_EQ(report.kept->copied_bytes, kLabels.size());
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("1 loose files")));
}

}  // namespace
}  // namespace tarn::indexer

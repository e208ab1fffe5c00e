#include "indexer/scanner.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "indexer/places.h"
#include "tests/support/scratch.h"

namespace tarn::indexer {
namespace {

class ScannerTest : public ::testing::Test {
 protected:
  Scan Run(const Selection& selection = {}) {
    Result<std::shared_ptr<io::Source>> source = io::OpenSource(scratch_ / "base");
    EXPECT_TRUE(source.ok());
    Result<Scan> scan = ScanDataset(**source, "img", selection);
    EXPECT_TRUE(scan.ok()) << scan.status().ToString();
    return scan.ok() ? *std::move(scan) : Scan();
  }
  static std::vector<std::string> Paths(const Scan& scan) {
    std::vector<std::string> paths;
    for (const ScannedFile& file : scan.files) paths.push_back(file.path);
    return paths;
  }
  void Link(const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, scratch_ / ("base/img/" + name));
  }

  const support::Scratch scratch_;
  const std::string first_ = scratch_.Write("base/img/train/a.tar", "aaa");
  const std::string second_ = scratch_.Write("base/img/labels.csv", "b");
};

TEST_F(ScannerTest, FindsFilesInOrderWithTheirSizes) {
  scratch_.Write("base/img/train/deep/er/z.tar", "");
  scratch_.Write("base/img/.hidden", "");
  const Scan scan = Run();
  EXPECT_EQ(Paths(scan),
            (std::vector<std::string>{".hidden", "labels.csv", "train/a.tar", "train/deep/er/z.tar"}));
  EXPECT_EQ(scan.files[2].stat.identity.size, 3U);
  EXPECT_TRUE(scan.left_out.empty());
  EXPECT_TRUE(scan.notes.empty());
}

TEST_F(ScannerTest, LinksToFilesAreFollowedWithinTheSourceRoot) {
  scratch_.Write("base/shared/c.tar", "cccc");
  Link("train/a.tar", "same.tar");
  Link("../shared/c.tar", "beside.tar");
  const Scan scan = Run();
  EXPECT_EQ(Paths(scan), (std::vector<std::string>{"beside.tar", "labels.csv", "same.tar", "train/a.tar"}));
  EXPECT_EQ(scan.files[0].stat.identity.size, 4U);
}

TEST_F(ScannerTest, LinksThatLeaveOrLeadNowhereOrRoundAreLeftOutByName) {
  scratch_.Write("outside.tar", "x");
  Link("../../outside.tar", "leaves.tar");
  Link("nowhere", "dangling.tar");
  Link("circle", "circle");
  const Scan scan = Run();
  EXPECT_EQ(Paths(scan), (std::vector<std::string>{"labels.csv", "train/a.tar"}));
  ASSERT_EQ(scan.left_out.size(), 3U);
  EXPECT_EQ(scan.left_out[0].path, "circle");
  EXPECT_EQ(scan.left_out[1].path, "dangling.tar");
  EXPECT_EQ(scan.left_out[1].reason.code(), ErrorCode::kNotFound);
  EXPECT_EQ(scan.left_out[2].path, "leaves.tar");
  EXPECT_EQ(scan.left_out[2].reason.code(), ErrorCode::kPermissionDenied);
}

TEST_F(ScannerTest, LinksToDirectoriesMakeNoCircles) {
  Link(".", "self");
  Link("train", "again");
  const Scan scan = Run();
  EXPECT_EQ(Paths(scan), (std::vector<std::string>{"labels.csv", "train/a.tar"}));
  EXPECT_EQ(scan.notes.size(), 2U);
}

TEST_F(ScannerTest, SpecialFilesAreNotedAndNeverOpened) {
  ASSERT_EQ(::mkfifo((scratch_ / "base/img/fifo").c_str(), 0600), 0);
  const Scan scan = Run();
  EXPECT_EQ(scan.files.size(), 2U);
  ASSERT_EQ(scan.notes.size(), 1U);
  EXPECT_NE(scan.notes[0].find("fifo"), std::string::npos);
}

TEST_F(ScannerTest, ExcludedDirectoriesAreNotEntered) {
  scratch_.Write("base/img/tmp/x.tar", "");
  const Scan scan = Run(Selection{.include = {"*.tar"}, .exclude = {"tmp"}, .archive_glob = {}});
  EXPECT_EQ(Paths(scan), std::vector<std::string>{"train/a.tar"});
}

TEST_F(ScannerTest, RemovedButOpenFilesOfNfsAreNoFiles) {
  scratch_.Write("base/img/.nfs00000000abcdef0100000002", "");
  EXPECT_EQ(Paths(Run()), (std::vector<std::string>{"labels.csv", "train/a.tar"}));
}

class PlacesTest : public ::testing::Test {
 protected:
  PlacesTest() { scratch_.Write("base/sub/img/a", ""); }

  const support::Scratch scratch_;
  const std::string directory_ = scratch_ / "base/sub/img";
};

TEST_F(PlacesTest, TheParentIsTheBaseUnlessToldOtherwise) {
  const auto places = ResolvePlaces(directory_, std::nullopt, scratch_ / "ix");
  ASSERT_TRUE(places.ok()) << places.status().ToString();
  EXPECT_EQ(places->base, scratch_ / "base/sub");
  EXPECT_EQ(places->source_path, "img");
  EXPECT_EQ(ResolvePlaces(directory_ + "/", scratch_ / "base", "ix")->source_path, "sub/img");
  EXPECT_EQ(ResolvePlaces(directory_, directory_, scratch_ / "ix")->source_path, "");
}

TEST_F(PlacesTest, ADirectoryOutsideTheBaseIsRefused) {
  scratch_.Write("base/su/x", "");
  const auto places = ResolvePlaces(directory_, scratch_ / "base/su", scratch_ / "ix");
  EXPECT_EQ(places.code(), ErrorCode::kInvalidArgument);
}

TEST_F(PlacesTest, TheIndexRootIsNeverInTheDatasetNorTheDatasetInIt) {
  for (const std::string& index : {directory_, directory_ + "/ix", directory_ + "/new/deep/ix"}) {
    const auto places = ResolvePlaces(directory_, std::nullopt, index);
    EXPECT_EQ(places.code(), ErrorCode::kInvalidArgument) << index;
    EXPECT_NE(places.status().message().find("inside the dataset"), std::string::npos);
  }
  EXPECT_EQ(ResolvePlaces(directory_, std::nullopt, scratch_ / "base").code(), ErrorCode::kInvalidArgument);
  // Beside it, also with a name that starts like it, is fine.
  EXPECT_TRUE(ResolvePlaces(directory_, std::nullopt, directory_ + "-index").ok());
}

TEST_F(PlacesTest, ALinkDoesNotHideThatTheIndexRootIsInTheDataset) {
  std::filesystem::create_symlink(directory_, scratch_ / "link");
  EXPECT_EQ(ResolvePlaces(directory_, std::nullopt, scratch_ / "link/ix").code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(ResolvePlaces(scratch_ / "link", std::nullopt, directory_ + "/ix").code(),
            ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tarn::indexer

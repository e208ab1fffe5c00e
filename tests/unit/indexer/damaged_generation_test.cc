// A damaged newest generation does not stand in the way of the next one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/indexer/publish_fixture.h"

namespace tarn::indexer {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

class DamagedGenerationTest : public PublishFixture {
 protected:
  void SetUp() override {
    Write("a.tar", Tar(20));
    Write("labels.csv", "x,y\n");
    LetTimePass();
    ASSERT_EQ(Publish().code, 0);
    Write("b.tar", Tar(20, 700, 2));
    LetTimePass();
    ASSERT_EQ(Publish().code, 0);
    number_of_b_ = Rows(2).at("b.tar").number;
  }

  std::vector<std::string> FilesOf(uint32_t generation) {
    std::vector<std::string> files;
    for (const auto& item : std::filesystem::directory_iterator(Directory(index_, generation))) {
      files.push_back(item.path().filename());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  static std::string Directory(const std::string& index, uint32_t generation) {
    return index + "/datasets/img/" + std::to_string(generation);
  }
  // A copy of the root, with the links that tables and bundles share.
  std::string CopyRoot(const std::string& name) {
    std::string copy = scratch_ / name;
    EXPECT_EQ(std::system(("cp -a '" + index_ + "' '" + copy + "'").c_str()), 0);
    return copy;
  }
  Ran PublishTo(const std::string& index, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"publish", data_,    "--name",   "img", "--index",
                                          index,     "--json", "--settle", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(std::move(arguments));
  }
  // The dataset's newest generation is `generation`, is whole, and b.tar has a number that nothing else had.
  void ExpectWhole(const std::string& index, uint32_t generation) {
    const auto reader = index::GenerationReader::Open(Directory(index, generation));
    ASSERT_TRUE(reader.ok()) << reader.status().ToString();
    EXPECT_TRUE((*reader)->CheckWhole().ok());
    const auto root = index::IndexRoot::Open(index);
    EXPECT_EQ(*(*root)->Latest("img"), generation);
    EXPECT_TRUE((*reader)
                    ->ForEachManifestRow([this](const index::ManifestRow& row) {
                      EXPECT_TRUE(row.path == "b.tar" || row.number != number_of_b_) << row.path;
                      return Status::Ok();
                    })
                    .ok());
  }

  uint32_t number_of_b_ = 0;
};

void Truncate(const std::string& path) {
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
}
void FlipAByte(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(std::filesystem::file_size(path) / 2);
  file.seekg(at);
  const char byte = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 0x20));
  ASSERT_TRUE(file.flush());
}
void Remove(const std::string& path) {
  std::filesystem::remove(path);
}

TEST_F(DamagedGenerationTest, WhateverFileOfItIsDamagedAPublishGoesOn) {
  const std::pair<const char*, void (*)(const std::string&)> kinds[] = {
      {"truncated", Truncate}, {"flipped", FlipAByte}, {"removed", Remove}};
  for (const auto& [kind, damage] : kinds) {
    for (const std::string& file : FilesOf(2)) {
      SCOPED_TRACE(std::string(kind) + " " + file);
      const std::string index = CopyRoot(std::string(kind) + "-" + file);
      damage(Directory(index, 2) + "/" + file);
      // Looked at closely: every byte that is needed is wrong or right, and the next generation is whole.
      const Ran ran = PublishTo(index, {"--identity", "full"});
      ASSERT_EQ(ran.code, 0) << ran.err;
      const json report = ran.report();
      if (report["published"]) {
        EXPECT_EQ(report["generation"], 3);
        EXPECT_THAT(report["notes"], Contains(HasSubstr("generation 'img@2' is damaged")));
        ExpectWhole(index, 3);
      } else {
        // A file that no reader needs.
        EXPECT_EQ(report["generation"], 2);
        ExpectWhole(index, 2);
      }
      EXPECT_EQ(Run({"publish", data_, "--name", "img", "--index", index, "--settle", "0"}).code, 0);
    }
  }
}

TEST_F(DamagedGenerationTest, WithoutItsManifestItIsPassedOverByThePlainPublishToo) {
  for (const std::string& file : FilesOf(2)) {
    if (!file.starts_with("MANIFEST")) continue;
    Remove(Directory(index_, 2) + "/" + file);
  }
  const Ran ran = Publish();
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json report = ran.report();
  EXPECT_EQ(report["reference"], "img@3");
  EXPECT_THAT(report["notes"], Contains(HasSubstr("'tarn-index retire img@2'")));
  // Its own rows can still be read, and all bundles are there: nothing is read again, numbers stay.
  EXPECT_EQ(report["bytes_read"], 0);
  EXPECT_EQ(Rows(3).at("b.tar").number, number_of_b_);
  ExpectWhole(index_, 3);
  EXPECT_EQ(Publish().report()["published"], false);
}

TEST_F(DamagedGenerationTest, WithoutItsOwnRowsNumbersThatItMayHaveUsedAreNotUsedAgain) {
  std::string own;
  for (const std::string& file : FilesOf(2)) {
    if (file.ends_with(".sst")) own = std::max(own, file);
  }
  Remove(Directory(index_, 2) + "/" + own);
  const Ran ran = Publish();
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.report()["notes"], Contains(HasSubstr("its numbers are not known")));
  EXPECT_GT(Rows(3).at("b.tar").number, number_of_b_);
  EXPECT_EQ(Rows(3).at("a.tar").number, 1U);
  ExpectWhole(index_, 3);
}

TEST_F(DamagedGenerationTest, AnImportGoesOnToo) {
  const std::string file = scratch_ / "export";
  ASSERT_EQ(Run({"export", "img@2", file, "--index", index_}).code, 0);
  Remove(Directory(index_, 2) + "/CURRENT");
  const Ran ran = Run({"import", file, "--index", index_, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.report()["generation"], 3);
  EXPECT_THAT(ran.report()["warnings"], Contains(HasSubstr("generation 'img@2' is damaged")));
  EXPECT_THAT(ran.err, HasSubstr("warning: generation 'img@2' is damaged"));
  ExpectWhole(index_, 3);
}

TEST_F(DamagedGenerationTest, AQuotaDoesNotBlockTheRepair) {
  ASSERT_EQ(Run({"quota", "img", "--bytes", "10M", "--index", index_}).code, 0);
  Remove(Directory(index_, 2) + "/CURRENT");
  EXPECT_EQ(Publish().code, 0);
  ExpectWhole(index_, 3);
}

}  // namespace
}  // namespace tarn::indexer

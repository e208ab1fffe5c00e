#include "tarn/io/file_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "tests/support/scratch.h"

namespace tarn::io {
namespace {

using testing::ElementsAre;

class FileFactsTest : public testing::Test {
 protected:
  support::Scratch scratch_;
};

TEST_F(FileFactsTest, TwoNamesOfOneFileAgree) {
  const std::string path = scratch_.Write("a", "12345");
  std::filesystem::create_hard_link(path, scratch_ / "b");
  const auto a = LookAt(path);
  const auto b = LookAt(scratch_ / "b");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->bytes, 5U);
  EXPECT_EQ(a->links, 2U);
  EXPECT_EQ(a->inode, b->inode);
  EXPECT_EQ(a->device, b->device);
  EXPECT_GT(a->mtime_ns, 0);
  EXPECT_EQ(LookAt(scratch_ / "c").code(), ErrorCode::kNotFound);
}

TEST_F(FileFactsTest, AWalkVisitsFilesInOrderAndFollowsNoLink) {
  scratch_.Write("d/b/2", "");
  scratch_.Write("d/a", "");
  scratch_.Write("outside/x", "");
  std::filesystem::create_symlink(scratch_ / "outside", scratch_ / "d/link");
  std::filesystem::create_directories(scratch_ / "d/empty");
  std::vector<std::string> seen;
  ASSERT_TRUE(WalkFiles(scratch_ / "d", [&](const std::string& path, const FileFacts& facts) {
                seen.push_back(path.substr(scratch_.path().size()));
                EXPECT_EQ(facts.type == FileType::kSymlink, path.ends_with("link"));
                return Status::Ok();
              }).ok());
  EXPECT_THAT(seen, ElementsAre("/d/a", "/d/b/2", "/d/link"));
}

TEST_F(FileFactsTest, AWalkOfWhatIsNotThereFailsAndAnErrorOfTheVisitorEndsIt) {
  const auto visit = [](const std::string&, const FileFacts&) {
    return Status(ErrorCode::kCancelled, "stop");
  };
  EXPECT_EQ(WalkFiles(scratch_ / "missing", visit).code(), ErrorCode::kNotFound);
  scratch_.Write("f", "");
  EXPECT_EQ(WalkFiles(scratch_.path(), visit).code(), ErrorCode::kCancelled);
}

TEST_F(FileFactsTest, WhatVanishesWhileItIsWalkedIsLeftOut) {
  scratch_.Write("a", "");
  scratch_.Write("b/c", "");
  scratch_.Write("d", "");
  std::vector<std::string> seen;
  ASSERT_TRUE(WalkFiles(scratch_.path(), [&](const std::string& path, const FileFacts&) {
                seen.push_back(path.substr(scratch_.path().size()));
                std::filesystem::remove_all(scratch_ / "b");
                std::filesystem::remove(scratch_ / "d");
                return Status::Ok();
              }).ok());
  EXPECT_THAT(seen, ElementsAre("/a"));
}

}  // namespace
}  // namespace tarn::io

#include "tarn/index/kept_files.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tarn::index

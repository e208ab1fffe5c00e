#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "tests/unit/dataset/tree_fixture.h"

namespace tarn::dataset {
namespace {

using testing::ElementsAre;

struct Listed {
  std::string name;
  Attributes attributes;
  uint64_t cookie = 0;
};

class ListingTest : public TreeTest {
 protected:
  std::vector<Listed> List(NodeId node, uint64_t cookie = 0, bool with_attributes = true,
                           size_t most = SIZE_MAX) {
    std::vector<Listed> listed;
    const Status status = tree_->List(node, cookie, with_attributes, [&](const ListedEntry& entry) {
      if (listed.size() == most) return false;
      listed.push_back({std::string(entry.name), entry.attributes, entry.cookie});
      return true;
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
    return listed;
  }
  std::vector<std::string> Names(NodeId node) {
    std::vector<std::string> names;
    for (const Listed& entry : List(node)) names.push_back(entry.name);
    return names;
  }
  std::vector<NodeId> Directories() {
    return {root_,
            At("train").node,
            At("deep").node,
            At("train/n01").node,
            At("train/n01/made").node,
            At("train/n01/named").node};
  }
};

TEST_F(ListingTest, NamesComeInOrderOfTheirBytes) {
  EXPECT_THAT(Names(root_), ElementsAre("deep", "labels.csv", "train"));
  EXPECT_THAT(Names(At("train").node), ElementsAre("n01"));
  EXPECT_THAT(Names(At("train/n01").node),
              ElementsAre("device", "empty", "fifo", "hard", "holes", "link", "made", "named", "sparse"));
}

TEST_F(ListingTest, EveryEntryIsWhatALookupOfItsNameGives) {
  for (const NodeId directory : Directories()) {
    for (const Listed& entry : List(directory)) {
      const auto child = tree_->Lookup(directory, entry.name);
      ASSERT_TRUE(child.ok() && *child) << entry.name;
      EXPECT_EQ(entry.attributes.node, (*child)->node) << entry.name;
      EXPECT_EQ(entry.attributes.mode, (*child)->mode) << entry.name;
      EXPECT_EQ(entry.attributes.size, (*child)->size) << entry.name;
      EXPECT_EQ(entry.attributes.links, (*child)->links) << entry.name;
      EXPECT_EQ(entry.attributes.mtime, (*child)->mtime) << entry.name;
    }
  }
}

TEST_F(ListingTest, WithoutAttributesNodeAndTypeAreThereAndNoMemberIsRead) {
  const auto full = List(At("train/n01").node);
  const int rows = generation_->member_rows + generation_->cursor_members;
  const auto bare = List(At("train/n01").node, 0, false);
  EXPECT_EQ(generation_->member_rows + generation_->cursor_members, rows);
  ASSERT_EQ(bare.size(), full.size());
  for (size_t i = 0; i < bare.size(); ++i) {
    EXPECT_EQ(bare[i].attributes.node, full[i].attributes.node) << bare[i].name;
    EXPECT_EQ(bare[i].attributes.mode, full[i].attributes.mode & S_IFMT) << bare[i].name;
    EXPECT_EQ(bare[i].cookie, full[i].cookie) << bare[i].name;
  }
}

TEST_F(ListingTest, FilesAreReadWithTheCursorNotOneByOne) {
  const NodeId archive = At("train/n01").node;
  generation_->member_rows = 0;
  List(archive);
  EXPECT_EQ(generation_->member_rows, 1) << "the directory that a member names";
  EXPECT_EQ(generation_->cursor_members, 7);
}

TEST_F(ListingTest, EveryCookieGoesOnBehindItsEntry) {
  for (const NodeId directory : Directories()) {
    const std::vector<Listed> all = List(directory);
    for (size_t i = 0; i < all.size(); ++i) {
      const std::vector<Listed> rest = List(directory, all[i].cookie);
      ASSERT_EQ(rest.size(), all.size() - i - 1) << all[i].name;
      for (size_t j = 0; j < rest.size(); ++j) EXPECT_EQ(rest[j].name, all[i + 1 + j].name);
    }
  }
}

TEST_F(ListingTest, CookiesAreStableNumbersOfTheirNames) {
  // Values that kernels may hold across an upgrade: do not change.
  std::vector<uint64_t> cookies;
  for (const Listed& entry : List(root_)) cookies.push_back(entry.cookie);
  EXPECT_THAT(cookies, ElementsAre(1U << 4 | 10, 2U << 4 | 11, 2U << 4 | 10));
  cookies.clear();
  for (const Listed& entry : List(At("train/n01").node)) cookies.push_back(entry.cookie);
  EXPECT_THAT(cookies, ElementsAre(7U << 4 | 8, 6U << 4 | 8, 8U << 4 | 8, 4U << 4 | 8, 9U << 4 | 8,
                                   3U << 4 | 8, 1U << 4 | 9, 1U << 4 | 8, 5U << 4 | 8));
}

TEST_F(ListingTest, CookiesAreDistinctPositiveAndLeaveRoomForDots) {
  for (const NodeId directory : Directories()) {
    std::set<uint64_t> seen;
    for (const Listed& entry : List(directory)) {
      EXPECT_TRUE(seen.insert(entry.cookie).second);
      EXPECT_GE(entry.cookie, 8U);
      EXPECT_LT(entry.cookie, uint64_t{1} << 63);
    }
  }
}

TEST_F(ListingTest, ACookieOfAnotherDirectoryOrOfNobodyIsRefused) {
  const uint64_t of_named = List(At("train/n01/named").node)[0].cookie;
  const uint64_t of_root = List(root_)[0].cookie;
  const auto code_of = [&](NodeId node, uint64_t cookie) {
    return tree_->List(node, cookie, false, [](const ListedEntry&) { return true; }).code();
  };
  EXPECT_EQ(code_of(At("train/n01").node, of_named), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(At("train").node, of_root), ErrorCode::kInvalidArgument);
  for (const uint64_t cookie :
       {uint64_t{1}, uint64_t{7}, uint64_t{12}, uint64_t{0} << 4 | 9, uint64_t{0} << 4 | 10,
        uint64_t{12345} << 4 | 8, uint64_t{12345} << 4 | 11, UINT64_MAX}) {
    for (const NodeId directory : Directories()) {
      EXPECT_EQ(code_of(directory, cookie), ErrorCode::kInvalidArgument) << cookie;
    }
  }
}

TEST_F(ListingTest, AListingStopsWhereTheVisitorSaysAndGoesOnFromThere) {
  const NodeId archive = At("train/n01").node;
  std::vector<std::string> names;
  uint64_t cookie = 0;
  while (true) {
    const auto some = List(archive, cookie, true, 2);
    if (some.empty()) break;
    for (const Listed& entry : some) names.push_back(entry.name);
    cookie = some.back().cookie;
  }
  EXPECT_EQ(names, Names(archive));
}

TEST_F(ListingTest, OnlyDirectoriesAreListed) {
  EXPECT_EQ(tree_->List(At("labels.csv").node, 0, false, [](const ListedEntry&) { return true; }).code(),
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tarn::dataset

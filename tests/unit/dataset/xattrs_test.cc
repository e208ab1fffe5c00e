#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/dataset/tree_fixture.h"

namespace tarn::dataset {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class XattrsTest : public TreeTest {
 protected:
  std::vector<std::string> Names(const std::string& path) { return *tree_->ListXattrs(At(path).node); }
  std::string Value(NodeId node, const std::string& name) {
    const auto value = tree_->GetXattr(node, name);
    EXPECT_TRUE(value.ok() && *value) << name;
    return value.ok() && *value ? **value : "";
  }
  std::string Value(const std::string& path, const std::string& name) { return Value(At(path).node, name); }
};

TEST_F(XattrsTest, AFileSaysWhereItsBytesLie) {
  EXPECT_THAT(Names("train/n01/made/up/a.JPEG"),
              ElementsAre("user.tarn.archive_id", "user.tarn.data_offset", "user.tarn.size"));
  EXPECT_EQ(Value("train/n01/made/up/a.JPEG", "user.tarn.archive_id"), archive_.id.ToString());
  EXPECT_EQ(Value("train/n01/made/up/a.JPEG", "user.tarn.size"), "13");
  const size_t offset = std::stoul(Value("train/n01/made/up/a.JPEG", "user.tarn.data_offset"));
  EXPECT_EQ(archive_.bytes.substr(offset, 13), kContents);
}

TEST_F(XattrsTest, ALooseFileIsItsOwnArchive) {
  EXPECT_THAT(Names("labels.csv"),
              ElementsAre("user.tarn.archive_id", "user.tarn.data_offset", "user.tarn.size"));
  EXPECT_EQ(Value("labels.csv", "user.tarn.data_offset"), "0");
  EXPECT_EQ(Value("labels.csv", "user.tarn.size"), std::to_string(sizeof kLabels - 1));
}

TEST_F(XattrsTest, OnlyOneContiguousExtentHasADataOffset) {
  for (const char* path : {"train/n01/sparse", "train/n01/empty", "train/n01/holes"}) {
    EXPECT_THAT(Names(path), ElementsAre("user.tarn.archive_id", "user.tarn.size")) << path;
  }
}

TEST_F(XattrsTest, DirectoriesNameGenerationAndArchiveAndTheRootTheDigest) {
  EXPECT_THAT(*tree_->ListXattrs(root_), ElementsAre("user.tarn.generation", "user.tarn.digest"));
  EXPECT_EQ(Value(root_, "user.tarn.generation"), "imagenet@7");
  EXPECT_EQ(Value(root_, "user.tarn.digest"), facts_.digest.ToHex());
  EXPECT_THAT(Names("train"), ElementsAre("user.tarn.generation"));
  EXPECT_THAT(Names("train/n01/made"),
              ElementsAre("user.tarn.generation", "user.tarn.archive", "user.tarn.archive_id"));
  EXPECT_EQ(Value("train/n01/made", "user.tarn.archive"), "train/n01.tar");
}

TEST_F(XattrsTest, AttributesOfTheMemberAreShownOnceAndUnderTheirOwnNames) {
  EXPECT_THAT(Names("train/n01/named/b.JPEG"),
              ElementsAre("user.tarn.archive_id", "user.tarn.data_offset", "user.tarn.size", "user.caption",
                          "security.capability"));
  EXPECT_EQ(Value("train/n01/named/b.JPEG", "user.caption"), "a cat");
  EXPECT_EQ(Value("train/n01/named/b.JPEG", "security.capability"), std::string("\1\0", 2));
}

TEST_F(XattrsTest, AMemberCannotSpeakForTarn) {
  EXPECT_EQ(Value("train/n01/named/b.JPEG", "user.tarn.size"), "6");
}

TEST_F(XattrsTest, LinksDevicesAndFifosHaveNoUserAttributes) {
  for (const char* path : {"train/n01/link", "train/n01/device", "train/n01/fifo"}) {
    EXPECT_THAT(Names(path), IsEmpty()) << path;
  }
}

TEST_F(XattrsTest, PosixAclsAreAnsweredWithoutReadingARow) {
  const NodeId node = At("train/n01/named/b.JPEG").node;
  const int rows = generation_->member_rows;
  for (const char* name : {"system.posix_acl_access", "system.posix_acl_default", "odd"}) {
    EXPECT_FALSE(tree_->GetXattr(node, name)->has_value()) << name;
  }
  EXPECT_EQ(generation_->member_rows, rows);
}

TEST_F(XattrsTest, WhatIsNotThereIsAnAnswer) {
  EXPECT_FALSE(tree_->GetXattr(root_, "user.caption")->has_value());
  EXPECT_FALSE(tree_->GetXattr(At("train").node, "user.tarn.archive")->has_value());
}

}  // namespace
}  // namespace tarn::dataset

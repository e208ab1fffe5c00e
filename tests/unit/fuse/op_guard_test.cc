#include "fuse/op_guard.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tarn::fuse {
namespace {

TEST(OpGuardTest, AnExceptionBecomesAnInternalError) {
  const FileSystem file_system(nullptr, dataset::NodeId(7));
  Reply reply(nullptr);
  const Status named =
      RunGuarded([](const FileSystem&, Reply&) -> Status { throw std::runtime_error("out of luck"); },
                 file_system, reply);
  EXPECT_EQ(named.code(), ErrorCode::kInternal);
  EXPECT_NE(named.message().find("out of luck"), std::string::npos);
  const Status nameless =
      RunGuarded([](const FileSystem&, Reply&) -> Status { throw 7; }, file_system, reply);
  EXPECT_EQ(nameless.code(), ErrorCode::kInternal);
}

TEST(OpGuardTest, TheRootOfTheMountIsNumberOneAndNothingElseIs) {
  const dataset::NodeId root = dataset::NodeId::Directory(3, 7, 0);
  const FileSystem file_system(nullptr, root);
  EXPECT_EQ(file_system.NodeOf(1), root);
  EXPECT_EQ(file_system.InodeOf(root), 1U);
  const dataset::NodeId file = dataset::NodeId::File(3, 1, 5);
  EXPECT_EQ(file_system.InodeOf(file), file.value());
  EXPECT_EQ(file_system.NodeOf(file.value()), file);
}

TEST(OpGuardTest, InodeNumbersAreNodeIdsAlsoForTheRoot) {
  const dataset::Attributes attributes{.node = dataset::NodeId::Directory(3, 7, 0), .mode = S_IFDIR | 0555};
  EXPECT_EQ(ToStat(attributes).st_ino, attributes.node.value());
}

}  // namespace
}  // namespace tarn::fuse

#include "dataset/attributes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/unit/dataset/tree_fixture.h"

namespace tarn::dataset {
namespace {

class AttributesTest : public TreeTest {
 protected:
  uint32_t ModeOf(const std::string& path) { return At(path).mode & 07777; }
  void With(AccessMode access, uint32_t umask = 0) {
    FileTreeOptions options;
    options.access = access;
    options.umask = umask;
    Use(options);
  }
};

constexpr char kMade[] = "train/n01/made";                // no member names it
constexpr char kPlain[] = "train/n01/made/up/a.JPEG";     // 0644, 501:502
constexpr char kExecutable[] = "train/n01/named/b.JPEG";  // 06755
constexpr char kNamed[] = "train/n01/named";              // 0750

TEST_F(AttributesTest, ByDefaultWhoeverMayReadTheArchiveMayReadItsMembers) {
  // The archive is 0640, 21:22.
  EXPECT_EQ(ModeOf(kPlain), 0440U);
  EXPECT_EQ(ModeOf(kExecutable), 0550U) << "execute bits of the member, where the archive may be read";
  EXPECT_EQ(ModeOf(kNamed), 0550U);
  EXPECT_EQ(ModeOf(kMade), 0550U);
  EXPECT_EQ(ModeOf("train/n01"), 0550U);
  EXPECT_EQ(At(kPlain).uid, 21U);
  EXPECT_EQ(At(kPlain).gid, 22U);
}

TEST_F(AttributesTest, AMemberOf0600IsReadableWithItsArchive) {
  index::MemberRecord member;
  member.mode = 0600;
  EXPECT_EQ(MemberAttributes({}, {0644, 1, 2}, NodeId(5), member).mode, S_IFREG | 0444U);
  EXPECT_EQ(MemberAttributes({}, {0600, 1, 2}, NodeId(5), member).mode, S_IFREG | 0400U);
  EXPECT_EQ(MemberAttributes({}, {0, 1, 2}, NodeId(5), member).mode, S_IFREG | 0U);
}

TEST_F(AttributesTest, AccessFollowsTheArchiveFileNotThePublication) {
  source_->Edit("data/imagenet/train/n01.tar", [](testing_support::FakeSource::File* file) {
    file->access = {0400, 1, 2};
  });
  Use({});
  EXPECT_EQ(ModeOf(kPlain), 0400U);
  EXPECT_EQ(At(kPlain).uid, 1U);
}

TEST_F(AttributesTest, MemberAccessIsTheTarsOwnWithoutWriteAndSetuidBits) {
  With(AccessMode::kMember);
  EXPECT_EQ(ModeOf(kPlain), 0444U);
  EXPECT_EQ(ModeOf(kExecutable), 0555U);
  EXPECT_EQ(ModeOf(kNamed), 0550U);
  EXPECT_EQ(ModeOf(kMade), 0555U);
  EXPECT_EQ(At(kPlain).uid, 501U);
  EXPECT_EQ(At(kPlain).gid, 502U);
  EXPECT_EQ(At(kMade).uid, 21U) << "what no member stands behind is the archive's owner's";
  EXPECT_EQ(At(kExecutable).uid, 65534U) << "an owner that does not fit is shown as nobody";
}

TEST_F(AttributesTest, OpenAccessIsForEveryone) {
  With(AccessMode::kOpen);
  EXPECT_EQ(ModeOf(kPlain), 0444U);
  EXPECT_EQ(ModeOf(kExecutable), 0555U);
  EXPECT_EQ(ModeOf(kNamed), 0555U);
  EXPECT_EQ(ModeOf("labels.csv"), 0444U);
}

TEST_F(AttributesTest, NoModeShowsAWriteOrSetuidBitInAnyAccess) {
  index::MemberRecord member;
  for (const AccessMode access : {AccessMode::kArchive, AccessMode::kMember, AccessMode::kOpen}) {
    FileTreeOptions options;
    options.access = access;
    for (uint32_t mode = 0; mode <= 07777; ++mode) {
      member.mode = mode;
      const uint32_t shown = MemberAttributes(options, {mode, 0, 0}, NodeId(5), member).mode;
      ASSERT_EQ(shown & 06222U, 0U) << std::oct << mode;
    }
  }
}

TEST_F(AttributesTest, UmaskOwnerAndGroupOfTheOptionsWin) {
  FileTreeOptions options;
  options.access = AccessMode::kOpen;
  options.umask = 0077;
  options.uid = 7;
  options.gid = 8;
  Use(options);
  for (const char* path : {kPlain, kMade, "labels.csv", "train"}) {
    EXPECT_EQ(ModeOf(path) & 0077U, 0U) << path;
    EXPECT_EQ(At(path).uid, 7U) << path;
    EXPECT_EQ(At(path).gid, 8U) << path;
  }
}

TEST_F(AttributesTest, DirectoriesCountTheirSubdirectories) {
  EXPECT_EQ(tree_->GetAttributes(root_)->links, 4U);  // deep, train
  EXPECT_EQ(At("train").links, 3U) << "an archive is a subdirectory";
  EXPECT_EQ(At("train/n01").links, 4U);  // made, named
  EXPECT_EQ(At("train/n01/made").links, 3U);
  EXPECT_EQ(At("train/n01/named").links, 2U);
}

TEST_F(AttributesTest, WhatIsMadeUpShowsTheTimeOfTheArchiveOrOfThePublication) {
  EXPECT_EQ(At(kMade).mtime, kArchiveMtime);
  EXPECT_EQ(At("train").mtime, 1'700'000'000);
  EXPECT_EQ(At("labels.csv").mtime, 1'500'000'000);
  EXPECT_EQ(At("labels.csv").mtime_ns, 123U);
  EXPECT_EQ(At(kPlain).mtime, -5);
  EXPECT_EQ(At(kPlain).mtime_ns, 250U);
}

TEST_F(AttributesTest, SymlinksDevicesAndFifosAreShownAsTheyAre) {
  const Attributes link = At("train/n01/link");
  EXPECT_EQ(link.mode, S_IFLNK | 0777U);
  EXPECT_EQ(link.size, std::string("made/up/a.JPEG").size());
  const Attributes device = At("train/n01/device");
  EXPECT_TRUE(S_ISCHR(device.mode));
  EXPECT_EQ(device.device, makedev(1, 3));
  EXPECT_EQ(device.mode & 0222, 0U);
  EXPECT_TRUE(S_ISFIFO(At("train/n01/fifo").mode));
}

TEST_F(AttributesTest, BlocksCountWhatIsDataNotHoles) {
  EXPECT_EQ(At(kPlain).blocks, 1U);
  EXPECT_EQ(At("train/n01/empty").blocks, 0U);
  EXPECT_EQ(At("train/n01/sparse").size, 3015U);
  EXPECT_EQ(At("train/n01/sparse").blocks, 1U);
  EXPECT_EQ(At("train/n01/holes").blocks, 0U);
}

TEST_F(AttributesTest, TheSameNodeHasTheSameAttributesHoweverItIsAskedFor) {
  for (const char* path : {kPlain, kMade, kNamed, "train", "train/n01", "labels.csv", "train/n01/link"}) {
    const Attributes looked_up = At(path);
    const auto asked = tree_->GetAttributes(looked_up.node);
    ASSERT_TRUE(asked.ok()) << path;
    EXPECT_EQ(asked->mode, looked_up.mode) << path;
    EXPECT_EQ(asked->size, looked_up.size) << path;
    EXPECT_EQ(asked->links, looked_up.links) << path;
    EXPECT_EQ(asked->mtime, looked_up.mtime) << path;
    EXPECT_EQ(asked->node, looked_up.node) << path;
  }
}

}  // namespace
}  // namespace tarn::dataset

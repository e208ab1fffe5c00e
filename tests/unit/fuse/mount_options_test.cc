#include "fuse/mount_options.h"

#include <gmock/gmock.h>

namespace tarn::fuse {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MountOptionsTest, AListIsSplitAtCommasThatNoBackslashPrecedes) {
  EXPECT_THAT(SplitMountOptions(R"(a,b=c\,d,e=\\,,f)"), ElementsAre("a", "b=c,d", R"(e=\)", "f"));
  EXPECT_THAT(SplitMountOptions(""), IsEmpty());
}

TEST(MountOptionsTest, EachBecomesTheLongOptionOfItsName) {
  EXPECT_THAT(LongOptionsOf("access=member,allow_other,identity_interval=2,noexec"),
              ElementsAre("--access=member", "--allow-other", "--identity-interval=2", "--no-exec"));
}

TEST(MountOptionsTest, WhatEveryMountHasVanishes) {
  EXPECT_THAT(
      LongOptionsOf("rw,ro,nosuid,nodev,_netdev,nofail,x-systemd.automount,defaults,noatime,users,sync"),
      IsEmpty());
}

TEST(MountOptionsTest, WhatNobodyKnowsStaysAndIsRefusedLater) {
  EXPECT_THAT(LongOptionsOf("indx=/i"), ElementsAre("--indx=/i"));
}

TEST(MountOptionsTest, MountsOwnArgumentsAreTakenOutAndTheSpecIsTheDataset) {
  EXPECT_THAT(ExpandMountOptions({"imagenet@7", "/mnt", "-sv", "-o", "rw,index=/i", "-t", "fuse.tarn"}, true),
              ElementsAre("--index=/i", "--dataset=imagenet@7", "/mnt"));
}

TEST(MountOptionsTest, ASpecMayNameTheTypeOrNothing) {
  EXPECT_THAT(ExpandMountOptions({"tarn:imagenet", "/mnt"}, true), ElementsAre("--dataset=imagenet", "/mnt"));
  EXPECT_THAT(ExpandMountOptions({"none", "/mnt", "-o", "dataset=a"}, true),
              ElementsAre("--dataset=a", "/mnt"));
}

TEST(MountOptionsTest, WithoutMountArgumentsKeepTheirPlaces) {
  EXPECT_THAT(ExpandMountOptions({"/mnt", "-oaccess=open", "--index", "/i", "-f"}, false),
              ElementsAre("/mnt", "--access=open", "--index", "/i", "-f"));
}

}  // namespace
}  // namespace tarn::fuse

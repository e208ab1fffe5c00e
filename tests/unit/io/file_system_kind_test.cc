#include "tarn/io/file_system_kind.h"

#include <gtest/gtest.h>

#include "tests/support/scratch.h"

namespace tarn::io {
namespace {

TEST(FileSystemKindTest, NetworksAreToldByTheirMagic) {
  for (const uint64_t magic :
       {0x6969UL, 0xFE534D42UL, 0xFF534D42UL, 0x00C36400UL, 0x0BD00BD0UL, 0x47504653UL, 0x19830326UL}) {
    EXPECT_TRUE(IsNetworkFileSystem(magic, "")) << std::hex << magic;
  }
  // ext4, xfs, btrfs, tmpfs, overlayfs
  for (const uint64_t magic : {0xEF53UL, 0x58465342UL, 0x9123683EUL, 0x01021994UL, 0x794C7630UL}) {
    EXPECT_FALSE(IsNetworkFileSystem(magic, "")) << std::hex << magic;
  }
}

TEST(FileSystemKindTest, AFuseServerIsANetworksUnlessItIsKnownToShowDisks) {
  constexpr uint64_t kFuse = 0x65735546;
  for (const char* const name : {"fuse.sshfs", "fuse.gcsfuse", "fuse.juicefs", "fuse", ""}) {
    EXPECT_TRUE(IsNetworkFileSystem(kFuse, name)) << name;
  }
  for (const char* const name : {"fuseblk", "fuse.fuse-overlayfs", "fuse.mergerfs"}) {
    EXPECT_FALSE(IsNetworkFileSystem(kFuse, name)) << name;
  }
  EXPECT_FALSE(IsNetworkFileSystem(0xEF53, "fuse.sshfs")) << "the name decides for FUSE alone";
}

TEST(FileSystemKindTest, AKernelFileSystemIsNoneAndWhatIsGoneIsAnError) {
  const auto proc = IsOnNetworkFileSystem("/proc");
  ASSERT_TRUE(proc.ok()) << proc.status().ToString();
  EXPECT_FALSE(*proc);
  const support::Scratch scratch;
  EXPECT_EQ(IsOnNetworkFileSystem(scratch / "gone").code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tarn::io

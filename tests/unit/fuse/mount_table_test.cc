#include "fuse/mount_table.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/scratch.h"

namespace tarn::fuse {
namespace {

constexpr std::string_view kTable =
    "26 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "41 26 0:38 / /mnt/a\\040b ro,nosuid shared:7 master:1 - fuse.tarn tarn:one@1 ro,user_id=0\n"
    "this is no line of it\n"
    "42 26 0:39 / /mnt/a\\040b ro,nosuid - fuse.tarn tarn:two@2 ro,user_id=0\n";

TEST(MountTableTest, ALineIsReadAroundItsOptionalFields) {
  const auto table = ParseMountTable(kTable);
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[1].id, 41);
  EXPECT_EQ(table[1].device_minor, 38);
  EXPECT_EQ(table[1].mountpoint, "/mnt/a b");
  EXPECT_EQ(table[1].type, "fuse.tarn");
  EXPECT_EQ(table[1].source, "tarn:one@1");
}

TEST(MountTableTest, TheLastOfSeveralMountsAtOnePathIsTheOneThatIsSeen) {
  const auto table = ParseMountTable(kTable);
  const MountEntry* mount = FindMount(table, "/mnt/a b");
  ASSERT_NE(mount, nullptr);
  EXPECT_EQ(mount->source, "tarn:two@2");
  EXPECT_EQ(FindMount(table, "/mnt"), nullptr);
}

TEST(MountTableTest, ThisProcessHasARoot) {
  const auto table = ReadMountTable();
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_NE(FindMount(*table, "/"), nullptr);
}

TEST(MountTableTest, TheNameOfAMountpointResolvesItsParentAlone) {
  const support::Scratch scratch;
  std::filesystem::create_directory(scratch / "real");
  std::filesystem::create_directory_symlink("real", scratch / "link");
  std::filesystem::create_directory_symlink("nowhere", scratch / "real/last");
  const auto canonical = CanonicalMountpoint(scratch / "link/last/");
  ASSERT_TRUE(canonical.ok()) << canonical.status().ToString();
  EXPECT_EQ(*canonical, scratch / "real/last");
  EXPECT_EQ(CanonicalMountpoint(scratch / "missing/x").code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tarn::fuse

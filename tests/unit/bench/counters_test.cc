// What the kernel's files say, as they stand on real machines.
#include <gtest/gtest.h>
#include <unistd.h>

#include "bench/mount_info.h"
#include "bench/server_processes.h"
#include "bench/source_counter.h"
#include "tests/support/scratch.h"

namespace tarn::bench {
namespace {

constexpr char kMountStats[] =
    "device /dev/vda mounted on / with fstype ext4\n"
    "device nas:/export mounted on /data with fstype nfs4 statvers=1.1\n"
    "\topts:\tro,vers=4.2,rsize=1048576\n"
    "\tper-op statistics\n"
    "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
    "\t        READ: 1200 1201 0 264000 157286400 9 100 120 0\n"
    "\t       WRITE: 0 0 0 0 0 0 0 0 0\n"
    "device nas:/other mounted on /data/other with fstype nfs4 statvers=1.1\n"
    "\tper-op statistics\n"
    "\t        READ: 7 7 0 100 9000 9 100 120 0\n";

constexpr char kMountInfo[] =
    "26 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
    "30 26 0:44 / /data ro,relatime shared:2 - nfs4 nas:/export ro,vers=4.2,rsize=1048576,nconnect=8\n"
    "31 30 0:45 / /data/with\\040blank ro - fuse.tarn tarn:a@1 ro,max_read=131072\n"
    "32 26 0:46 / /data ro,relatime - nfs4 nas:/second ro,rsize=65536\n";

TEST(CountersTest, NfsCountsBytesReceivedByTheReadsOfItsMount) {
  const auto count = ParseMountStats(kMountStats, "/data");
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->bytes, 157286400U);
  EXPECT_EQ(count->requests, 1200U);
  EXPECT_EQ(ParseMountStats(kMountStats, "/data/other")->bytes, 9000U);
  EXPECT_EQ(ParseMountStats(kMountStats, "/").code(), ErrorCode::kNotFound);
}

TEST(CountersTest, ABlockDeviceCountsSectors) {
  const auto count = ParseBlockStat("   12345    67   2048   999 1 2 3 4 0 5 6 0 0 0 0\n");
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(count->bytes, 2048U * 512);
  EXPECT_EQ(count->requests, 12345U);
  EXPECT_EQ(ParseBlockStat("no numbers").code(), ErrorCode::kCorrupt);
}

TEST(CountersTest, TheDeepestAndLatestMountHoldsAPath) {
  EXPECT_EQ(FindMountIn(kMountInfo, "/home/x")->type, "ext4");
  EXPECT_EQ(FindMountIn(kMountInfo, "/database")->type, "ext4");
  EXPECT_EQ(FindMountIn(kMountInfo, "/data/a.tar")->source, "nas:/second");
  const auto blank = FindMountIn(kMountInfo, "/data/with blank/x");
  ASSERT_TRUE(blank.ok());
  EXPECT_EQ(blank->type, "fuse.tarn");
  EXPECT_EQ(OptionValue(blank->super_options, "max_read"), "131072");
  EXPECT_EQ(OptionValue(blank->super_options, "max"), "");
}

TEST(CountersTest, TimesOfAProcessAreFoundBehindAnyName) {
  const auto ticks = ParseStatTicks("42 (a ) b (c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 4 0 100 0\n");
  ASSERT_TRUE(ticks.ok());
  EXPECT_EQ(*ticks, 300U);
  EXPECT_EQ(ParseStatTicks("nonsense").code(), ErrorCode::kCorrupt);
  EXPECT_EQ(*ParseIoReadBytes("rchar: 5\nread_bytes: 4096\nwrite_bytes: 1\n"), 4096U);
}

TEST(CountersTest, ThisProcessCanBeLookedAt) {
  const auto use = UseOf({::getpid()});
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(UseOf({}).value().cpu_ns, 0U);
  EXPECT_EQ(UseOf({0x7ffffff0}).code(), ErrorCode::kNotFound);
}

TEST(CountersTest, ADirectoryOnNoFuseMountHasNoServers) {
  const support::Scratch scratch;
  const auto servers = FindServers(scratch.path());
  ASSERT_TRUE(servers.ok());
  EXPECT_TRUE(servers->empty());
}

}  // namespace
}  // namespace tarn::bench

#include "bench/far_server.h"

#include <gtest/gtest.h>

namespace tarn::bench {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(FarServerTest, LatenciesOverlap) {
  FarServer server({.latency_ns = kMs, .bytes_per_second = 0, .iops = 0});
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(server.ReplyAt(i, 1 << 20), i + kMs);
}

TEST(FarServerTest, TheLinkIsShared) {
  FarServer server({.latency_ns = kMs, .bytes_per_second = 1'000'000'000, .iops = 0});
  EXPECT_EQ(server.ReplyAt(0, 1'000'000), 2 * kMs);  // 1 ms there and back, 1 ms on the link
  EXPECT_EQ(server.ReplyAt(0, 1'000'000), 3 * kMs);  // behind the first
  EXPECT_EQ(server.ReplyAt(0, 0), kMs);              // no data: the link is not waited for
  EXPECT_EQ(server.ReplyAt(10 * kMs, 1'000'000), 12 * kMs);
}

TEST(FarServerTest, RequestsTakeTurns) {
  FarServer server({.latency_ns = kMs, .bytes_per_second = 0, .iops = 1000});
  EXPECT_EQ(server.ReplyAt(0, 0), kMs);
  EXPECT_EQ(server.ReplyAt(0, 0), 2 * kMs);
  EXPECT_EQ(server.ReplyAt(0, 0), 3 * kMs);
  EXPECT_EQ(server.ReplyAt(20 * kMs, 0), 21 * kMs);
}

TEST(FarServerTest, WithoutLimitsTheReplyIsThereAtOnce) {
  FarServer server(FarServerOptions{});
  EXPECT_EQ(server.ReplyAt(5, 1 << 30), 5U);
}

}  // namespace
}  // namespace tarn::bench

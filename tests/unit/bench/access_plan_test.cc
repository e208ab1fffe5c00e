#include "bench/access_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tarn::bench {
namespace {

// `count` files of 1,000 to 1,000 + `count` - 1 bytes.
MemberList MakeList(uint32_t count) {
  MemberList list;
  const uint32_t archive = list.AddArchive("/a.tar");
  const uint32_t directory = list.AddDirectory("a");
  for (uint32_t i = 0; i < count; ++i)
    list.AddTarget(archive, directory, std::to_string(i), i * 2048, 1000 + i);
  return list;
}

TEST(AccessPlanTest, NoMemberRepeatsBeforeAllWereRead) {
  const MemberList list = MakeList(100);
  const AccessPlan plan = MakePlan(list, {.reads = 250, .seed = 3});
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    std::set<uint32_t> seen;
    for (size_t i = 0; i < 100; ++i) seen.insert(plan.steps[epoch * 100 + i].target);
    EXPECT_EQ(seen.size(), 100U);
  }
  EXPECT_EQ(plan.unique_bytes, list.total_bytes());
  EXPECT_GT(plan.bytes, 2 * plan.unique_bytes);
  EXPECT_EQ(plan.largest, 1099U);
}

TEST(AccessPlanTest, TheSeedDecidesEverything) {
  const MemberList list = MakeList(100);
  const auto targets = [&](uint64_t seed) {
    std::vector<uint32_t> order;
    for (const auto& step : MakePlan(list, {.reads = 100, .seed = seed}).steps) order.push_back(step.target);
    return order;
  };
  EXPECT_EQ(targets(1), targets(1));
  EXPECT_NE(targets(1), targets(2));
}

TEST(AccessPlanTest, BlocksAreAlignedAndEndWithTheirFile) {
  const MemberList list = MakeList(50);
  PlanOptions options{
      .unit = ReadUnit::kBlock, .block_bytes = 512, .distribution = {}, .reads = 5000, .seed = 1};
  for (const bool zipf : {false, true}) {
    if (zipf) options.distribution = {DistributionKind::kZipf, 1.1};
    bool short_block = false;
    for (const auto& step : MakePlan(list, options).steps) {
      const uint64_t size = list.targets()[step.target].size;
      ASSERT_EQ(step.offset % 512, 0U);
      ASSERT_GT(step.bytes, 0U);
      ASSERT_LE(step.offset + step.bytes, size);
      short_block |= step.bytes < 512;
    }
    EXPECT_TRUE(short_block);
  }
}

TEST(AccessPlanTest, ZipfHasAHotSetThatTheSeedChooses) {
  const MemberList list = MakeList(1000);
  const auto hottest = [&](uint64_t seed) {
    std::map<uint32_t, unsigned> hits;
    PlanOptions options{.reads = 10'000, .seed = seed};
    options.distribution = {DistributionKind::kZipf, 1.2};
    const AccessPlan plan = MakePlan(list, options);
    EXPECT_LT(plan.unique_bytes, plan.bytes / 2);
    for (const auto& step : plan.steps) ++hits[step.target];
    uint32_t best = 0;
    for (const auto& [target, count] : hits) best = count > hits[best] ? target : best;
    EXPECT_GT(hits[best], 1000U);
    return best;
  };
  EXPECT_NE(hottest(1), hottest(2));
}

TEST(AccessPlanTest, DistributionsAreSpelledAsTheyAreRead) {
  EXPECT_EQ(ParseDistribution("uniform")->ToString(), "uniform");
  EXPECT_EQ(ParseDistribution("zipf")->ToString(), "zipf:1.1");
  EXPECT_EQ(ParseDistribution("zipf:0.8")->ToString(), "zipf:0.8");
  for (const char* text : {"", "zipf:", "zipf:0", "zipf:-1", "zipf:1x", "normal"})
    EXPECT_EQ(ParseDistribution(text).code(), ErrorCode::kInvalidArgument) << text;
}

}  // namespace
}  // namespace tarn::bench

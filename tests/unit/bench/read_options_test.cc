#include "bench/read_options.h"

#include <gtest/gtest.h>

namespace tarn::bench {
namespace {

TEST(ReadOptionsTest, ASweepIsTheProductOfItsAxes) {
  ReadOptions options;
  options.sweep = {"threads=1,4,16,64", "cache=cold,warm", "distribution=uniform,zipf:0.9"};
  ASSERT_TRUE(InterpretReadOptions(&options).ok());
  EXPECT_EQ(options.configurations.size(), 16U);
  EXPECT_EQ(options.configurations.back().threads, 64U);
  EXPECT_EQ(options.configurations.back().distribution.ToString(), "zipf:0.9");
}

TEST(ReadOptionsTest, ASizeThatAUnitDoesNotUseIsNoAxisOfIt) {
  ReadOptions options;
  options.cache = "warm";
  options.sweep = {"unit=member,block,stream", "block-size=4k,64k", "read-size=1MiB"};
  ASSERT_TRUE(InterpretReadOptions(&options).ok());
  ASSERT_EQ(options.configurations.size(), 4U);
  EXPECT_EQ(options.configurations[0].block_bytes, 0U);
  EXPECT_EQ(options.configurations[2].block_bytes, 64U << 10);
  EXPECT_EQ(options.configurations[3].read_bytes, 1U << 20);
}

TEST(ReadOptionsTest, RawComesFirstThenTheMountThenTheOthers) {
  ReadOptions options;
  options.mount = "/mnt";
  options.compare = {"loose=/data/loose", "cmd=cat-all --fast"};
  ASSERT_TRUE(InterpretReadOptions(&options).ok());
  ASSERT_EQ(options.contestants.size(), 4U);
  EXPECT_EQ(options.contestants[0].name, "raw");
  EXPECT_EQ(options.contestants[1].where, "/mnt");
  EXPECT_EQ(options.contestants[2].kind, ContestantKind::kFiles);
  EXPECT_EQ(options.contestants[3].kind, ContestantKind::kCommand);
  EXPECT_EQ(options.contestants[3].where, "cat-all --fast");
}

TEST(ReadOptionsTest, WhatCannotBeIsUsage) {
  const auto refused = [](auto change) {
    ReadOptions options;
    change(&options);
    const Status status = InterpretReadOptions(&options);
    return status.code() == ErrorCode::kInvalidArgument && !status.message().empty();
  };
  EXPECT_TRUE(refused([](ReadOptions* o) { o->sweep = {"colour=red"}; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->sweep = {"threads="}; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->sweep = {"threads"}; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->cache = "tepid"; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->unit = "page"; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->threads = "0"; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->threads = "100000"; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->block_size = "0"; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->ramp_up = "100%"; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->time_limit = "5"; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->compare = {"/data/loose"}; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->compare = {"raw=/x"}; }));
  EXPECT_TRUE(refused([](ReadOptions* o) { o->compare = {"a=/x", "a=/y"}; }));
}

TEST(ReadOptionsTest, ARampLeavesSomethingToCount) {
  EXPECT_EQ(*RampSteps("2%", 1000), 20U);
  EXPECT_EQ(*RampSteps("50", 1000), 50U);
  EXPECT_EQ(*RampSteps("5000", 1000), 999U);
  EXPECT_EQ(*RampSteps("0", 1000), 0U);
}

}  // namespace
}  // namespace tarn::bench

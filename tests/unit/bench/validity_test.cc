#include "bench/validity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarn::bench {
namespace {

using testing::HasSubstr;

RunFacts Facts(CacheState cache) {
  RunFacts facts;
  facts.cache = cache;
  facts.steps = 100;
  facts.bytes = 1'000'000;
  facts.unique_bytes = 1'000'000;
  return facts;
}

TEST(ValidityTest, AColdRunThatTheSourceDeliveredCounts) {
  RunFacts facts = Facts(CacheState::kCold);
  facts.source_bytes = 1'050'000;
  facts.process_bytes = 1'040'000;
  EXPECT_EQ(WhyInvalid(facts), std::nullopt);
}

TEST(ValidityTest, AColdRunThatTheCacheAnsweredDoesNotCount) {
  RunFacts facts = Facts(CacheState::kCold);
  facts.source_bytes = 900'000;
  ASSERT_TRUE(WhyInvalid(facts));
  EXPECT_THAT(*WhyInvalid(facts), HasSubstr("cached"));
}

TEST(ValidityTest, WhatOthersReadFromTheDeviceProvesNothing) {
  RunFacts facts = Facts(CacheState::kCold);
  facts.source_bytes = 50'000'000;
  facts.process_bytes = 1000;
  ASSERT_TRUE(WhyInvalid(facts));
  EXPECT_THAT(*WhyInvalid(facts), HasSubstr("others"));
}

TEST(ValidityTest, AColdRunOfASourceThatNobodyCountsIsNotProven) {
  const auto why = WhyInvalid(Facts(CacheState::kCold));
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("not proven"));
}

TEST(ValidityTest, RepeatedReadsOfAHotSetNeedNotComeTwice) {
  RunFacts facts = Facts(CacheState::kCold);
  facts.bytes = 10'000'000;
  facts.source_bytes = 1'000'000;
  EXPECT_EQ(WhyInvalid(facts), std::nullopt);
}

TEST(ValidityTest, AWarmRunThatWentToStorageDoesNotCount) {
  for (const CacheState cache : {CacheState::kWarm, CacheState::kFirst}) {
    RunFacts facts = Facts(cache);
    facts.source_bytes = 5'000'000;  // somebody else's
    facts.process_bytes = 0;
    EXPECT_EQ(WhyInvalid(facts), std::nullopt);
    facts.process_bytes = 100'000;
    EXPECT_TRUE(WhyInvalid(facts));
  }
}

TEST(ValidityTest, ARunWithAFailedReadDoesNotCount) {
  RunFacts facts = Facts(CacheState::kWarm);
  facts.errors = 2;
  facts.first_error = "'/mnt/a': Input/output error";
  ASSERT_TRUE(WhyInvalid(facts));
  EXPECT_THAT(*WhyInvalid(facts), HasSubstr("Input/output error"));
  RunFacts nothing = Facts(CacheState::kWarm);
  nothing.steps = 0;
  EXPECT_TRUE(WhyInvalid(nothing));
}

}  // namespace
}  // namespace tarn::bench

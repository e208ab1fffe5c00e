#include "fuse/cache_forgetter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace tarn::fuse {
namespace {

using dataset::NodeId;

TEST(CacheForgetterTest, EveryMemberIsForgottenBeforeTheReport) {
  std::vector<NodeId> forgotten;  // of the one thread
  std::promise<size_t> reported;
  CacheForgetter forgetter;
  forgetter.Forget({.dataset = 3, .number = 5, .members = 4}, [&] { reported.set_value(forgotten.size()); });
  forgetter.Start([&](NodeId file) { forgotten.push_back(file); });
  EXPECT_EQ(reported.get_future().get(), 4U) << "what came before the start is done then";
  EXPECT_EQ(forgotten.front(), NodeId::File(3, 5, 0));
  EXPECT_EQ(forgotten.back(), NodeId::File(3, 5, 3));
  EXPECT_TRUE(forgetter.Stop(std::chrono::minutes(1)));
}

TEST(CacheForgetterTest, WhatComesLaterWakesTheThread) {
  CacheForgetter forgetter;
  std::atomic<int> forgotten{0};
  forgetter.Start([&](NodeId) { ++forgotten; });
  for (int i = 0; i < 20; ++i) {
    std::promise<void> reported;
    forgetter.Forget({.dataset = 1, .number = 1, .members = 1}, [&] { reported.set_value(); });
    reported.get_future().get();
    EXPECT_EQ(forgotten, i + 1);
  }
}

TEST(CacheForgetterTest, ACallThatDoesNotComeBackIsTold) {
  auto forgetter = std::make_unique<CacheForgetter>();
  std::promise<void> entered;
  std::promise<void> release;
  forgetter->Start([&](NodeId) {
    entered.set_value();
    release.get_future().get();
  });
  forgetter->Forget({.dataset = 1, .number = 1, .members = 1}, [] {});
  entered.get_future().get();
  EXPECT_FALSE(forgetter->Stop(std::chrono::milliseconds(1)));
  release.set_value();
  EXPECT_TRUE(forgetter->Stop(std::chrono::minutes(1)));
}

TEST(CacheForgetterTest, WhatIsLeftIsReportedAtTheEnd) {
  CacheForgetter forgetter;
  bool reported = false;
  forgetter.Forget({.dataset = 1, .number = 1, .members = 1}, [&] { reported = true; });
  EXPECT_TRUE(forgetter.Stop(std::chrono::minutes(1)));
  EXPECT_TRUE(reported);
}

}  // namespace
}  // namespace tarn::fuse

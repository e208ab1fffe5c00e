#include "tarn/io/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

namespace tarn::io {
namespace {

TEST(ThreadPoolTest, WaitReturnsWhenEverythingHasRun) {
  ThreadPool pool(3);
  std::atomic<int> ran = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 50; ++i) pool.Submit([&ran] { ++ran; });
    pool.Wait();
    EXPECT_EQ(ran, (round + 1) * 50);
  }
}

TEST(ThreadPoolTest, TheDestructorRunsWhatWasSubmitted) {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool(2);
    for (int i = 0; i < 100; ++i) pool.Submit([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 100);
}

TEST(ThreadPoolTest, OneThreadKeepsTheOrder) {
  std::vector<int> order;
  {
    ThreadPool pool(1);
    for (int i = 0; i < 100; ++i) pool.Submit([&order, i] { order.push_back(i); });
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(ThreadPoolTest, AsManyTasksRunAtOnceAsThereAreThreads) {
  ThreadPool pool(4);
  std::atomic<int> running = 0;
  for (int i = 0; i < 4; ++i) {
    pool.Submit([&running] {
      ++running;
      while (running < 4) std::this_thread::yield();
    });
  }
  pool.Wait();
  EXPECT_EQ(running, 4);
}

TEST(ThreadPoolTest, TasksMaySubmitTasks) {
  std::atomic<int> ran = 0;
  ThreadPool pool(2);
  pool.Submit([&] {
    ++ran;
    pool.Submit([&] { ++ran; });
  });
  pool.Wait();
  EXPECT_EQ(ran, 2);
}

TEST(ThreadPoolTest, WhatATaskHoldsIsGoneAfterWait) {
  ThreadPool pool(2);
  auto held = std::make_shared<int>(1);
  pool.Submit([held] {});
  pool.Wait();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace tarn::io

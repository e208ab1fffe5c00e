#include "fuse/source_gate.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tarn::fuse {
namespace {

const std::string kPath = "train/a.tar";

// A thread with a slot, that does what it is told and waits for more.
class FakeWorker {
 public:
  FakeWorker() : thread_([this] { Run(); }) {}
  ~FakeWorker() {
    Do([this] { ending_ = true; });
    thread_.join();
  }

  bool Enter(SourceGate* gate, size_t source) {
    bool entered = false;
    Do([&] { entered = gate->Enter(source, kPath); });
    return entered;
  }
  void Leave(SourceGate* gate, size_t source) {
    Do([&] { gate->Leave(source); });
  }
  RequestSlot& slot() { return slot_; }

  void Do(std::function<void()> task) {
    std::packaged_task<void()> packaged(std::move(task));
    std::future<void> done = packaged.get_future();
    {
      const std::lock_guard lock(mutex_);
      task_ = std::move(packaged);
      has_task_ = true;
    }
    changed_.notify_all();
    done.get();
  }

 private:
  void Run() {
    slot_.Use();
    while (!ending_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return has_task_; });
      has_task_ = false;
      std::packaged_task<void()> task = std::move(task_);
      lock.unlock();
      task();
    }
  }

  RequestSlot slot_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::packaged_task<void()> task_;
  bool has_task_ = false;
  bool ending_ = false;
  std::thread thread_;
};

WaitingRequest Waiting(uint64_t inode, RequestSlot::Clock::time_point arrived) {
  return {.bytes = {}, .request = nullptr, .operation = Operation::kRead, .inode = inode, .arrived = arrived};
}

class SourceGateTest : public testing::Test {
 protected:
  // A waiting request has no libfuse request here: nothing may be left when the gate ends.
  void TearDown() override { gate_.TakeOverdue(RequestSlot::Clock::time_point::max()); }

  std::vector<FakeWorker> workers_{8};
  SourceGate gate_{{"/far", "/near", "/third"}, 8};
};

TEST_F(SourceGateTest, HalfOfThePoolIsLetIntoOneSource) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(workers_[i].Enter(&gate_, 0)) << i;
  EXPECT_FALSE(workers_[4].Enter(&gate_, 0));
  EXPECT_EQ(workers_[4].slot().refused_by(), 0U);
  EXPECT_TRUE(workers_[4].Enter(&gate_, 1));
  workers_[0].Leave(&gate_, 0);
  EXPECT_TRUE(workers_[5].Enter(&gate_, 0));
  EXPECT_EQ(gate_.Totals()[0].calls, 5U);
  EXPECT_EQ(gate_.Totals()[0].inside, 4U);
  for (int i = 1; i < 4; ++i) workers_[i].Leave(&gate_, 0);
  workers_[5].Leave(&gate_, 0);
  workers_[4].Leave(&gate_, 1);
}

TEST_F(SourceGateTest, OneWorkerIsKeptOutOfAllSources) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(workers_[i].Enter(&gate_, 0));
  for (int i = 4; i < 7; ++i) EXPECT_TRUE(workers_[i].Enter(&gate_, 1));
  EXPECT_FALSE(workers_[7].Enter(&gate_, 2));
  EXPECT_EQ(gate_.Totals()[2].inside, 0U);
  for (int i = 0; i < 4; ++i) workers_[i].Leave(&gate_, 0);
  for (int i = 4; i < 7; ++i) workers_[i].Leave(&gate_, 1);
}

TEST_F(SourceGateTest, APoolOfOneCanEnter) {
  SourceGate small({"/far"}, 1);
  EXPECT_TRUE(workers_[0].Enter(&small, 0));
  EXPECT_FALSE(workers_[1].Enter(&small, 0));
  workers_[0].Leave(&small, 0);
}

TEST_F(SourceGateTest, ThreadsThatAreNoWorkersAreLetIn) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(gate_.Enter(0, kPath));
  EXPECT_EQ(gate_.Totals()[0].inside, 0U);
  for (int i = 0; i < 20; ++i) gate_.Leave(0);
}

TEST_F(SourceGateTest, WhatWasSetAsideIsTakenUpWhenThereIsRoomTheLongestWaitingFirst) {
  const auto now = RequestSlot::Clock::now();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(workers_[i].Enter(&gate_, 0));
  ASSERT_FALSE(workers_[4].Enter(&gate_, 0));
  WaitingRequest first = Waiting(1, now);
  WaitingRequest second = Waiting(2, now + std::chrono::seconds(1));
  EXPECT_TRUE(gate_.SetAside(workers_[4].slot(), &first));
  EXPECT_TRUE(gate_.SetAside(workers_[4].slot(), &second));
  EXPECT_FALSE(gate_.TakeUp().has_value());
  workers_[0].Leave(&gate_, 0);
  const auto taken = gate_.TakeUp();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->inode, 1U);
  EXPECT_EQ(gate_.Totals()[0].waiting, 1U);
  EXPECT_EQ(gate_.Totals()[0].set_aside, 2U);
  for (int i = 1; i < 4; ++i) workers_[i].Leave(&gate_, 0);
}

// Otherwise it would wait for somebody who has already gone.
TEST_F(SourceGateTest, NothingIsSetAsideWhenThereIsRoomByThen) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(workers_[i].Enter(&gate_, 0));
  ASSERT_FALSE(workers_[4].Enter(&gate_, 0));
  for (int i = 0; i < 4; ++i) workers_[i].Leave(&gate_, 0);
  WaitingRequest request = Waiting(1, RequestSlot::Clock::now());
  EXPECT_FALSE(gate_.SetAside(workers_[4].slot(), &request));
  EXPECT_FALSE(gate_.TakeUp().has_value());
}

TEST_F(SourceGateTest, ThoseThatCameBeforeTheDeadlineAreGivenOutAndTheOthersStay) {
  const auto now = RequestSlot::Clock::now();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(workers_[i].Enter(&gate_, 0));
  ASSERT_FALSE(workers_[4].Enter(&gate_, 0));
  for (const int age : {9, 1, 8, 2}) {
    WaitingRequest request = Waiting(static_cast<uint64_t>(age), now - std::chrono::seconds(age));
    ASSERT_TRUE(gate_.SetAside(workers_[4].slot(), &request));
  }
  const auto overdue = gate_.TakeOverdue(now - std::chrono::seconds(5));
  ASSERT_EQ(overdue.size(), 2U);
  EXPECT_EQ(overdue[0].second.inode + overdue[1].second.inode, 17U);
  EXPECT_EQ(overdue[0].first, 0U);
  EXPECT_EQ(gate_.Totals()[0].waiting, 2U);
  for (int i = 0; i < 4; ++i) workers_[i].Leave(&gate_, 0);
}

// Many workers come and go through a gate for two; whoever is refused is taken up by somebody.
TEST_F(SourceGateTest, NoRequestIsForgottenHoweverTheyRace) {
  constexpr uint64_t kRequests = 4000;
  SourceGate gate({"/far"}, 4);
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> served{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      RequestSlot slot;
      slot.Use();
      const auto serve = [&](uint64_t number) {
        if (gate.Enter(0, kPath)) {
          if (number % 16 == 0) std::this_thread::yield();
          gate.Leave(0);
          ++served;
          return;
        }
        WaitingRequest waiting = Waiting(number, RequestSlot::Clock::now());
        if (!gate.SetAside(slot, &waiting)) slot.TakeUpNext(std::move(waiting));
      };
      for (uint64_t number = next++; number < kRequests; number = next++) {
        serve(number);
        for (;;) {
          std::optional<WaitingRequest> more = slot.Next();
          if (!more) more = gate.TakeUp();
          if (!more) break;
          serve(more->inode);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served.load(), kRequests);
  EXPECT_EQ(gate.Totals()[0].waiting, 0U);
}

}  // namespace
}  // namespace tarn::fuse

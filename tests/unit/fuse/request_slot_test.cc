#include "fuse/request_slot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tarn::fuse {
namespace {

fuse_req_t FakeRequest(uintptr_t number) {
  return reinterpret_cast<fuse_req_t>(number);
}

TEST(RequestSlotTest, OfThoseWhoClaimATicketOneGetsIt) {
  RequestSlot slot;
  const uint64_t ticket = slot.Begin(FakeRequest(8), Operation::kRead, 7);
  EXPECT_TRUE(slot.Claim(ticket));
  EXPECT_FALSE(slot.Claim(ticket));
}

TEST(RequestSlotTest, ALateClaimDoesNotTakeTheRequestThatCameAfter) {
  RequestSlot slot;
  const uint64_t first = slot.Begin(FakeRequest(8), Operation::kRead, 7);
  ASSERT_TRUE(slot.Claim(first));
  // The allocator gives the same address again.
  const uint64_t second = slot.Begin(FakeRequest(8), Operation::kRead, 7);
  EXPECT_FALSE(slot.Claim(first));
  EXPECT_TRUE(slot.Claim(second));
}

TEST(RequestSlotTest, AThreadWithoutASlotOfItsOwnIsNoWorker) {
  EXPECT_FALSE(RequestSlot::OfThisThread().IsWorkers());
  std::thread([] {
    RequestSlot own;
    own.Use();
    EXPECT_EQ(&RequestSlot::OfThisThread(), &own);
    EXPECT_TRUE(own.IsWorkers());
  }).join();
}

// A worker and the deadline thread go for the same requests: each is answered once, by one of them, and what
// the other thread has read of it belongs to the request it has claimed.
TEST(RequestSlotTest, ARaceForEveryRequestIsWonByExactlyOne) {
  constexpr uint64_t kRequests = 50'000;
  RequestSlot slot;
  const std::string path = "train/a.tar";
  std::atomic<bool> done{false};
  std::vector<std::atomic<uint8_t>> answers(kRequests);
  uint64_t torn = 0;
  uint64_t theirs = 0;
  std::thread deadline([&] {
    while (!done.load()) {
      const RequestSlot::View view = slot.Look();
      if (view.ticket % 2 == 0 || view.source == RequestSlot::kNoSource || !slot.Claim(view.ticket)) continue;
      const auto number = reinterpret_cast<uintptr_t>(view.request) / 8 - 1;
      if (view.inode != number) ++torn;
      answers[number].fetch_add(1);
      ++theirs;
    }
  });
  for (uint64_t number = 0; number < kRequests; ++number) {
    const uint64_t ticket = slot.Begin(FakeRequest((number + 1) * 8), Operation::kRead, number);
    slot.EnterSource(0, path);
    if (number % 64 == 0) std::this_thread::yield();
    slot.LeaveSource();
    if (slot.Claim(ticket)) answers[number].fetch_add(1);
  }
  done = true;
  deadline.join();
  for (uint64_t number = 0; number < kRequests; ++number) ASSERT_EQ(answers[number].load(), 1) << number;
  EXPECT_EQ(torn, 0U);
  RecordProperty("answered_by_the_other_thread", static_cast<int>(theirs));
}

}  // namespace
}  // namespace tarn::fuse

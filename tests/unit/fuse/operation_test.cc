#include "fuse/operation.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace tarn::fuse {
namespace {

TEST(OperationTest, EveryOperationHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kOperations; ++i) names.insert(OperationName(static_cast<Operation>(i)));
  EXPECT_EQ(names.size(), kOperations);
  EXPECT_EQ(OperationName(Operation::kLookup), "lookup");
  EXPECT_EQ(OperationName(Operation::kRead), "read");
  EXPECT_EQ(OperationName(Operation::kWrite), "write");
}

TEST(OperationTest, CountsOfEndedThreadsStay) {
  const auto index = static_cast<size_t>(Operation::kBmap);
  const OperationTotals before = OperationTotalsNow()[index];
  CountOperation(Operation::kBmap, std::chrono::nanoseconds(5), false);
  std::thread([] { CountOperation(Operation::kBmap, std::chrono::nanoseconds(7), true); }).join();
  const OperationTotals after = OperationTotalsNow()[index];
  EXPECT_EQ(after.requests - before.requests, 2U);
  EXPECT_EQ(after.errors - before.errors, 1U);
  EXPECT_EQ(after.nanoseconds - before.nanoseconds, 12U);
}

}  // namespace
}  // namespace tarn::fuse

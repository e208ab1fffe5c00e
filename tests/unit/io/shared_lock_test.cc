#include "tarn/io/shared_lock.h"

#include <gtest/gtest.h>

#include "tarn/io/file_facts.h"
#include "tarn/io/filesystem.h"
#include "tests/support/scratch.h"

namespace tarn::io {
namespace {

TEST(SharedLockTest, SeveralHoldItAndNobodyHoldsTheOtherLockMeanwhile) {
  const support::Scratch scratch;
  const std::string path = scratch.Write("lock", "");
  {
    const auto one = SharedLock::TryAcquire(path);
    const auto two = SharedLock::TryAcquire(path);
    ASSERT_TRUE(one.ok() && one->has_value());
    ASSERT_TRUE(two.ok() && two->has_value());
    const auto exclusive = FileLock::TryAcquire(path);
    ASSERT_TRUE(exclusive.ok());
    EXPECT_FALSE(exclusive->has_value());
  }
  const auto exclusive = FileLock::TryAcquire(path);
  ASSERT_TRUE(exclusive.ok() && exclusive->has_value());
  const auto refused = SharedLock::TryAcquire(path);
  ASSERT_TRUE(refused.ok());
  EXPECT_FALSE(refused->has_value());
}

TEST(SharedLockTest, TakingItSaysWhenAndMakesNoFile) {
  const support::Scratch scratch;
  EXPECT_EQ(SharedLock::TryAcquire(scratch / "gone").code(), ErrorCode::kNotFound);
  EXPECT_FALSE(Exists(scratch / "gone"));
  const std::string path = scratch.Write("lock", "");
  std::filesystem::last_write_time(path,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const auto before = LookAt(path);
  ASSERT_TRUE(SharedLock::TryAcquire(path).ok());
  EXPECT_GT(LookAt(path)->mtime_ns, before->mtime_ns + 3'000'000'000'000);
}

}  // namespace
}  // namespace tarn::io

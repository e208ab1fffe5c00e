#include "fuse/errno_map.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tarn::fuse {
namespace {

constexpr int kCodes = static_cast<int>(ErrorCode::kInternal) + 1;

TEST(ErrnoMapTest, OkIsZero) {
  EXPECT_EQ(ErrnoOf(Status::Ok(), About::kNode), 0);
  EXPECT_EQ(ErrnoOf(Status::Ok(), About::kBytes), 0);
}

TEST(ErrnoMapTest, NoErrorEverBecomesEnosys) {
  for (int code = 1; code < kCodes; ++code) {
    const Status status(static_cast<ErrorCode>(code), "x");
    EXPECT_NE(ErrnoOf(status, About::kNode), ENOSYS) << code;
    EXPECT_NE(ErrnoOf(status, About::kNode), 0) << code;
  }
}

TEST(ErrnoMapTest, BytesThatCannotBeGivenAreEioWhateverTheReason) {
  for (int code = 1; code < kCodes; ++code) {
    if (static_cast<ErrorCode>(code) == ErrorCode::kCancelled) continue;
    EXPECT_EQ(ErrnoOf(Status(static_cast<ErrorCode>(code), "x"), About::kBytes), EIO) << code;
  }
}

TEST(ErrnoMapTest, TheErrorNumberOfASourceDoesNotGetThrough) {
  for (const int number : {ESTALE, EACCES, ENOENT, ENOSYS, ETIMEDOUT}) {
    EXPECT_EQ(ErrnoOf(Status::FromErrno(number, "cannot read '/data/a.tar'"), About::kBytes), EIO) << number;
  }
}

TEST(ErrnoMapTest, ANodeThatIsNotThereIsStale) {
  EXPECT_EQ(ErrnoOf(Status(ErrorCode::kNotFound, "no node"), About::kNode), ESTALE);
}

}  // namespace
}  // namespace tarn::fuse

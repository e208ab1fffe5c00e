#include "tarn/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "tarn/base/result.h"

namespace tarn {
namespace {

TEST(StatusTest, OkCarriesNothing) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.hint(), "");
  EXPECT_EQ(status.ToString(), "ok");
}

TEST(StatusTest, ErrnoBecomesTheCodeThatSaysWhatToDo) {
  EXPECT_EQ(Status::FromErrno(ENOENT, "x").code(), ErrorCode::kNotFound);
  EXPECT_EQ(Status::FromErrno(ENOTDIR, "x").code(), ErrorCode::kNotFound);
  EXPECT_EQ(Status::FromErrno(EACCES, "x").code(), ErrorCode::kPermissionDenied);
  EXPECT_EQ(Status::FromErrno(EROFS, "x").code(), ErrorCode::kPermissionDenied);
  EXPECT_EQ(Status::FromErrno(ENOSPC, "x").code(), ErrorCode::kNoSpace);
  EXPECT_EQ(Status::FromErrno(EDQUOT, "x").code(), ErrorCode::kNoSpace);
  EXPECT_EQ(Status::FromErrno(EEXIST, "x").code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(Status::FromErrno(ENOTEMPTY, "x").code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(Status::FromErrno(EIO, "x").code(), ErrorCode::kIo);
}

TEST(StatusTest, ErrnoKeepsItsNumberAndText) {
  const Status status = Status::FromErrno(ENOENT, "cannot open '/data/a.tar'");
  EXPECT_EQ(status.error_number(), ENOENT);
  EXPECT_EQ(status.message(), "cannot open '/data/a.tar': No such file or directory");
}

TEST(StatusTest, ContextGoesInFrontAndTheHintStays) {
  const Status status =
      Status(ErrorCode::kIo, "inner").WithHint("first").WithHint("do this").WithContext("outer");
  EXPECT_EQ(status.message(), "outer: inner");
  EXPECT_EQ(status.hint(), "do this");
  EXPECT_EQ(status.ToString(), "outer: inner; do this");
}

TEST(StatusTest, ContextAndHintLeaveOkAlone) {
  EXPECT_TRUE(Status().WithHint("x").WithContext("y").ok());
}

TEST(StatusTest, ACopyIsIndependent) {
  const Status first(ErrorCode::kIo, "message");
  Status second = first;
  second = std::move(second).WithContext("more");
  EXPECT_EQ(first.message(), "message");
  EXPECT_EQ(second.message(), "more: message");
}

TEST(StatusTest, EveryCodeHasAName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    names.insert(ErrorCodeName(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(ErrorCode::kInternal) + 1);
  EXPECT_EQ(names.count("unknown"), 0U);
}

Result<int> Half(int number) {
  if (number % 2 != 0) return Status(ErrorCode::kInvalidArgument, "odd");
  return number / 2;
}

Result<int> Quarter(int number) {
  TARN_ASSIGN_OR_RETURN(const int half, Half(number));
  return Half(half);
}

TEST(StatusTest, ResultGivesTheValueOrTheReason) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_TRUE(Quarter(8).status().ok());
  EXPECT_EQ(Quarter(6).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Quarter(3).status().message(), "odd");
}

}  // namespace
}  // namespace tarn

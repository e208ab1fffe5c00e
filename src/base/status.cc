#include "tarn/base/status.h"

#include <cerrno>
#include <system_error>
#include <utility>

namespace tarn {
namespace {

const std::string& EmptyString() {
  static const std::string empty;
  return empty;
}

ErrorCode CodeOfErrno(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::kNoSpace;
    case EEXIST:
    case ENOTEMPTY:
      return ErrorCode::kAlreadyExists;
    case ETIMEDOUT:
      return ErrorCode::kTimedOut;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOk:
      return "ok";
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kAlreadyExists:
      return "already_exists";
    case ErrorCode::kPermissionDenied:
      return "permission_denied";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kNoSpace:
      return "no_space";
    case ErrorCode::kChanged:
      return "changed";
    case ErrorCode::kTimedOut:
      return "timed_out";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

Status::Status(ErrorCode code, std::string message) {
  if (code != ErrorCode::kOk) rep_ = std::make_unique<Rep>(Rep{code, 0, std::move(message), {}});
}

Status::Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
  return *this;
}

Status Status::FromErrno(int error_number, std::string_view what) {
  std::string message(what);
  message += ": ";
  message += std::generic_category().message(error_number);
  Status status(CodeOfErrno(error_number), std::move(message));
  status.rep_->error_number = error_number;
  return status;
}

const std::string& Status::message() const {
  return rep_ ? rep_->message : EmptyString();
}
const std::string& Status::hint() const {
  return rep_ ? rep_->hint : EmptyString();
}

Status&& Status::WithHint(std::string hint) && {
  if (rep_) rep_->hint = std::move(hint);
  return std::move(*this);
}

Status&& Status::WithContext(std::string_view context) && {
  if (rep_) rep_->message.insert(0, std::string(context) + ": ");
  return std::move(*this);
}

std::string Status::ToString() const {
  if (!rep_) return "ok";
  return rep_->hint.empty() ? rep_->message : rep_->message + "; " + rep_->hint;
}

}  // namespace tarn

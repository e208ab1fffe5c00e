// Status: the one error type of Tarn.
//
// Nothing of ours throws. A function that can fail returns Status, or Result<T> (result.h) when it also has a
// value. Foreign errors are translated once, where they come in: errno by io, RocksDB by index, libarchive by
// tar, libfuse by fuse.
//
// A Status that is not ok says four things a person needs: what was expected and what was found (the message,
// which names the file), the error number if the system gave one, and the hint: the command or setting that
// helps. Programs print all of it; the FUSE layer maps it to an errno in one place.
//
// An ok Status is one null pointer: returning it costs nothing.
#ifndef TARN_BASE_STATUS_H_
#define TARN_BASE_STATUS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tarn {

enum class ErrorCode : uint8_t {
  kOk = 0,
  kInvalidArgument,   // the caller asked for something that cannot be (usage)
  kNotFound,          // the named thing does not exist
  kAlreadyExists,     // it exists and must not
  kPermissionDenied,  // the system refused
  kIo,                // input or output failed
  kCorrupt,           // bytes are there and are not what their format or checksum says
  kUnsupported,       // a format version or feature this build does not know; nothing was changed
  kNoSpace,           // disk full or quota reached
  kChanged,           // an archive's bytes are not those that were published
  kTimedOut,          // a deadline passed
  kBusy,              // somebody else is at it; trying again may work
  kCancelled,         // asked to stop
  kInternal,          // a defect of Tarn
};

// The code's name as it stands in logs and JSON ("not_found"). Static storage.
std::string_view ErrorCodeName(ErrorCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(ErrorCode code, std::string message);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  static Status Ok() { return Status(); }

  // Translates a system error number: ENOENT to kNotFound, EACCES, EPERM and EROFS to kPermissionDenied,
  // ENOSPC and EDQUOT to kNoSpace, EEXIST and ENOTEMPTY to kAlreadyExists, ETIMEDOUT to kTimedOut, the rest
  // to kIo. `what` says what was tried and on which file ("cannot open '/data/a.tar'"); the system's text for
  // `error_number` is appended.
  static Status FromErrno(int error_number, std::string_view what);

  bool ok() const { return rep_ == nullptr; }
  ErrorCode code() const { return rep_ ? rep_->code : ErrorCode::kOk; }
  const std::string& message() const;  // empty when ok
  const std::string& hint() const;     // what helps; may be empty
  // The system's error number, 0 if none was involved.
  int error_number() const { return rep_ ? rep_->error_number : 0; }

  // Adds what helps ("run 'tarn datasets --index /index'"). No effect on an ok Status. Replaces an earlier
  // hint.
  Status&& WithHint(std::string hint) &&;
  // Puts context in front of the message: "while publishing 'imagenet': " + message. No effect on an ok
  // Status.
  Status&& WithContext(std::string_view context) &&;

  // "message; hint" on one line, or "ok".
  std::string ToString() const;

 private:
  struct Rep {
    ErrorCode code;
    int error_number = 0;
    std::string message;
    std::string hint;
  };
  std::unique_ptr<Rep> rep_;
};

#define TARN_CONCAT_INNER(a, b) a##b
#define TARN_CONCAT(a, b) TARN_CONCAT_INNER(a, b)

// Leaves the function with the Status of `expr` unless it is ok.
#define TARN_RETURN_IF_ERROR(expr)                                                     \
  do {                                                                                 \
    if (::tarn::Status tarn_status_ = (expr); !tarn_status_.ok()) return tarn_status_; \
  } while (false)

// TARN_ASSIGN_OR_RETURN(auto file, Open(path)): leaves the function with the Result's Status, or takes its
// value.
#define TARN_ASSIGN_OR_RETURN(lhs, expr) \
  TARN_ASSIGN_OR_RETURN_IMPL(TARN_CONCAT(tarn_result_, __LINE__), lhs, expr)
#define TARN_ASSIGN_OR_RETURN_IMPL(result, lhs, expr)  \
  auto result = (expr);                                \
  if (!result.ok()) return std::move(result).status(); \
  lhs = std::move(result).value()

}  // namespace tarn

#endif  // TARN_BASE_STATUS_H_

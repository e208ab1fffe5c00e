#include "index/rocksdb_status.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

namespace tarn::index {
namespace {

// RocksDB keeps the system's text of an error and drops its number, except for a few. The numbers people can
// do something about are found again by their text.
int ErrnoOf(const rocksdb::Status& status, const std::string& text) {
  if (status.IsNoSpace()) return ENOSPC;
  static constexpr std::array kTellingErrors = {EDQUOT, EACCES, EPERM,  EROFS, EMFILE,
                                                ENFILE, EIO,    ESTALE, ENOMEM};
  for (const int number : kTellingErrors) {
    if (text.find(std::generic_category().message(number)) != std::string::npos) return number;
  }
  return 0;
}

ErrorCode CodeOf(const rocksdb::Status& status) {
  switch (status.code()) {
    case rocksdb::Status::kNotFound:
      return ErrorCode::kNotFound;
    case rocksdb::Status::kCorruption:
      return ErrorCode::kCorrupt;
    case rocksdb::Status::kNotSupported:
      return ErrorCode::kUnsupported;
    case rocksdb::Status::kIOError:
      return status.subcode() == rocksdb::Status::kPathNotFound ? ErrorCode::kCorrupt : ErrorCode::kIo;
    case rocksdb::Status::kTimedOut:
      return ErrorCode::kTimedOut;
    case rocksdb::Status::kBusy:
    case rocksdb::Status::kTryAgain:
      return ErrorCode::kBusy;
    case rocksdb::Status::kShutdownInProgress:
    case rocksdb::Status::kAborted:
      return ErrorCode::kCancelled;
    default:
      // Arguments and order of calls are ours.
      return ErrorCode::kInternal;
  }
}

}  // namespace

Status FromRocksDb(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return Status::Ok();
  const std::string text = status.ToString();
  if (const int number = status.IsIOError() ? ErrnoOf(status, text) : 0; number != 0) {
    return Status::FromErrno(number, fmt::format("{} ({})", what, text));
  }
  return Status(CodeOf(status), fmt::format("{}: {}", what, text));
}

}  // namespace tarn::index

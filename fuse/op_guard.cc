#include "fuse/op_guard.h"

#include <fmt/format.h>

#include <mutex>

#include "tarn/base/log.h"

namespace tarn::fuse {
namespace {

constexpr unsigned kLinesPerSecond = 10;

struct Second {
  std::mutex mutex;
  int64_t second = 0;
  unsigned lines = 0;
  uint64_t left_out = 0;
};

// Whether a line may be written now; `left_out` gives how many were not since the last one that was.
bool MayLog(uint64_t* left_out) {
  static Second now;
  const std::lock_guard lock(now.mutex);
  const int64_t second =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  if (second != now.second) {
    now.second = second;
    now.lines = 0;
  }
  if (now.lines == kLinesPerSecond) {
    ++now.left_out;
    return false;
  }
  ++now.lines;
  *left_out = std::exchange(now.left_out, 0);
  return true;
}

}  // namespace

void GiveWay(const Served& served, Operation operation, uint64_t inode, RequestSlot* slot, Reply* reply) {
  const std::span<const std::byte> bytes = slot->bytes();
  WaitingRequest waiting{.bytes = {bytes.begin(), bytes.end()},
                         .request = reply->Keep(),
                         .operation = operation,
                         .inode = inode,
                         .arrived = slot->arrived()};
  if (waiting.request == nullptr) return;
  if (!served.gate->SetAside(*slot, &waiting)) slot->TakeUpNext(std::move(waiting));
}

void LogFailure(Operation operation, uint64_t inode, const Status& status) {
  // An archive that is missing or changed was said once, when it was seen: not again for each read.
  const bool said = operation == Operation::kRead &&
                    (status.code() == ErrorCode::kNotFound || status.code() == ErrorCode::kChanged);
  const LogLevel level = status.code() == ErrorCode::kInternal ? LogLevel::kError
                         : said                                ? LogLevel::kDebug
                                                               : LogLevel::kWarning;
  uint64_t left_out = 0;
  if (!LogEnabled(level) || !MayLog(&left_out)) return;
  std::string line =
      fmt::format("{} of node {:#x} failed: {}", OperationName(operation), inode, status.ToString());
  if (left_out > 0) line += fmt::format(" ({} more such lines were left out)", left_out);
  Log(level, line);
}

}  // namespace tarn::fuse

// Operations: what the kernel asks for, and how often, how long and with what result it was answered.
//
// Counting touches memory of the counting thread only; whoever wants the sums adds them up.
#ifndef TARN_FUSE_OPERATION_H_
#define TARN_FUSE_OPERATION_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tarn::fuse {

enum class Operation : uint8_t {
  kLookup,
  kForget,
  kGetattr,
  kAccess,
  kReadlink,
  kGetxattr,
  kListxattr,
  kOpen,
  kRead,
  kLseek,
  kFlush,
  kRelease,
  kFsync,
  kOpendir,
  kReaddir,
  kReaddirplus,
  kReleasedir,
  kFsyncdir,
  kStatfs,
  kLock,
  kBmap,
  kIoctl,
  kPoll,
  kWrite,  // everything that would change something: answered EROFS
};
inline constexpr size_t kOperations = static_cast<size_t>(Operation::kWrite) + 1;

// "lookup", "read", ...: the label in metrics and logs. Static storage.
std::string_view OperationName(Operation operation);

// Whether answering may have to ask a source, which may be slow or hang: the session keeps a worker free
// before it goes on.
bool MayEnterSource(Operation operation);

struct OperationTotals {
  uint64_t requests = 0;
  uint64_t errors = 0;       // failed; "no such name" and "read-only" are answers, not failures
  uint64_t nanoseconds = 0;  // from the request's arrival to its answer, summed
};
using AllOperationTotals = std::array<OperationTotals, kOperations>;

// Counts one answered request in the calling thread's slots.
void CountOperation(Operation operation, std::chrono::nanoseconds took, bool failed);

// The sums over all threads there are and were.
AllOperationTotals OperationTotalsNow();

}  // namespace tarn::fuse

#endif  // TARN_FUSE_OPERATION_H_

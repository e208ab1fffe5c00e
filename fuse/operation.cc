#include "fuse/operation.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace tarn::fuse {
namespace {

constexpr std::array<std::string_view, kOperations> kNames = {
    "lookup",     "forget",   "getattr", "access",  "readlink", "getxattr", "listxattr", "open",
    "read",       "lseek",    "flush",   "release", "fsync",    "opendir",  "readdir",   "readdirplus",
    "releasedir", "fsyncdir", "statfs",  "lock",    "bmap",     "ioctl",    "poll",      "write"};

// Written by its thread alone, read by others: relaxed atomics, and a line of its own.
struct alignas(64) Slot {
  std::atomic<uint64_t> requests{0};
  std::atomic<uint64_t> errors{0};
  std::atomic<uint64_t> nanoseconds{0};
};

struct ThreadSlots;

// The slots of all threads, and what ended threads left.
struct Registry {
  std::mutex mutex;
  std::vector<const ThreadSlots*> threads;
  AllOperationTotals ended{};
};

Registry& TheRegistry() {
  // Never destroyed: threads may end after the end of main.
  static auto* registry = new Registry;
  return *registry;
}

struct ThreadSlots {
  std::array<Slot, kOperations> slots;

  ThreadSlots() {
    Registry& registry = TheRegistry();
    const std::lock_guard lock(registry.mutex);
    registry.threads.push_back(this);
  }
  ~ThreadSlots() {
    Registry& registry = TheRegistry();
    const std::lock_guard lock(registry.mutex);
    AddTo(&registry.ended);
    std::erase(registry.threads, this);
  }

  void AddTo(AllOperationTotals* totals) const {
    for (size_t i = 0; i < kOperations; ++i) {
      (*totals)[i].requests += slots[i].requests.load(std::memory_order_relaxed);
      (*totals)[i].errors += slots[i].errors.load(std::memory_order_relaxed);
      (*totals)[i].nanoseconds += slots[i].nanoseconds.load(std::memory_order_relaxed);
    }
  }
};

// One writer: a load and a store, no locked instruction.
void Add(std::atomic<uint64_t>* counter, uint64_t value) {
  counter->store(counter->load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

}  // namespace

std::string_view OperationName(Operation operation) {
  return kNames[static_cast<size_t>(operation)];
}

bool MayEnterSource(Operation operation) {
  switch (operation) {
    case Operation::kLookup:
    case Operation::kGetattr:
    case Operation::kRead:
    case Operation::kReaddirplus:
      return true;
    default:
      return false;
  }
}

void CountOperation(Operation operation, std::chrono::nanoseconds took, bool failed) {
  thread_local ThreadSlots slots;
  Slot& slot = slots.slots[static_cast<size_t>(operation)];
  Add(&slot.requests, 1);
  Add(&slot.nanoseconds, static_cast<uint64_t>(took.count()));
  if (failed) Add(&slot.errors, 1);
}

AllOperationTotals OperationTotalsNow() {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  AllOperationTotals totals = registry.ended;
  for (const ThreadSlots* thread : registry.threads) thread->AddTo(&totals);
  return totals;
}

}  // namespace tarn::fuse

// RequestSlot: the request a worker is at, so that somebody else can answer it when the worker hangs.
//
// A call into a source cannot be taken back: the thread is gone until the source answers. Its request need
// not be. Who answers is settled by one compare-and-swap on a ticket that is used once: the worker, or
// whoever found that the time is up; never both, and never for the request that came after. All fields are
// atomics: the other thread may read them at any moment. What it read counts only if its claim succeeds:
// fields are written while no ticket is open, so whoever has seen a later request's also sees that the ticket
// is gone.
#ifndef TARN_FUSE_REQUEST_SLOT_H_
#define TARN_FUSE_REQUEST_SLOT_H_

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fuse/operation.h"

namespace tarn::fuse {

// A request that no source let in, to be taken up again from its start.
struct WaitingRequest {
  std::vector<std::byte> bytes;  // as the kernel sent it
  fuse_req_t request = nullptr;  // libfuse's, not answered
  Operation operation = Operation::kLookup;
  uint64_t inode = 0;
  std::chrono::steady_clock::time_point arrived;
};

class RequestSlot {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kNoSource = std::numeric_limits<uint32_t>::max();

  // What another thread sees of a request.
  struct View {
    uint64_t ticket = 0;  // odd: not answered yet
    fuse_req_t request = nullptr;
    Operation operation = Operation::kLookup;
    uint64_t inode = 0;
    Clock::time_point arrived;
    uint32_t source = kNoSource;        // the source the worker is in
    const std::string* path = nullptr;  // on whose behalf
  };

  // The slot of the calling thread: the one given to Use, or one that nobody looks at.
  static RequestSlot& OfThisThread() {
    thread_local RequestSlot nobodys;
    return Current() != nullptr ? *Current() : nobodys;
  }
  // Makes this the calling thread's, for as long as the thread lives.
  void Use() { Current() = this; }
  bool IsWorkers() const { return Current() == this; }

  // ---- The worker

  // The bytes of the request that will be begun next, and when it came; `bytes` stay valid until it is over.
  void Received(std::span<const std::byte> bytes, Clock::time_point arrived) {
    bytes_ = bytes;
    arrived_.store(arrived.time_since_epoch().count(), std::memory_order_release);
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  Clock::time_point arrived() const {
    return Clock::time_point(Clock::duration(arrived_.load(std::memory_order_acquire)));
  }

  // From here on others may claim it. Gives the ticket.
  uint64_t Begin(fuse_req_t request, Operation operation, uint64_t inode) {
    refused_by_ = kNoSource;
    request_.store(request, std::memory_order_release);
    operation_.store(operation, std::memory_order_release);
    inode_.store(inode, std::memory_order_release);
    const uint64_t ticket = ticket_.load(std::memory_order_relaxed) + 1;
    ticket_.store(ticket, std::memory_order_release);
    return ticket;
  }

  void EnterSource(uint32_t source, const std::string& path) {
    path_.store(&path, std::memory_order_release);
    source_.store(source, std::memory_order_release);
  }
  void LeaveSource() { source_.store(kNoSource, std::memory_order_release); }

  // The source that let this request not in.
  void Refused(uint32_t source) { refused_by_ = source; }
  uint32_t refused_by() const { return refused_by_; }

  // What this worker has to take up next, because a source that let it not in had room a moment later.
  void TakeUpNext(WaitingRequest request) { next_ = std::move(request); }
  std::optional<WaitingRequest> Next() { return std::exchange(next_, std::nullopt); }

  // ---- Anybody

  // True for exactly one of those who claim `ticket`: that one answers.
  bool Claim(uint64_t ticket) {
    return ticket_.compare_exchange_strong(ticket, ticket + 1, std::memory_order_acq_rel);
  }

  View Look() const {
    View view;
    view.ticket = ticket_.load(std::memory_order_acquire);
    view.source = source_.load(std::memory_order_acquire);
    view.path = path_.load(std::memory_order_acquire);
    view.request = request_.load(std::memory_order_acquire);
    view.operation = operation_.load(std::memory_order_acquire);
    view.inode = inode_.load(std::memory_order_acquire);
    view.arrived = arrived();
    return view;
  }

 private:
  static RequestSlot*& Current() {
    thread_local RequestSlot* current = nullptr;
    return current;
  }

  std::atomic<uint64_t> ticket_{0};
  std::atomic<fuse_req_t> request_{nullptr};
  std::atomic<Operation> operation_{Operation::kLookup};
  std::atomic<uint64_t> inode_{0};
  std::atomic<Clock::rep> arrived_{0};
  std::atomic<uint32_t> source_{kNoSource};
  std::atomic<const std::string*> path_{nullptr};

  // The worker's own.
  std::span<const std::byte> bytes_;
  uint32_t refused_by_ = kNoSource;
  std::optional<WaitingRequest> next_;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_REQUEST_SLOT_H_

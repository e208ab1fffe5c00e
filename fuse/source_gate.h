// SourceGate: how many workers one source can hold, and what becomes of requests beyond that.
//
// At most half of the pool is inside one source, and some workers are inside none, however many sources hang:
// they answer metadata. A request that is not let in costs no thread: its bytes are set aside, and whoever
// comes out of a source takes it up from the start. What waits longer than the deadline, inside a source or
// set aside, is answered EIO by the deadline thread, counted, and named in the log; the worker inside stays
// there until the source answers, and what it then has goes nowhere.
//
// Entering and leaving is a compare-and-swap on one counter of the source and one of all; the lock is for
// what was set aside.
#ifndef TARN_FUSE_SOURCE_GATE_H_
#define TARN_FUSE_SOURCE_GATE_H_

#include <fuse_lowlevel.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fuse/request_slot.h"
#include "tarn/dataset/source_guard.h"

namespace tarn::fuse {

struct SourceTotals {
  std::string name;
  uint64_t calls = 0;      // entered
  uint64_t set_aside = 0;  // requests that were not let in at first
  uint64_t timed_out = 0;  // requests answered EIO because the deadline had passed
  unsigned inside = 0;     // workers in it now
  size_t waiting = 0;      // requests set aside now
};

class SourceGate final : public dataset::SourceGuard {
 public:
  // `names`: of the sources, in the order of ArchiveBytesOptions::sources. `max_workers`: of the session.
  SourceGate(std::vector<std::string> names, unsigned max_workers);
  ~SourceGate() override;  // drops what waits

  // dataset::SourceGuard. Threads that are no workers are always let in and not counted.
  bool Enter(size_t source, const std::string& path) override;
  void Leave(size_t source) override;
  // False when somebody is inside and nobody has come out for kQuiet.
  bool Answers(size_t source) const override;

  static constexpr std::chrono::seconds kQuiet{2};

  // Sets the slot's request aside: its operation was given up because a source let it not in. False when the
  // source has room by now: the operation is to be tried again at once. The caller has claimed the request.
  bool SetAside(const RequestSlot& slot, WaitingRequest* request);
  // A request that may be let in now, for a worker that is done with its own.
  std::optional<WaitingRequest> TakeUp();

  // Those that came before `before` and were set aside, with the number of their source; for the deadline.
  std::vector<std::pair<uint32_t, WaitingRequest>> TakeOverdue(RequestSlot::Clock::time_point before);
  void CountTimeout(uint32_t source) { sources_[source]->timed_out.fetch_add(1, std::memory_order_relaxed); }

  const std::string& NameOf(uint32_t source) const { return sources_[source]->name; }
  std::vector<SourceTotals> Totals() const;
  unsigned most_in_one() const { return most_in_one_; }
  unsigned most_in_all() const { return most_in_all_; }

 private:
  struct alignas(64) Source {
    std::string name;
    std::atomic<unsigned> inside{0};
    // When somebody came out last, or went in while nobody was inside.
    std::atomic<RequestSlot::Clock::rep> moved{0};
    std::atomic<uint64_t> calls{0};
    std::atomic<uint64_t> set_aside{0};
    std::atomic<uint64_t> timed_out{0};
    std::deque<WaitingRequest> waiting;  // guarded by mutex_

    void Moved() {
      moved.store(RequestSlot::Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    }
  };

  bool HasRoom(const Source& source) const {
    return source.inside.load() < most_in_one_ && inside_.load() < most_in_all_;
  }

  const unsigned most_in_one_;
  const unsigned most_in_all_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::atomic<unsigned> inside_{0};  // any source
  std::atomic<size_t> waiting_{0};   // requests set aside, of all sources
  mutable std::mutex mutex_;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_SOURCE_GATE_H_

#include "fuse/source_gate.h"

#include <algorithm>
#include <utility>

namespace tarn::fuse {
namespace {

// Workers that are in no source whatever happens: one in eight, at least one. A pool of one has none to keep.
unsigned MostInAll(unsigned workers) {
  return workers < 2 ? 1 : workers - std::max(1U, workers / 8);
}

// One more, but not more than `most`.
bool CountUp(std::atomic<unsigned>* counter, unsigned most) {
  unsigned now = counter->load();
  while (now < most) {
    if (counter->compare_exchange_weak(now, now + 1)) return true;
  }
  return false;
}

}  // namespace

SourceGate::SourceGate(std::vector<std::string> names, unsigned max_workers)
    : most_in_one_(std::max(1U, max_workers / 2)), most_in_all_(MostInAll(max_workers)) {
  for (std::string& name : names) {
    sources_.push_back(std::make_unique<Source>());
    sources_.back()->name = std::move(name);
  }
}

SourceGate::~SourceGate() {
  for (const auto& source : sources_) {
    for (const WaitingRequest& waiting : source->waiting) fuse_reply_none(waiting.request);
  }
}

bool SourceGate::Enter(size_t number, const std::string& path) {
  RequestSlot& slot = RequestSlot::OfThisThread();
  if (!slot.IsWorkers()) return true;
  Source& source = *sources_[number];
  if (!CountUp(&source.inside, most_in_one_)) {
    slot.Refused(static_cast<uint32_t>(number));
    return false;
  }
  if (!CountUp(&inside_, most_in_all_)) {
    source.inside.fetch_sub(1);
    slot.Refused(static_cast<uint32_t>(number));
    return false;
  }
  source.calls.fetch_add(1, std::memory_order_relaxed);
  if (source.inside.load(std::memory_order_relaxed) == 1) source.Moved();
  slot.EnterSource(static_cast<uint32_t>(number), path);
  return true;
}

void SourceGate::Leave(size_t number) {
  RequestSlot& slot = RequestSlot::OfThisThread();
  if (!slot.IsWorkers()) return;
  slot.LeaveSource();
  sources_[number]->Moved();
  sources_[number]->inside.fetch_sub(1);
  inside_.fetch_sub(1);
}

bool SourceGate::Answers(size_t number) const {
  const Source& source = *sources_[number];
  if (source.inside.load(std::memory_order_relaxed) == 0) return true;
  const RequestSlot::Clock::duration moved(source.moved.load(std::memory_order_relaxed));
  return RequestSlot::Clock::now().time_since_epoch() - moved < kQuiet;
}

// No wake-up is lost: a worker that leaves counts down first and looks for who waits then (TakeUp); here what
// waits is counted up first and the room looked at then. One of the two sees the other, all of it in one
// order.
bool SourceGate::SetAside(const RequestSlot& slot, WaitingRequest* request) {
  Source& source = *sources_[slot.refused_by()];
  const std::lock_guard lock(mutex_);
  waiting_.fetch_add(1);
  if (HasRoom(source)) {
    waiting_.fetch_sub(1);
    return false;
  }
  source.set_aside.fetch_add(1, std::memory_order_relaxed);
  source.waiting.push_back(std::move(*request));
  return true;
}

std::optional<WaitingRequest> SourceGate::TakeUp() {
  if (waiting_.load() == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  // Of those that may go on, the one that has waited longest.
  Source* chosen = nullptr;
  for (const auto& source : sources_) {
    if (source->waiting.empty() || !HasRoom(*source)) continue;
    if (chosen == nullptr || source->waiting.front().arrived < chosen->waiting.front().arrived) {
      chosen = source.get();
    }
  }
  if (chosen == nullptr) return std::nullopt;
  std::optional<WaitingRequest> request(std::move(chosen->waiting.front()));
  chosen->waiting.pop_front();
  waiting_.fetch_sub(1);
  return request;
}

std::vector<std::pair<uint32_t, WaitingRequest>> SourceGate::TakeOverdue(
    RequestSlot::Clock::time_point before) {
  std::vector<std::pair<uint32_t, WaitingRequest>> overdue;
  if (waiting_.load() == 0) return overdue;
  const std::lock_guard lock(mutex_);
  for (uint32_t number = 0; number < sources_.size(); ++number) {
    std::deque<WaitingRequest>& waiting = sources_[number]->waiting;
    const auto late =
        std::stable_partition(waiting.begin(), waiting.end(),
                              [&](const WaitingRequest& request) { return request.arrived >= before; });
    for (auto request = late; request != waiting.end(); ++request) {
      overdue.emplace_back(number, std::move(*request));
    }
    waiting.erase(late, waiting.end());
  }
  waiting_.fetch_sub(overdue.size());
  return overdue;
}

std::vector<SourceTotals> SourceGate::Totals() const {
  std::vector<SourceTotals> totals;
  const std::lock_guard lock(mutex_);
  for (const auto& source : sources_) {
    totals.push_back({.name = source->name,
                      .calls = source->calls.load(std::memory_order_relaxed),
                      .set_aside = source->set_aside.load(std::memory_order_relaxed),
                      .timed_out = source->timed_out.load(std::memory_order_relaxed),
                      .inside = source->inside.load(std::memory_order_relaxed),
                      .waiting = source->waiting.size()});
  }
  return totals;
}

}  // namespace tarn::fuse

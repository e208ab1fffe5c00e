#include "fuse/deadline.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "fuse/op_guard.h"
#include "tarn/base/bytes.h"

namespace tarn::fuse {
namespace {

// How often it looks: a request is answered at most an eighth of the deadline late.
std::chrono::milliseconds PeriodOf(std::chrono::milliseconds deadline) {
  return std::clamp(deadline / 8, std::chrono::milliseconds(5), std::chrono::milliseconds(1000));
}

}  // namespace

Deadline::Deadline(SourceGate* gate, std::chrono::milliseconds deadline,
                   std::function<std::vector<RequestSlot*>()> slots)
    : gate_(gate), deadline_(deadline), slots_(std::move(slots)), thread_([this] { Run(); }) {}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void Deadline::Run() {
  pthread_setname_np(pthread_self(), "tarn-deadline");
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, PeriodOf(deadline_), [this] { return stopping_; })) {
    lock.unlock();
    Look();
    lock.lock();
  }
}

void Deadline::Look() {
  const auto before = RequestSlot::Clock::now() - deadline_;
  for (RequestSlot* slot : slots_()) {
    const RequestSlot::View view = slot->Look();
    const bool open = view.ticket % 2 == 1;
    if (!open || view.source == RequestSlot::kNoSource || view.arrived >= before) continue;
    if (!slot->Claim(view.ticket)) continue;  // it was answered just now
    TimeOut(view.source, view.path, view.operation, view.inode, view.arrived, view.request);
  }
  for (auto& [source, request] : gate_->TakeOverdue(before)) {
    TimeOut(source, nullptr, request.operation, request.inode, request.arrived, request.request);
  }
}

void Deadline::TimeOut(uint32_t source, const std::string* path, Operation operation, uint64_t inode,
                       RequestSlot::Clock::time_point arrived, fuse_req_t request) {
  fuse_reply_err(request, EIO);
  gate_->CountTimeout(source);
  CountOperation(operation, RequestSlot::Clock::now() - arrived, true);
  const std::string what = path == nullptr ? "the requests before it" : "'" + EscapeName(*path) + "'";
  LogFailure(operation, inode,
             Status(ErrorCode::kTimedOut,
                    fmt::format("source '{}' has not answered for {} within {} s", gate_->NameOf(source),
                                what, static_cast<double>(deadline_.count()) / 1000))
                 .WithHint("reads go on by themselves when it answers again; --source-deadline says how long "
                           "they wait"));
}

}  // namespace tarn::fuse

#include "indexer/stop_signal.h"

#include <atomic>
#include <string>

namespace tarn::indexer {
namespace {

// A signal handler can reach nothing but globals.
std::atomic<int> received_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free, "signal handlers may touch lock-free atomics only");

extern "C" void OnStopSignal(int signal) {
  received_signal.store(signal, std::memory_order_relaxed);
}

}  // namespace

StopSignal::StopSignal() {
  received_signal = 0;
  struct sigaction action {};
  action.sa_handler = OnStopSignal;
  action.sa_flags = SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previous_interrupt_);
  sigaction(SIGTERM, &action, &previous_terminate_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &previous_interrupt_, nullptr);
  sigaction(SIGTERM, &previous_terminate_, nullptr);
}

int StopSignal::Received() {
  return received_signal.load(std::memory_order_relaxed);
}

Status StopSignal::Check() {
  const int signal = Received();
  if (signal == 0) return Status::Ok();
  return Status(ErrorCode::kCancelled, std::string("stopped by ") + (signal == SIGINT ? "SIGINT" : "SIGTERM"))
      .WithHint("run the same command again: archives that were read completely are not read again");
}

}  // namespace tarn::indexer

#include "fuse/periodic_thread.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace tarn::fuse {

struct PeriodicThread::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;   // guarded by mutex
  bool woken = false;      // guarded by mutex
  bool ended = false;      // guarded by mutex
  bool abandoned = false;  // guarded by mutex
};

PeriodicThread::PeriodicThread(const std::string& name, std::chrono::milliseconds first, Work work)
    : state_(std::make_shared<State>()) {
  std::thread([name, first, work = std::move(work), state = state_] {
    pthread_setname_np(pthread_self(), name.c_str());
    std::chrono::milliseconds pause = first;
    std::unique_lock lock(state->mutex);
    for (;;) {
      state->changed.wait_for(lock, pause, [&] { return state->stopping || state->woken; });
      if (state->stopping) break;
      state->woken = false;
      lock.unlock();
      pause = work();
      lock.lock();
    }
    state->ended = true;
    state->changed.notify_all();
  }).detach();
}

void PeriodicThread::Wake() {
  const std::lock_guard lock(state_->mutex);
  state_->woken = true;
  state_->changed.notify_all();
}

bool PeriodicThread::Stop(std::chrono::milliseconds patience) {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  if (state_->changed.wait_for(lock, patience, [this] { return state_->ended; })) return true;
  state_->abandoned = true;
  return false;
}

PeriodicThread::~PeriodicThread() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  state_->changed.wait(lock, [this] { return state_->ended || state_->abandoned; });
}

}  // namespace tarn::fuse

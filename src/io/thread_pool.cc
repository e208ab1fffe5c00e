#include "tarn/io/thread_pool.h"

#include <algorithm>
#include <utility>

namespace tarn::io {

ThreadPool::ThreadPool(unsigned threads) {
  threads_.reserve(std::max(threads, 1U));
  for (unsigned i = 0; i < std::max(threads, 1U); ++i) threads_.emplace_back([this] { Run(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  work_.notify_one();
}

void ThreadPool::Wait() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return queue_.empty() && running_ == 0; });
}

void ThreadPool::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    task();
    task = nullptr;  // what it held is gone before Wait() returns
    lock.lock();
    if (--running_ == 0 && queue_.empty()) idle_.notify_all();
  }
}

}  // namespace tarn::io

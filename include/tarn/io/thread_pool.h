// A fixed set of threads and one queue: for work that has to overlap, not for work that has to be fast to
// start.
#ifndef TARN_IO_THREAD_POOL_H_
#define TARN_IO_THREAD_POOL_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tarn::io {

class ThreadPool {
 public:
  explicit ThreadPool(unsigned threads);
  // Runs what was submitted, then joins.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Runs `task` on some thread, in the order of submission. Tasks must not throw.
  void Submit(std::function<void()> task);
  // Returns when everything submitted so far has run and the queue is empty.
  void Wait();

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable idle_;
  std::deque<std::function<void()>> queue_;
  size_t running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tarn::io

#endif  // TARN_IO_THREAD_POOL_H_

// PeriodicThread: a thread that does the same piece of work again and again, apart from those that serve.
//
// The work may call into a source and hang there: whoever ends the thread says how long it waits for that,
// and learns whether it has ended.
#ifndef TARN_FUSE_PERIODIC_THREAD_H_
#define TARN_FUSE_PERIODIC_THREAD_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace tarn::fuse {

class PeriodicThread {
 public:
  // Gives how long to wait before the next call.
  using Work = std::function<std::chrono::milliseconds()>;

  // `name`: of the thread, at most 15 characters. The first call comes after `first`.
  PeriodicThread(const std::string& name, std::chrono::milliseconds first, Work work);
  // Stops and waits as long as it takes, unless Stop has given up on it: then what the work uses must outlive
  // the process.
  ~PeriodicThread();

  // The next call comes now.
  void Wake();
  // No further call is begun; waits for the one that is under way. False when it has not come back.
  bool Stop(std::chrono::milliseconds patience);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_PERIODIC_THREAD_H_

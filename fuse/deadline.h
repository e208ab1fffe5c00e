// Deadline: a thread that answers EIO to requests that have waited too long for a source.
//
// It is the only one that can: the worker is inside a call that cannot be taken back. It enters no source
// itself and takes no lock that somebody holds who does.
#ifndef TARN_FUSE_DEADLINE_H_
#define TARN_FUSE_DEADLINE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "fuse/request_slot.h"
#include "fuse/source_gate.h"

namespace tarn::fuse {

class Deadline {
 public:
  // `slots` gives those of the workers there are; they stay as long as this.
  Deadline(SourceGate* gate, std::chrono::milliseconds deadline,
           std::function<std::vector<RequestSlot*>()> slots);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  void Run();
  void Look();
  void TimeOut(uint32_t source, const std::string* path, Operation operation, uint64_t inode,
               RequestSlot::Clock::time_point arrived, fuse_req_t request);

  SourceGate* const gate_;
  const std::chrono::milliseconds deadline_;
  const std::function<std::vector<RequestSlot*>()> slots_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_DEADLINE_H_

// CacheForgetter: makes the kernel forget what it keeps of archives that were changed.
//
// Pages of an archive that was replaced without anybody noticing hold what was served then. Before the change
// is reported the kernel is told to drop them, file by file. That waits for reads of these pages that are
// under way, so it is done by a thread that serves none; the report comes after it.
#ifndef TARN_FUSE_CACHE_FORGETTER_H_
#define TARN_FUSE_CACHE_FORGETTER_H_

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "fuse/periodic_thread.h"
#include "tarn/dataset/archive_bytes.h"
#include "tarn/dataset/node_id.h"

namespace tarn::fuse {

class CacheForgetter {
 public:
  // Makes the kernel forget the pages of one file; fine when it has none.
  using ForgetFile = std::function<void(dataset::NodeId file)>;

  // Begins to work. What was asked before is done then. `forget` must stay callable until Stop gave true.
  void Start(ForgetFile forget);
  // Reports what is left without forgetting it: nobody reads any more. False: a call has not come back.
  bool Stop(std::chrono::milliseconds patience);

  // From any thread; does not wait. `report` is called once, from another thread.
  void Forget(const dataset::ChangedArchive& archive, std::function<void()> report);

 private:
  struct Task {
    dataset::ChangedArchive archive;
    std::function<void()> report;
  };
  bool Take(Task* task);

  std::mutex mutex_;
  std::deque<Task> tasks_;                  // guarded by mutex_
  std::unique_ptr<PeriodicThread> thread_;  // made under mutex_
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_CACHE_FORGETTER_H_

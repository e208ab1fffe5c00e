#include "fuse/cache_forgetter.h"

namespace tarn::fuse {
void CacheForgetter::Start(ForgetFile forget) {
  const std::lock_guard lock(mutex_);
  thread_ = std::make_unique<PeriodicThread>(
      "tarn-forget", std::chrono::milliseconds(0), [this, forget = std::move(forget)] {
        for (Task task; Take(&task);) {
          for (uint64_t ordinal = 0; ordinal < task.archive.members; ++ordinal) {
            forget(dataset::NodeId::File(task.archive.dataset, task.archive.number,
                                         static_cast<uint32_t>(ordinal)));
          }
          task.report();
        }
        return std::chrono::milliseconds(std::chrono::hours(1));  // or when it is woken
      });
}

bool CacheForgetter::Stop(std::chrono::milliseconds patience) {
  if (thread_ != nullptr && !thread_->Stop(patience)) return false;
  for (Task task; Take(&task);) task.report();
  return true;
}

void CacheForgetter::Forget(const dataset::ChangedArchive& archive, std::function<void()> report) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back({archive, std::move(report)});
  if (thread_ != nullptr) thread_->Wake();
}

bool CacheForgetter::Take(Task* task) {
  const std::lock_guard lock(mutex_);
  if (tasks_.empty()) return false;
  *task = std::move(tasks_.front());
  tasks_.pop_front();
  return true;
}

}  // namespace tarn::fuse

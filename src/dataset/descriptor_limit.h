// DescriptorLimit: which archives keep their files open.
//
// Least recently used, in the form that costs a reader one relaxed store and no lock (second chance): readers
// mark what they use; whoever opens one file too many goes round, takes marks away, and closes the first it
// finds without. Closing takes the slot's reference only: a read in progress has its own, and the descriptor
// lives until that read is done. So the number open is bounded by the limit plus the reads in progress.
#ifndef TARN_DATASET_DESCRIPTOR_LIMIT_H_
#define TARN_DATASET_DESCRIPTOR_LIMIT_H_

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

namespace tarn::dataset {

// `Holder` has `bool TakeMark()` (whether it was used since the last call), `void CloseFile()`, and a field
// `bool listed = false` that is the limit's own.
template <typename Holder>
class DescriptorLimit {
 public:
  explicit DescriptorLimit(size_t most) : most_(std::max<size_t>(most, 1)) {}

  // `holder` has opened its file, for the first time or again. May close others'.
  void Opened(Holder* holder) {
    const std::lock_guard lock(mutex_);
    if (holder->listed) return;
    holder->listed = true;
    if (open_.size() < most_) {
      open_.push_back(holder);
      return;
    }
    // Two rounds at most: marks come back while we go, and somebody has to give way.
    for (size_t steps = 0; steps < 2 * open_.size() && open_[hand_]->TakeMark(); ++steps) Advance();
    open_[hand_]->CloseFile();
    open_[hand_]->listed = false;
    open_[hand_] = holder;
    Advance();
  }

 private:
  void Advance() { hand_ = (hand_ + 1) % open_.size(); }

  const size_t most_;
  std::mutex mutex_;
  std::vector<Holder*> open_;
  size_t hand_ = 0;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_DESCRIPTOR_LIMIT_H_

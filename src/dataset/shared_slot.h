// SharedSlot: a shared_ptr that one thread replaces while others take references.
//
// std::atomic<std::shared_ptr> of libstdc++ 12 does the same with a lock bit, and releases it in load() in a
// way that ThreadSanitizer reports (and is right to). The lock here is held for copying one pointer and
// counting up once, never across anything that can wait.
#ifndef TARN_DATASET_SHARED_SLOT_H_
#define TARN_DATASET_SHARED_SLOT_H_

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

namespace tarn::dataset {

template <typename T>
class SharedSlot {
 public:
  std::shared_ptr<T> Load() const {
    Lock();
    std::shared_ptr<T> value = value_;
    Unlock();
    return value;
  }

  // Gives what was there: dropped by the caller, outside the lock.
  std::shared_ptr<T> Exchange(std::shared_ptr<T> value) {
    Lock();
    value_.swap(value);
    Unlock();
    return value;
  }

  // Empties the slot if it still holds `expected`.
  void Clear(const std::shared_ptr<T>& expected) {
    std::shared_ptr<T> dropped;
    Lock();
    if (value_ == expected) value_.swap(dropped);
    Unlock();
  }

 private:
  void Lock() const {
    for (unsigned spins = 0; locked_.exchange(true, std::memory_order_acquire); ++spins) {
      if (spins >= 32) std::this_thread::yield();  // its holder may not be running
    }
  }
  void Unlock() const { locked_.store(false, std::memory_order_release); }

  mutable std::atomic<bool> locked_{false};
  std::shared_ptr<T> value_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_SHARED_SLOT_H_

// ExtentCache: where the bytes of a file lie, by node id: so that a READ after a LOOKUP decodes no row again.
//
// Only files that are one contiguous extent (or empty) are kept: nearly all. The table has a fixed size and
// one place for each node id; a newcomer replaces what is there. Readers and writers take no lock: a place is
// a version and three words, and a reader that sees the version change, or odd, treats it as a miss. Every
// word is an atomic of its own, so that there is no race even where the version says "do not trust this".
#ifndef TARN_DATASET_EXTENT_CACHE_H_
#define TARN_DATASET_EXTENT_CACHE_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tarn/dataset/node_id.h"

namespace tarn::dataset {

class ExtentCache {
 public:
  struct Place {
    uint64_t archive_offset = 0;  // of the file's first byte
    uint64_t size = 0;            // bytes
  };

  // Holds bytes / kPlaceBytes places, rounded down to a power of two, at least one.
  explicit ExtentCache(size_t bytes)
      : mask_(std::bit_floor(std::max<size_t>(bytes / kPlaceBytes, 1)) - 1),
        slots_(std::make_unique<Slot[]>(mask_ + 1)) {}

  bool Find(NodeId node, Place* place) const {
    const Slot& slot = slots_[IndexOf(node)];
    const uint64_t version = slot.version.load(std::memory_order_acquire);
    if ((version & 1) != 0) return false;
    // Acquire keeps these loads before that of the version below.
    const uint64_t found = slot.node.load(std::memory_order_acquire);
    place->archive_offset = slot.archive_offset.load(std::memory_order_acquire);
    place->size = slot.size.load(std::memory_order_acquire);
    return found == node.value() && slot.version.load(std::memory_order_relaxed) == version;
  }

  void Put(NodeId node, Place place) {
    Slot& slot = slots_[IndexOf(node)];
    uint64_t version = slot.version.load(std::memory_order_relaxed);
    // Somebody else is writing here: one of two is lost, which a cache may do.
    if ((version & 1) != 0) return;
    if (!slot.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) return;
    // Release keeps these stores behind that of the odd version.
    slot.node.store(node.value(), std::memory_order_release);
    slot.archive_offset.store(place.archive_offset, std::memory_order_release);
    slot.size.store(place.size, std::memory_order_release);
    slot.version.store(version + 2, std::memory_order_release);
  }

  size_t places() const { return mask_ + 1; }

 private:
  struct alignas(32) Slot {
    std::atomic<uint64_t> version{0};
    std::atomic<uint64_t> node{0};  // 0 is nobody's id: dataset 0 is what the mount makes up
    std::atomic<uint64_t> archive_offset{0};
    std::atomic<uint64_t> size{0};
  };
  static constexpr size_t kPlaceBytes = sizeof(Slot);
  static_assert(kPlaceBytes == 32);

  // Neighbouring ordinals are read together: they get neighbouring places; archives are spread.
  size_t IndexOf(NodeId node) const {
    const uint64_t archive = node.value() >> kOrdinalBits;
    return static_cast<size_t>(node.ordinal() + (archive * 0x9e3779b97f4a7c15ULL >> 20)) & mask_;
  }

  const size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_EXTENT_CACHE_H_

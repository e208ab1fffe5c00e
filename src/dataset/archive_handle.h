// ArchiveBytes::Archive: what is known of one archive or loose file, and who may touch which part of it.
#ifndef TARN_DATASET_ARCHIVE_HANDLE_H_
#define TARN_DATASET_ARCHIVE_HANDLE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "dataset/archive_places.h"
#include "dataset/shared_slot.h"
#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/dataset/archive_bytes.h"

namespace tarn::dataset {

using SteadyClock = std::chrono::steady_clock;

// An open file and when it was looked at last. What it says of the file never changes: a file that looks
// different is opened and judged anew.
struct Descriptor {
  explicit Descriptor(OpenedArchive opened_archive)
      : opened(std::move(opened_archive)), looked_at(SteadyClock::now().time_since_epoch().count()) {}

  const OpenedArchive opened;
  mutable std::atomic<SteadyClock::rep> looked_at;
};

struct SeenAccess {
  io::FileAccess access;
  SteadyClock::time_point at;
};

// Whether a read is worth the question what of it was cached, once that was so of many reads of an archive in
// a row. An archive that leaves the cache is then noticed a few reads late, whose pages stay cached twice.
class Residency {
 public:
  bool ShouldLook() {
    const uint32_t reads = reads_.load(std::memory_order_relaxed);
    if (reads < kSure || reads % kLookEvery == 0) return true;
    reads_.store(reads + 1, std::memory_order_relaxed);
    return false;
  }
  void Saw(bool all_cached) {
    reads_.store(all_cached ? reads_.load(std::memory_order_relaxed) + 1 : 0, std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kSure = 64;
  static constexpr uint32_t kLookEvery = 16;
  std::atomic<uint32_t> reads_{0};  // found, or taken, to be cached in a row; a count that is lost is no harm
};

class ArchiveBytes::Archive {
 public:
  Archive(std::shared_ptr<const index::GenerationReader> from, const index::ManifestRow& row,
          SourceGuard* guard, VerdictStore* verdicts)
      : generation(std::move(from)),
        path(row.path),
        id(row.id),
        published_access(row.access),
        changed{.dataset = generation->facts().dataset_number,
                .number = row.number,
                .members = row.kind == index::ManifestKind::kLooseFile ? 1 : row.members},
        places(row.id, path, published_access, guard, verdicts) {}

  // For DescriptorLimit.
  bool TakeMark() { return used.exchange(false, std::memory_order_relaxed); }
  void CloseFile() { descriptor.Exchange(nullptr); }
  bool listed = false;

  // "dataset 'imagenet': 'train/a.tar', published as <ArchiveId>,": how messages start.
  std::string Describe() const {
    return "dataset '" + generation->facts().dataset + "': '" + EscapeName(path) + "', published as " +
           id.ToString() + ",";
  }

  void SetState(ArchiveState now) {
    if (state.exchange(now, std::memory_order_relaxed) == now) return;
    state_since.store(SecondsNow(), std::memory_order_relaxed);
  }

  const std::shared_ptr<const index::GenerationReader> generation;
  const std::string path;
  const ArchiveId id;
  const io::FileAccess published_access;
  const ChangedArchive changed;

  SharedSlot<const Descriptor> descriptor;
  SharedSlot<const SeenAccess> access;
  std::atomic<bool> used{false};
  std::atomic<bool> asked_ahead{false};  // something was brought in ahead of a reader
  Residency residency;
  std::atomic<ArchiveState> state{ArchiveState::kUnseen};
  std::atomic<int64_t> state_since{0};  // seconds since 1970-01-01 UTC
  // When reads began to fail for reasons of the source; 0: the last one did not.
  std::atomic<SteadyClock::rep> failing_since{0};
  std::atomic<uint64_t> openings{0};    // that succeeded: tells a report that it comes too late
  std::atomic<size_t> known_places{0};  // places.count()
  std::atomic<bool> has_notice{false};  // `notice` is to be said after the next good read
  std::atomic<unsigned> forgetting{0};  // reports that wait until others have forgotten what they keep
  bool in_checking = false;             // guarded by the mutex of Impl

  // Held while the file is looked for and opened.
  std::mutex mutex;
  ArchivePlaces places;                 // guarded by mutex, like the rest
  bool copy_known = false;              // the copy that the index root keeps is among the places
  Status failure;                       // the last one, ok when the last opening succeeded
  SteadyClock::time_point failed_at{};  // of `failure`
  std::string elsewhere;                // the other place that the log was told of
  std::string notice;                   // where it is served from, if it turns out to be the archive
  std::string reported;                 // what the log was told last; empty: all is well
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ARCHIVE_HANDLE_H_

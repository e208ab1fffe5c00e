// ArchivePatrol: walks past all published archives and loose files, slowly and for ever, and says which are
// not what was published.
//
// It does two things side by side, each at a rate that is bounded:
//
//     look    a stat of each file at the places where it was published, in rounds of one interval
//     scrub   all bytes of each file against the XXH3-64 of its chunks, in rounds of days
//
// A look finds what is missing, unreadable or of another size within one interval. What has another mtime, or
// lies where only another row of the index says that it may, is touched: nobody knows whether its bytes are
// still the ones that were published, so it is scrubbed at once, in front of all others. What was replaced
// with size and mtime put back only the scrub finds.
//
// Nothing here waits or has a thread that outlives a call: Step() does a small piece of work (a batch of
// looks, a block of one file) and says how long nothing is to be done. Whoever calls it sleeps as it likes
// and stops whenever it wants; a hanging file server hangs the caller of Step() and nobody else.
//
// Not thread-safe.
#ifndef TARN_DATASET_ARCHIVE_PATROL_H_
#define TARN_DATASET_ARCHIVE_PATROL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/dataset/archive_states.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

struct LiveGeneration {
  std::string dataset;
  uint32_t number = 0;

  auto operator<=>(const LiveGeneration&) const = default;
};

// One archive or loose file is seen in another way than before.
struct PatrolEvent {
  enum class Kind : uint8_t {
    kVerdict,      // `verdict` is new or says something else
    kTouched,      // same size, other mtime or place: `verdict` says what was seen, its state means nothing
    kAsPublished,  // there was a verdict, and there is none any more
  };
  Kind kind = Kind::kVerdict;
  std::string dataset;
  ArchiveVerdict verdict;
  bool will_be_scrubbed = false;  // kTouched: the scrub takes it next
};

struct PatrolOptions {
  // In the order in which they are tried; places below each are the dataset's recorded path and the file's
  // own path alone, as for mounts.
  std::vector<std::shared_ptr<io::Source>> sources;

  std::chrono::seconds interval{300};  // each file is looked at once in this time; 0: round behind round
  uint64_t stats_per_second = 500;     // bounds looks, of all places together; 0: no limit
  unsigned lookers = 8;                // looks at the same time: more hide more of a server's latency

  std::chrono::seconds scrub_period{7 * 86400};          // all bytes are read once in this time; 0: no scrub
  uint64_t scrub_bytes_per_second = uint64_t{64} << 20;  // never faster than this; 0: no limit
  bool scrub_paced = true;  // false: as fast as the limit allows, not spread over the period

  // Opens a live generation: for its rows when it is added, for its checksums when a file of it is scrubbed.
  std::function<Result<std::shared_ptr<const index::GenerationReader>>(const LiveGeneration&)> open;
  // Gets every change, on the thread that calls Step(). Must not call the patrol. May be empty.
  std::function<void(const PatrolEvent&)> report;
  // Time since some start, and seconds since 1970-01-01 UTC; empty: the machine's. Tests bring their own.
  std::function<std::chrono::nanoseconds()> now;
  std::function<int64_t()> seconds_now;
};

// What one Step() did.
struct PatrolStep {
  bool looked = false;
  bool scrubbed = false;             // a block of a file
  bool look_round_ended = false;     // each file was looked at
  bool scrub_round_ended = false;    // of one dataset
  std::chrono::nanoseconds wait{0};  // before there is something to do again
  // A generation's checksums could not be read: the index, not the archive, is in trouble. The file is passed
  // over until the next round.
  Status problem;
};

// Files as last seen.
struct PatrolTotals {
  uint64_t files = 0;
  uint64_t unseen = 0;
  uint64_t as_published = 0;
  uint64_t touched = 0;  // and not scrubbed yet
  uint64_t verified = 0;
  uint64_t changed = 0;
  uint64_t missing = 0;
  uint64_t unreadable = 0;

  bool operator==(const PatrolTotals&) const = default;
};

class ArchivePatrol {
 public:
  // `root_uuid`: of the index root that States() speak of.
  ArchivePatrol(PatrolOptions options, std::string root_uuid);
  ~ArchivePatrol();
  ArchivePatrol(ArchivePatrol&&) noexcept;
  ArchivePatrol& operator=(ArchivePatrol&&) noexcept;

  // Takes up a generation: reads its rows. Files that other generations of the dataset have with the same
  // path and ArchiveId are looked at once. Fails with what opening it said; nothing is then changed.
  Status Add(const LiveGeneration& generation);
  // Leaves it; files that no other has are forgotten, with their verdicts.
  void Drop(const LiveGeneration& generation);
  std::vector<LiveGeneration> Followed() const;  // sorted

  // Goes on from what an earlier patrol left: verdicts keep their `since`, scrubbed files are not scrubbed
  // again for the same stat, and the scrub's round goes on behind the last file. After Add. States of another
  // root or of datasets that are not followed are passed over.
  void Restore(const DatasetStates& states);
  // The next scrub begins a new round, whatever Restore said.
  void BeginScrub();

  // Does what is due next, if anything is.
  PatrolStep Step();

  std::vector<std::string> Datasets() const;  // sorted
  // What to write for readers; `unpublished` is the caller's.
  DatasetStates States(const std::string& dataset) const;
  PatrolTotals Totals() const;
  PatrolTotals Totals(const std::string& dataset) const;
  // Whether a live generation has this path, as whatever; quarantined ones too.
  bool Holds(const std::string& dataset, const std::string& path) const;
  // Seconds that a round of looks takes at the allowed rate, when that is more than the interval.
  std::optional<std::chrono::seconds> RoundTooLong() const;
  // Every dataset's running scrub round is done, and no touched file waits.
  bool ScrubDone() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ARCHIVE_PATROL_H_

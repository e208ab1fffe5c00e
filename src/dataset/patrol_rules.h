// What a patrol decides, without a disk and without a clock.
#ifndef TARN_SRC_DATASET_PATROL_RULES_H_
#define TARN_SRC_DATASET_PATROL_RULES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/dataset/archive_states.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

// How one place looks, from best to what says least.
enum class Standing : uint8_t {
  kAsPublished,  // size and mtime of a hint
  kTouched,      // size alone
  kChanged,      // another size, or no regular file
  kUnreadable,   // there or not: nobody can tell
  kMissing,      // nothing there
};

// What a look at one place gave: `hints` are the stats with which the archive was published there.
Standing JudgeStat(const Result<io::FileStat>& found, const ArchiveId& id,
                   std::span<const io::FileIdentity> hints);

// What was seen of a file at the best of its places.
struct Sight {
  Standing standing = Standing::kMissing;
  size_t source = 0;          // number of the source of `found_at`
  std::string found_at;       // below the source; empty when missing
  io::FileIdentity identity;  // all 0 when nothing could be looked at
  std::string found;          // what is there, for people: "found ..."
};

// What becomes of the verdict on a file when it is seen so.
struct Ruling {
  enum class Verdict : uint8_t {
    kKeep,   // the one there is, or none, still holds
    kClear,  // none: as published, or nobody knows yet
    kSet,    // `state`
  };
  Verdict verdict = Verdict::kKeep;
  ArchiveVerdict::State state = ArchiveVerdict::State::kMissing;
  bool scrub = false;    // in front of all others
  bool touched = false;  // nobody knows whether its bytes are those that were published
};
Ruling Rule(const std::optional<ArchiveVerdict>& before, const ArchiveId& id, const Sight& sight);

// The same for a file whose every byte was read, or as far as a bad chunk or an error; `bad` is ok when all
// chunks were good.
Ruling RuleOnBytes(Standing standing, const Status& bad);

// A round of a scrub goes evenly over its period: what is done is held against the time that is over. Small
// files count for their number too, so that empty ones take their turn.
struct ScrubPace {
  int64_t round_started = 0;  // seconds since 1970-01-01 UTC
  int64_t period = 0;         // seconds
  uint64_t done = 0;          // bytes and files
  uint64_t total = 0;
};
// Bytes that should have been read by `now` and were not; negative: how far ahead it is.
double BytesBehind(const ScrubPace& pace, int64_t now);
// Seconds until something is due; 0 when something is.
double SecondsUntilDue(const ScrubPace& pace, int64_t now);

}  // namespace tarn::dataset

#endif  // TARN_SRC_DATASET_PATROL_RULES_H_

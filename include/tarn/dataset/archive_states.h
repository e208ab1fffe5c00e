// STATES: what `tarn-index watch` saw of a dataset's archives, for mounts to read.
//
// One file a dataset, beside its generations: ROOT/datasets/<name>/STATES, JSON, docs/index-format.md. It is
// no part of any generation: it is replaced whole whenever something was seen, and an index without it is
// complete. Who reads it knows what one process saw for the whole cluster, and has not to look itself.
#ifndef TARN_DATASET_ARCHIVE_STATES_H_
#define TARN_DATASET_ARCHIVE_STATES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

// What was seen of an archive or loose file that is not plainly as published. The verdict is about the file
// that was looked at: another `identity` at the same place has to be judged anew.
struct ArchiveVerdict {
  enum class State : uint8_t {
    kVerified,    // the same bytes under another mtime or in another place: every chunk was checked
    kChanged,     // another size, or a chunk holds other bytes
    kMissing,     // at none of the places where it was published
    kUnreadable,  // there, and cannot be looked at or read
  };

  std::string path;  // in the dataset
  ArchiveId id;      // as published
  State state = State::kMissing;
  std::string found_at;       // path below the source where it was looked at; empty when missing
  io::FileIdentity identity;  // of what was looked at; all 0 when nothing could be
  int64_t since = 0;          // seconds since 1970-01-01 UTC when it was first seen so
  std::string message;        // one line: the ArchiveId expected, and what is there now

  bool operator==(const ArchiveVerdict&) const = default;
};
// "verified", "changed", "missing", "unreadable": the spelling of STATES and of reports. Static storage.
std::string_view VerdictName(ArchiveVerdict::State state);

// Archives below the dataset's directory that no live generation holds.
struct UnpublishedArchives {
  static constexpr size_t kMostNames = 100;

  uint64_t count = 0;
  int64_t oldest_mtime = 0;        // seconds since 1970-01-01 UTC; 0 when there are none
  std::vector<std::string> names;  // paths in the dataset, sorted; the first kMostNames

  bool operator==(const UnpublishedArchives&) const = default;
};

// How far the re-reading of all files is, in the round that runs.
struct ScrubProgress {
  int64_t round_started = 0;  // seconds since 1970-01-01 UTC; 0: there was none yet
  uint64_t files = 0;         // done
  uint64_t bytes = 0;
  uint64_t total_files = 0;
  uint64_t total_bytes = 0;
  // The last file that is done: rounds go in order of path, then ArchiveId. Both empty: none is.
  std::string done_path;
  ArchiveId done_id;

  bool operator==(const ScrubProgress&) const = default;
};

struct DatasetStates {
  std::string dataset;
  std::string root_uuid;  // of the index root: states of another root mean nothing
  int64_t looked_at =
      0;  // end of the last complete round of looks, seconds since 1970-01-01 UTC; 0: none yet
  ScrubProgress scrub;
  std::vector<ArchiveVerdict> verdicts;            // in order of path, then ArchiveId
  std::optional<UnpublishedArchives> unpublished;  // nothing: nobody looked

  bool operator==(const DatasetStates&) const = default;
};

// "datasets/<name>/STATES": below the index root.
std::string StatesPath(std::string_view dataset);

// Replaces the STATES of `states.dataset`: written aside, synced, renamed, so that readers see the old or the
// new one, whole. `root` is the path of the index root. kNotFound when the dataset has no directory there.
Status WriteStates(const std::string& root, const DatasetStates& states);

// kNotFound: there is none, nobody watches; kUnsupported: written by a newer Tarn; kCorrupt: damaged, with
// the file and the offset or the field.
Result<DatasetStates> ReadStates(const std::string& root, std::string_view dataset);

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ARCHIVE_STATES_H_

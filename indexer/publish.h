// Publish: from a directory of archives to a new generation of a dataset, or to "nothing changed".
#ifndef TARN_INDEXER_PUBLISH_H_
#define TARN_INDEXER_PUBLISH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "indexer/file_pass.h"
#include "indexer/glob.h"
#include "indexer/keep_choice.h"
#include "indexer/left_out.h"
#include "indexer/progress.h"
#include "indexer/throttle.h"
#include "tarn/base/result.h"
#include "tarn/tar/finding.h"

namespace tarn::indexer {

// What makes a file be taken as unchanged since it was read.
enum class IdentityMode : uint8_t {
  kHint,  // size, mtime, ctime and inode: a stat
  kFull,  // its bytes
};

// What becomes of an archive with error findings.
enum class OnDamage : uint8_t {
  kQuarantine,  // it is listed and not shown; the others are published
  kFail,        // nothing is published
  kPublish,     // it is shown as far as it is whole
};

struct PublishOptions {
  std::string directory;  // the dataset's
  std::string name;
  std::string index;                       // the index root
  std::optional<std::string> relative_to;  // nothing: the directory's parent
  Selection selection;
  unsigned jobs = 1;
  size_t read_bytes = 0;  // 0: ReadBytes chooses
  unsigned depth = 2;
  size_t memory_bytes = size_t{512} << 20;  // shared by the jobs
  int64_t settle_seconds = 60;
  int64_t settle_timeout_seconds = 300;
  IdentityMode identity = IdentityMode::kHint;
  OnDamage on_damage = OnDamage::kQuarantine;
  KeepOptions keep;
  ReadLimits limits;  // of all jobs together; can be changed while they read
};

// Bytes of one read request when `jobs` files are read at the same time.
size_t ReadBytes(const PublishOptions& options, unsigned jobs);

// A finding, and the file it is in.
struct FoundIn {
  std::string path;
  tar::Finding finding;
};

// A file of a plan that is not what its worker read any more.
struct ChangedSince {
  std::string path;
  uint32_t share = 0;  // 0: it was known when the plan was made
  std::string why;
};

// Of the commit of a plan (plan_commit.h): figures of reading are then the sums of its workers.
struct PlanFacts {
  std::string id;
  uint32_t shares = 0;
  std::vector<uint32_t> missing = {};  // shares that nobody has read; nothing was published
  std::vector<ChangedSince> changed = {};
};

// What is kept of a generation: copies of its files' bytes in the index root.
struct KeptFacts {
  uint64_t files = 0;         // of the generation
  uint64_t bytes = 0;         // of these, the same bytes once
  uint64_t copied_files = 0;  // by this publish
  uint64_t copied_bytes = 0;
  uint64_t missed = 0;  // --keep names them, and they could not be kept: each has a note
};

struct PublishReport {
  std::string dataset;
  std::string index;        // as given
  std::string source_path;  // of the dataset's directory below a source root
  bool published = false;   // false: nothing changed, `generation` is the newest
  uint32_t generation = 0;
  std::string digest;  // of the dataset
  uint32_t archives = 0;
  uint32_t loose_files = 0;
  uint64_t members = 0;
  uint64_t bytes = 0;  // of all files of the generation

  uint64_t bytes_read = 0;       // by this publish, to index them
  uint64_t files_read = 0;       // completely
  uint64_t files_unchanged = 0;  // taken from the previous generation or a journal, by their hints
  uint64_t bundles_reused = 0;   // of the files read, those whose index the root had already
  double seconds = 0;

  std::optional<KeptFacts> kept;  // nothing: --no-keep, or nothing was published
  std::optional<PlanFacts> plan;  // nothing: a publish on one machine

  // Not ok: nothing was published, because of what the dataset holds (damage with --on-damage=fail, or every
  // file was left out).
  Status refusal;
  std::vector<std::string> quarantined;  // paths, in order; with --on-damage=fail the damaged ones
  std::vector<LeftOut> left_out;
  uint64_t warnings = 0;  // findings of all files
  uint64_t errors = 0;
  std::vector<FoundIn> findings;   // those that are kept, in order of path
  std::vector<std::string> notes;  // one line each
};

// Publishes. kInvalidArgument: the options contradict each other or the world (an index root inside the
// dataset); kCancelled: a signal asked to stop. After any failure what was published before is there and
// whole, and what was read is in the journal.
Result<PublishReport> Publish(const PublishOptions& options, Progress* progress);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_PUBLISH_H_

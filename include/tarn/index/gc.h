// Gc: takes away what nobody needs any more: retired generations past their grace, bundles that no generation
// names, unfinished work of the dead, holds that ended (docs/operations.md, "Care of the index root").
//
// It needs no lock and disturbs nobody:
//
//   - A retired generation is moved out of sight in one rename and then removed. Processes that have its
//   files
//     open read on (POSIX unlink); the grace is for those that open files later, and for other machines,
//     whose file handles a file server forgets (ESTALE).
//   - The newest generation of a dataset stays also when it is retired: numbers go on from it.
//   - A bundle is removed only while nobody publishes: a publish may count on one it has found. Bundles are
//     moved aside, then publishes and new generations are looked for once more, and only then they go; had
//     one started in between, they are put back.
//   - A generation that cannot be read may name any bundle: none is removed then.
//   - Kept files (kept_files.h) live and go as bundles do: as long as a generation names their ArchiveId.
#ifndef TARN_INDEX_GC_H_
#define TARN_INDEX_GC_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/holds.h"
#include "tarn/index/index_root.h"

namespace tarn::index {

inline constexpr int64_t kDefaultGraceSeconds = int64_t{7} * 86400;

struct GcOptions {
  // How long ago a generation must have been retired, and a bundle written, to be taken. A larger value keeps
  // more on disk for longer.
  int64_t grace_seconds = kDefaultGraceSeconds;
  bool dry_run = false;  // says what would go, changes nothing
  int64_t now_seconds = 0;
  // Archives that interrupted publishes know and no generation names yet: their bundles stay. May be null.
  std::function<Result<std::set<ArchiveId>>()> named_elsewhere = nullptr;
};

struct GcReport {
  struct Generation {
    std::string dataset;
    uint32_t generation = 0;
  };
  struct Kept {
    std::string what;
    std::string why;
  };
  std::vector<Generation> generations;  // removed
  uint64_t bundles = 0;
  uint64_t bundle_bytes = 0;
  uint64_t kept_files = 0;  // removed, as bundles are
  uint64_t kept_bytes = 0;
  uint64_t staging = 0;  // unfinished works of the dead
  uint64_t staging_bytes = 0;
  std::vector<Hold> expired_holds;
  uint64_t freed_bytes = 0;  // what the file system gets back: files with no name left
  std::vector<Kept> kept;    // what was due and stays, and why
  bool whole = true;  // false: something could not be read, so bundles and kept files were not looked at
};

// Holds that cannot be understood, or a directory of them that cannot be listed, stop it before anything is
// removed.
Result<GcReport> CollectGarbage(IndexRoot* root, const Holds& holds, const GcOptions& options);

}  // namespace tarn::index

#endif  // TARN_INDEX_GC_H_

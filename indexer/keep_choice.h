// Which files of a dataset are kept: whose bytes are copied into the index root (docs/operations.md, "Kept
// files").
//
// The precious: what --keep names, archives and loose files of any size. The small: loose files (labels,
// splits, README) up to a size, unasked, because they cost next to nothing and a run without them is dead;
// together they stay below a bound, so that a dataset of millions of loose files does not move into its
// index.
#ifndef TARN_INDEXER_KEEP_CHOICE_H_
#define TARN_INDEXER_KEEP_CHOICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tarn/base/archive_id.h"

namespace tarn::indexer {

struct KeepOptions {
  std::vector<std::string> globs;  // kept whatever they are and however large (glob.h)
  bool none = false;               // nothing is kept
  // Bytes of the largest loose file that is kept unasked; a larger value costs the index root more space.
  uint64_t most_bytes = uint64_t{16} << 20;
  // Bytes of all files that are kept unasked: the smallest come first.
  uint64_t most_bytes_together = uint64_t{1} << 30;
};

// A file of the dataset that may be kept.
struct KeepCandidate {
  std::string path;  // relative to the dataset's directory
  uint64_t bytes = 0;
  std::optional<ArchiveId> id;  // nothing: it is not read yet
  bool is_loose = false;
};

struct KeepChoice {
  struct File {
    KeepCandidate file;
    bool asked = false;  // a GLOB names it
  };
  std::vector<File> files;         // asked for first, then by size
  std::vector<std::string> notes;  // patterns that name nothing; what is beyond the bound
};

// The same bytes at several paths count once.
KeepChoice ChooseKept(const KeepOptions& options, std::vector<KeepCandidate> candidates);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_KEEP_CHOICE_H_

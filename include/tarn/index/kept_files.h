// Kept files: the bytes of chosen files, content-addressed below the index root, as one more place where they
// are (docs/operations.md, "Kept files").
//
//     ROOT/kept/3f/<size>-<digest>      3f: the digest's first byte, as bundles are sharded
//
// A kept file is there whole or not at all: copied aside, compared with its ArchiveId, synced, renamed. Its
// name says what it holds, so whoever publishes the same bytes again finds them kept. A root without kept/
// keeps nothing. Only its size is looked at here: who serves the bytes checks them as it does everywhere.
#ifndef TARN_INDEX_KEPT_FILES_H_
#define TARN_INDEX_KEPT_FILES_H_

#include <functional>
#include <string>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/index_root.h"
#include "tarn/io/file_facts.h"

namespace tarn::index {

// Below the index root: "kept/3f/<size>-<digest>".
std::string KeptPath(const ArchiveId& id);
// ROOT/kept, the directory of all of them; it need not be there.
std::string KeptDirectory(const IndexRoot& root);

// Whether the file is kept: a regular file of the right size is in its place.
bool HasKept(const IndexRoot& root, const ArchiveId& id);

// Moves `staged` into place, from the root's staging: a finished and synced copy that was compared with `id`.
// Makes the directories above it. Fine when the file is kept already (`staged` is removed); one of another
// size is replaced. The rename is not made last: the caller syncs the directory behind many of them.
Status PlaceKept(const IndexRoot& root, const ArchiveId& id, const std::string& staged);

struct StoredKept {
  ArchiveId id;  // as the name says it; facts.bytes is another size in a damaged one
  std::string path;
  io::FileFacts facts;
};

// All of them, in order of shard and name; what lies below kept/ and is not named like one is given to
// `foreign` (may be null).
Result<std::vector<StoredKept>> ListKept(const IndexRoot& root,
                                         const std::function<void(const std::string& path)>& foreign);

}  // namespace tarn::index

#endif  // TARN_INDEX_KEPT_FILES_H_

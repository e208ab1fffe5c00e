// Space: what a publish will take of the index root, said before the first byte is read.
//
// An estimate that is too low costs nothing that lasts: a write that finds no space ends the publish, and
// everything published stays whole. One that is too high refuses what would have fitted. So what is not known
// is taken to be as it usually is, never as bad as it could be.
#ifndef TARN_INDEXER_SPACE_H_
#define TARN_INDEXER_SPACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "indexer/glob.h"
#include "indexer/scanner.h"
#include "tarn/base/status.h"
#include "tarn/dataset/generation_builder.h"
#include "tarn/index/index_root.h"

namespace tarn::indexer {

// What is known when the files have been matched.
struct SpaceInput {
  const std::vector<ScannedFile>* unread = nullptr;
  const std::vector<dataset::PublishedFile>* known = nullptr;  // their bundles are there
  const index::GenerationFacts* newest = nullptr;              // of the dataset; may be null
  const Selection* selection = nullptr;
};

struct SpaceNeed {
  uint64_t files = 0;             // to be read
  uint64_t bytes_to_read = 0;     // of them
  uint64_t bundle_bytes = 0;      // of their bundles
  uint64_t generation_bytes = 0;  // rows of its own, and packs of small bundles
  uint64_t files_to_keep = 0;     // to be copied into the index root (keep_pass.h)
  uint64_t bytes_to_keep = 0;     // of them
  uint64_t total() const { return bundle_bytes + generation_bytes + bytes_to_keep; }
};

// Estimates bytes in the index root.
//
// Of an archive that has to be read: its bundle takes about 1.4 KiB, 8 bytes for each 128 KiB of the archive
// (checksums) and 40 bytes a member (measured: 28 to 40). How many members it has is not known before it is
// read: one for as many bytes as on average in the dataset's newest generation; without one, one for 64 KiB.
// An archive that turns out to have its bundle here already, from another dataset, costs nothing; that is not
// known before either.
//
// Of the generation, when there will be one: the length of its path and 100 bytes a file; and, where there
// are so many archives that bundles of small ones are packed, the rows of those again.
SpaceNeed EstimateSpace(const SpaceInput& input);

// Ok when `directory`, on whose file system the index root `shown` lies or is to be made, has room for
// `need`; else kNoSpace.
Status CheckFree(const std::string& shown, const std::string& directory, const SpaceNeed& need);
// Ok when the index root has room for `need` and the dataset's quota allows it; else kNoSpace, with what is
// needed, what is there and what helps. Nothing is refused that needs nothing.
Status CheckSpace(const index::IndexRoot& root, const std::string& dataset, const SpaceNeed& need);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_SPACE_H_

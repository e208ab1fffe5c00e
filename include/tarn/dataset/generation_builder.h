// From the list of what lies in a dataset's directory to the rows of a generation: numbers, shown names,
// tree, digest.
#ifndef TARN_DATASET_GENERATION_BUILDER_H_
#define TARN_DATASET_GENERATION_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/generation_writer.h"
#include "tarn/index/records.h"

namespace tarn::dataset {

// One file of the dataset as the scan found it and the pass identified it.
struct PublishedFile {
  std::string path;  // relative to the dataset's directory
  index::ManifestKind kind = index::ManifestKind::kArchive;
  ArchiveId id;
  io::FileIdentity hint;
  io::FileAccess access;
  index::ArchiveFacts facts;
};

struct GenerationPlan {
  std::string dataset;
  uint32_t dataset_number = 0;
  uint32_t generation = 0;
  std::string root_uuid;
  std::string source_path;
  std::string writer;
  int64_t created = 0;  // seconds since 1970-01-01 UTC
};

struct BuiltGeneration {
  index::GenerationRows rows;
  std::vector<std::string> notes;  // one line each: names that were taken ("a.tar is shown as a.tar.members")
};

// Builds the rows. `previous` (may be null) is the newest generation.
//
// Numbers: a file keeps its archive number when path and ArchiveId are the same, else it takes over the
// number of the same ArchiveId at a path that no longer holds it (moved, renamed, swapped); everything else
// takes the next free number, and numbers are never used twice. A loose file and an archive never pass a
// number on to each other, though their bytes be the same: ordinal 0 means something else in each.
//
// Names: an archive is shown without ".tar"; as "x.tar.members" where that name is taken, with a note; loose
// files and directories as they are. Quarantined archives have a row and a number and are not in the tree.
//
// Directory numbers: those of the tree first, in order of path, then each archive's own, in order of archive
// number.
//
// kUnsupported when something does not fit a node id; kInvalidArgument for paths that cannot be (absolute,
// with "..", listed twice, a file and a directory at once). `files` in any order; the result does not depend
// on it.
Result<BuiltGeneration> BuildGeneration(const GenerationPlan& plan, std::vector<PublishedFile> files,
                                        const index::GenerationReader* previous);

// The same, where the numbers to go on from are not those of one generation: `rows` (rising or not) hold
// them, `next_number` is free. For imports.
struct PreviousNumbers {
  uint32_t next_number = 1;
  std::vector<index::ManifestRow> rows;
};
Result<BuiltGeneration> BuildGeneration(const GenerationPlan& plan, std::vector<PublishedFile> files,
                                        const PreviousNumbers& previous);

// XXH3-128 of the canonical manifest: for each file in order of path bytes: varint length and bytes of the
// path, kind, the 24 bytes of the ArchiveId; then varint length and bytes of the view. No times, no owners,
// no places.
Digest DatasetDigest(const std::vector<index::ManifestRow>& manifest, std::string_view view);

}  // namespace tarn::dataset

#endif  // TARN_DATASET_GENERATION_BUILDER_H_

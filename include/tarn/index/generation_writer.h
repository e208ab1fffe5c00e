// GenerationWriter: builds generation N aside, as a RocksDB directory of hard links to its bundles plus its
// own rows.
//
// Links are ingested with move_files and write_global_seqno=false into an empty store, so that bundles keep
// their bytes (LIMITS: 1,000 bundles in 0.5 s, 100,000 in 31 s). Bundles of small archives are packed: their
// rows are copied into few larger files, which keeps a dataset of 100,000 small archives at a bounded number
// of open files. Where hard links do not work, bundles are copied.
#ifndef TARN_INDEX_GENERATION_WRITER_H_
#define TARN_INDEX_GENERATION_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/index_root.h"
#include "tarn/index/records.h"

namespace tarn::index {

struct GenerationRows {
  GenerationFacts facts;
  std::vector<ManifestRow> manifest;  // rising by number
  struct TreeDentry {
    uint32_t directory;
    std::string name;
    TreeDentryRecord record;
  };
  std::vector<TreeDentry> dentries;              // any order
  std::vector<TreeDirectoryRecord> directories;  // by number, from 0
};

struct GenerationWriteOptions {
  uint64_t pack_below_bytes = uint64_t{256} << 10;  // bundles smaller than this are packed
  uint64_t pack_bytes = uint64_t{32} << 20;         // size of a pack
  // Up to this many bundles all are linked: a link costs nothing and is shared with other generations. Beyond
  // it readers would hold too many files open.
  size_t pack_above_bundles = 1000;
  // Directory of a generation that is whole, whose packs are linked where they hold the same; empty: none.
  std::string previous = {};
};

// Builds the generation in `directory` (which must not exist), syncs it, opens it again and checks that every
// row of `rows` and the facts of every archive are there. The bundles of all rows must be in the root.
Status WriteGeneration(const IndexRoot& root, const GenerationRows& rows, const std::string& directory,
                       const GenerationWriteOptions& options = {});

}  // namespace tarn::index

#endif  // TARN_INDEX_GENERATION_WRITER_H_

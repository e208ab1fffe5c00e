// Packs of the previous generation that hold exactly what one of the next would hold: they are linked and not
// written again, so that a change of a few archives among 100,000 costs a pack and not all of them.
#ifndef TARN_SRC_INDEX_KEPT_PACKS_H_
#define TARN_SRC_INDEX_KEPT_PACKS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tarn/base/archive_id.h"

namespace tarn::index {

// A bundle that goes into a generation.
struct PlacedBundle {
  ArchiveId id;
  std::string path;
  uint64_t bytes = 0;
  int64_t changed_ns = 0;  // its ctime: when it came into its place, or later
};

class KeptPacks {
 public:
  KeptPacks() = default;
  // Those of the generation in `directory`. One that cannot be read has none to give.
  explicit KeptPacks(const std::string& directory);

  // The table with the rows of `bundles`, which are neighbours in key order, and nothing else; empty when
  // there is none. A bundle that came into its place since the table was written may be another than the one
  // in it.
  std::string Find(std::span<const PlacedBundle> bundles) const;

 private:
  struct Table {
    std::string path;
    ArchiveId last;
    int64_t written_ns = 0;
  };

  std::map<ArchiveId, Table> tables_;  // by their first archive
  std::vector<ArchiveId> ids_;         // of the generation, rising, each once
};

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_KEPT_PACKS_H_

// What can still be read of a damaged generation, and whether one is damaged at all.
#ifndef TARN_INDEX_SALVAGE_H_
#define TARN_INDEX_SALVAGE_H_

#include <string>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/index/records.h"

namespace tarn::index {

struct SalvagedRows {
  GenerationFacts facts;
  std::vector<ManifestRow> manifest;  // rising by number
  bool complete = false;              // the manifest has every row that the facts count
};

// Reads a generation's own rows from their table alone, whatever became of its other files. kCorrupt when not
// even the facts can be read.
Result<SalvagedRows> SalvageOwnRows(const std::string& directory);

// Reads every block of every table of a generation. kCorrupt, naming the table, when one is damaged.
Status VerifyTables(const std::string& directory);

}  // namespace tarn::index

#endif  // TARN_INDEX_SALVAGE_H_

// Who takes how much of an index root, and how much a dataset may take.
//
// Bytes are sizes of files, each file counted once whatever names it has. A bundle belongs to every
// generation that links it or, where its rows were packed, names it; a kept file (kept_files.h) to every one
// that names its ArchiveId.
#ifndef TARN_INDEX_USAGE_H_
#define TARN_INDEX_USAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/index/index_root.h"

namespace tarn::index {

struct GenerationUsage {
  uint32_t generation = 0;
  bool retired = false;
  uint64_t bytes = 0;
  uint64_t exclusive_bytes = 0;  // of `bytes`, what no other generation of the root needs: gone with it
};

struct DatasetUsage {
  std::string dataset;
  uint64_t bytes = 0;
  uint64_t exclusive_bytes = 0;  // what no other dataset needs
  std::optional<uint64_t> quota_bytes;
  std::vector<GenerationUsage> generations;  // rising
};

struct RootUsage {
  std::vector<DatasetUsage> datasets;  // by name
  uint64_t bundles = 0;
  uint64_t bundle_bytes = 0;
  uint64_t unreferenced_bundles = 0;  // no generation needs them; gc takes them after its grace
  uint64_t unreferenced_bytes = 0;
  uint64_t kept_files = 0;
  uint64_t kept_bytes = 0;
  uint64_t unreferenced_kept_files = 0;  // as for bundles
  uint64_t unreferenced_kept_bytes = 0;
  uint64_t staging_bytes = 0;  // journals included
  uint64_t total_bytes = 0;    // of the whole root
};

// Reads the manifest of every generation. kCorrupt, naming it, when one cannot be read.
Result<RootUsage> MeasureUsage(const IndexRoot& root);

// ---- Quota: the most bytes that a dataset's generations, bundles and kept files may take, those shared with
// other datasets included. Kept in datasets/<name>/quota, one line: a number of bytes.

// Nothing: no limit.
Result<std::optional<uint64_t>> ReadQuota(const IndexRoot& root, std::string_view dataset);
// Sets or lifts the limit; a dataset that was never published is made, so that its first publish is bounded.
Status SetQuota(IndexRoot* root, std::string_view dataset, std::optional<uint64_t> bytes);

// What the dataset takes, all generations, and the bundles and kept files they name; 0 for one that is not
// there yet.
Result<uint64_t> DatasetBytes(const IndexRoot& root, std::string_view dataset);

// For publishers. Before any work: `more_bytes` is what the publish is expected to add (0 asks only whether
// the limit is reached already). kNoSpace when the limit would be passed, with what is taken, what is asked
// for, and what helps. Ok for a dataset without quota, which costs one look at a file.
Status CheckQuota(const IndexRoot& root, std::string_view dataset, uint64_t more_bytes);
// At commit: `staged` is the finished generation directory, built but not yet renamed into place, and `names`
// the archives of its manifest, whose bundles (and kept files) are in place. Counts exactly what the dataset
// would take with it.
Status CheckQuotaWith(const IndexRoot& root, std::string_view dataset, const std::string& staged,
                      const std::vector<ArchiveId>& names);

}  // namespace tarn::index

#endif  // TARN_INDEX_USAGE_H_

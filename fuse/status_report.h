// The text of MNT/.tarn/status.json: what is mounted and how its archives stand.
//
//     schema_version   raised when a field changes its meaning
//     time             when this text was made
//     tarn             version
//     pid              of the server
//     index            path, uuid and format version of the index root; where its copies on this machine are,
//     how
//                      many bytes and generations (null: there are none)
//     datasets         name, number, generations that are listed, the newest of them, and those that are
//     listed
//                      no more and in use here; what a watch saw of all its archives: when it looked at the
//                      last one, how many are verified, changed, missing, unreadable, and not published
//     archives         how many are in which state, of those that somebody has asked for
//     troubled         archives that are changed, missing or unreadable: since when, and what readers are
//                      told
//     sources          calls, requests set aside and timed out, workers inside and requests waiting now
//     reads            since the start: reads, bytes given to readers, asked for ahead of them, given back,
//                      and read to be checked; files looked at; tries again, of them because of ESTALE;
//                      failed
#ifndef TARN_FUSE_STATUS_REPORT_H_
#define TARN_FUSE_STATUS_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuse/source_gate.h"
#include "tarn/dataset/archive_bytes.h"
#include "tarn/dataset/archive_states.h"
#include "tarn/dataset/catalog.h"
#include "tarn/index/index_root.h"

namespace tarn::fuse {

// Troubled archives that are described one by one; the others are in the counts.
inline constexpr size_t kMostTroubled = 100;

// The copies of the index on this machine.
struct CacheFacts {
  std::string path;
  uint64_t bytes = 0;
  uint64_t generations = 0;
};

struct StatusFacts {
  const index::IndexRoot* root = nullptr;
  std::optional<CacheFacts> cache = std::nullopt;
  std::vector<dataset::CatalogDataset> datasets;
  std::map<std::string, dataset::DatasetStates> watched;  // by dataset
  dataset::ArchiveOverview archives;
  dataset::ReadTotals reads;
  std::vector<SourceTotals> sources;
};

std::string StatusReport(const StatusFacts& facts);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_STATUS_REPORT_H_

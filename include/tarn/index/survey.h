// What lies in an index root, file by file: for those who clean it and those who count it.
#ifndef TARN_INDEX_SURVEY_H_
#define TARN_INDEX_SURVEY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/index_root.h"
#include "tarn/io/file_facts.h"

namespace tarn::index {

struct StoredBundle {
  ArchiveId id;
  std::string path;
  io::FileFacts facts;
};

struct StoredGeneration {
  std::string dataset;
  uint32_t generation = 0;
  bool retired = false;
  std::vector<io::FileFacts> files;  // of its directory
  std::vector<ArchiveId> names;      // archives of its manifest, rising, each once
  Status readable;                   // not ok: `names` is not known
};

// Every bundle; files below bundles/ that are not named like one are given to `foreign` (may be null).
Result<std::vector<StoredBundle>> ListBundles(const IndexRoot& root,
                                              const std::function<void(const std::string& path)>& foreign);

// One generation, retired or not. kNotFound when it is gone.
Result<StoredGeneration> LookAtGeneration(const IndexRoot& root, const std::string& dataset,
                                          uint32_t generation);

// All of them, dataset by dataset, rising; those that vanish meanwhile are left out.
Status ForEachGeneration(const IndexRoot& root,
                         const std::function<Status(const StoredGeneration& generation)>& visit);

}  // namespace tarn::index

#endif  // TARN_INDEX_SURVEY_H_

// RocksDB's errors in our words: the one place where they are translated.
#ifndef TARN_SRC_INDEX_ROCKSDB_STATUS_H_
#define TARN_SRC_INDEX_ROCKSDB_STATUS_H_

#include <rocksdb/status.h>

#include <string_view>

#include "tarn/base/status.h"

namespace tarn::index {

// Ok for ok. `what` says what was tried and on which file: "cannot read '/index/datasets/a/3'". A file that a
// generation lists and that is not there is kCorrupt, not kNotFound: whoever asked for the generation got it.
Status FromRocksDb(const rocksdb::Status& status, std::string_view what);

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_ROCKSDB_STATUS_H_

// RocksDB's own log, sent to ours: without it RocksDB writes LOG files into the directories it opens, also
// those it only reads.
#ifndef TARN_SRC_INDEX_ROCKSDB_LOG_H_
#define TARN_SRC_INDEX_ROCKSDB_LOG_H_

#include <rocksdb/env.h>

#include <memory>

namespace tarn::index {

// The log of the process; thread-safe, never null.
std::shared_ptr<rocksdb::Logger> RocksDbLog();

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_ROCKSDB_LOG_H_

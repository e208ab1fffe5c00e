// How Tarn sets RocksDB up: the tables it writes and the stores it opens.
#ifndef TARN_SRC_INDEX_ROCKSDB_OPTIONS_H_
#define TARN_SRC_INDEX_ROCKSDB_OPTIONS_H_

#include <rocksdb/cache.h>
#include <rocksdb/options.h>

#include <cstddef>
#include <memory>

namespace tarn::index {

// For files that are written: bundles, packs, a generation's own rows. RocksDB does not sync them.
rocksdb::Options WriterOptions();

// For a bundle that is read once, front to back: nothing is cached.
rocksdb::Options ScanOptions();

// For the store into which a generation's files are ingested.
rocksdb::Options NewStoreOptions();

// For a generation that is opened read-only.
rocksdb::Options StoreOptions(std::shared_ptr<rocksdb::Cache> block_cache, int max_open_files);
std::shared_ptr<rocksdb::Cache> NewBlockCache(size_t bytes);

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_ROCKSDB_OPTIONS_H_

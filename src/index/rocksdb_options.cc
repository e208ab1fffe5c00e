#include "index/rocksdb_options.h"

#include <rocksdb/table.h>

#include <utility>

#include "index/rocksdb_log.h"
#include "index/unsynced_env.h"

namespace tarn::index {
namespace {

constexpr int kCacheShardBits = 4;  // 16 locks; more of them would each hold too little

// Measured with bench/index_bench.cc, a million members, a block cache of 64 MiB: a row that is not cached
// costs 10 us with LZ4 and over 100 us with zstd, which makes a context for each block; LZ4 takes 28 bytes a
// member, zstd 21. The index is cut into partitions: a whole one of a large bundle is larger than what one
// shard of the cache holds, would never be kept, and made every lookup read it again.
//
// No filter: it would make only a name that is not there cheaper to find out (0.9 us for 1.4), which
// the kernel asks once, and every lookup that succeeds dearer, every publish longer, every index larger.
rocksdb::BlockBasedTableOptions TableOptions() {
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 5;
  table.block_size = size_t{8} << 10;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.metadata_block_size = 4096;
  table.pin_top_level_index_and_filter = true;
  table.no_block_cache = true;
  return table;
}

rocksdb::Options BaseOptions() {
  rocksdb::Options options;
  options.info_log = RocksDbLog();
  options.compression = rocksdb::kLZ4Compression;
  return options;
}

}  // namespace

rocksdb::Options WriterOptions() {
  rocksdb::Options options = ScanOptions();
  options.env = UnsyncedEnv();
  return options;
}

rocksdb::Options ScanOptions() {
  rocksdb::Options options = BaseOptions();
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions()));
  return options;
}

rocksdb::Options NewStoreOptions() {
  rocksdb::Options options = ScanOptions();
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.disable_auto_compactions = true;
  options.max_open_files = 4096;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

std::shared_ptr<rocksdb::Cache> NewBlockCache(size_t bytes) {
  return rocksdb::NewLRUCache(bytes, kCacheShardBits);
}

rocksdb::Options StoreOptions(std::shared_ptr<rocksdb::Cache> block_cache, int max_open_files) {
  rocksdb::Options options = BaseOptions();
  options.max_open_files = max_open_files;
  // A directory that may lie on a file server: nothing is looked at twice, nothing runs behind.
  options.skip_stats_update_on_db_open = true;
  options.skip_checking_sst_file_sizes_on_db_open = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  rocksdb::BlockBasedTableOptions table = TableOptions();
  table.no_block_cache = false;
  table.block_cache = std::move(block_cache);
  // Indexes and filters count against the cache: memory does not grow with the number of members.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace tarn::index

// An environment for RocksDB in which syncing a file does nothing.
//
// RocksDB syncs every table that it finishes. Where many small ones are written, that alone takes ten
// milliseconds each; who writes them in a batch syncs the whole batch once, before anything is renamed.
#ifndef TARN_SRC_INDEX_UNSYNCED_ENV_H_
#define TARN_SRC_INDEX_UNSYNCED_ENV_H_

#include <rocksdb/env.h>

namespace tarn::index {

// Lives as long as the process.
rocksdb::Env* UnsyncedEnv();

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_UNSYNCED_ENV_H_

// VerdictStore: which chunks of which files were found good, kept where a successor finds it.
//
// A file that was touched has every chunk checked once before it is served. What was found out is worth
// keeping across the death of the process that did it, and for other mounts of the same machine: the ledgers
// lie in a file that all of them map. Without a file, and when it is full, ledgers are in memory.
//
//     header            of io::SharedFile
//     record            16 bytes key, 8 bytes words, words * 8 bytes ledger (ChunkLedger), in this order//
// What others found out, a watch for the whole cluster, is known here, too.
#ifndef TARN_DATASET_VERDICT_STORE_H_
#define TARN_DATASET_VERDICT_STORE_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataset/chunk_check.h"
#include "tarn/base/archive_id.h"
#include "tarn/dataset/archive_states.h"
#include "tarn/io/random_access_file.h"
#include "tarn/io/shared_file.h"

namespace tarn::dataset {

class VerdictStore {
 public:
  // `file` may be empty: in memory. One that cannot be used is said in the log, and nothing else is lost.
  explicit VerdictStore(const std::string& file);

  // The ledger of a file, called `name`, that looks like `identity` and may hold archive `id`. From any
  // thread.
  std::shared_ptr<ChunkLedger> Ledger(const ArchiveId& id, const std::string& name,
                                      const io::FileIdentity& identity);

  // What others found out (ArchiveBytes::Learn): in the place of what they told of the dataset before. Gives
  // those that were changed and were not told before.
  std::vector<ArchiveVerdict> Learn(const std::string& dataset, const std::vector<ArchiveVerdict>& verdicts);
  // What was told of a file that looks like `identity` and should be `id`; nothing: nobody knows.
  std::optional<ArchiveVerdict> Told(const ArchiveId& id, const io::FileIdentity& identity);

 private:
  // Finds what was appended since the last time, by us or by others.
  void ReadOn();

  std::shared_ptr<io::SharedFile> file_;  // null: in memory
  std::mutex mutex_;
  std::map<Digest, std::span<uint64_t>> known_;  // key -> ledger words; guarded by mutex_
  size_t read_ = 0;                              // bytes of the file; guarded by mutex_
  // By dataset; guarded by mutex_.
  std::map<std::string, std::map<ArchiveId, std::vector<ArchiveVerdict>>> told_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_VERDICT_STORE_H_

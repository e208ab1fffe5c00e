// The keep pass: copies the bytes of chosen files into the index root, as one more place where they are.
//
// It comes when every file is read and judged, and before the generation is committed: whoever sees the
// generation finds what is kept of it. Bytes are copied from the source once more and compared with what was
// read: what was changed in between is not kept. A file that cannot be kept is said by name and costs the
// generation nothing.
#ifndef TARN_INDEXER_KEEP_PASS_H_
#define TARN_INDEXER_KEEP_PASS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "indexer/keep_choice.h"
#include "indexer/progress.h"
#include "indexer/publish.h"
#include "indexer/scanner.h"
#include "tarn/base/status.h"
#include "tarn/dataset/generation_builder.h"
#include "tarn/index/index_root.h"
#include "tarn/io/random_access_file.h"

namespace tarn::indexer {

// What a publish will keep, as far as that is known before it reads.
struct KeepForecast {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t files_to_copy = 0;  // of these
  uint64_t bytes_to_copy = 0;
  std::vector<std::string> notes;
};

// `unread` and `known` are the dataset's files. A file that is not read yet counts as one to be copied,
// though its bytes may turn out to be kept already; and as an archive when its name says so. `root` may be
// null: there is none.
Result<KeepForecast> ForecastKept(const PublishOptions& options, const index::IndexRoot* root,
                                  const std::vector<ScannedFile>& unread,
                                  const std::vector<dataset::PublishedFile>& known);

// All must outlive the pass.
struct KeepContext {
  index::IndexRoot* root = nullptr;
  const io::Source* source = nullptr;
  std::string source_path;  // of the dataset's directory below it
  std::string staging;      // a directory of the caller's own in staging
  Progress* progress = nullptr;
};

// Keeps what the options choose of `files`, as they are judged, and fills `kept` and notes of the report.
// Fails when the index root does (kNoSpace among them), or when a signal asked to stop; what was copied whole
// by then is kept.
Status KeepFiles(const KeepContext& context, const PublishOptions& options,
                 const std::vector<dataset::PublishedFile>& files, PublishReport* report);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_KEEP_PASS_H_

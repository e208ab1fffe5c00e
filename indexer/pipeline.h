// The pipeline: reads many files, the largest first, several at a time; waits for those that are being
// written.
#ifndef TARN_INDEXER_PIPELINE_H_
#define TARN_INDEXER_PIPELINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "indexer/file_pass.h"
#include "indexer/left_out.h"

namespace tarn::indexer {

struct PipelineOptions {
  unsigned jobs = 1;              // files read at the same time
  std::string scratch;            // a directory in staging; each job makes one of its own in it
  int64_t settle_ns = 0;          // a file whose last change is younger is waited for
  int64_t settle_timeout_ns = 0;  // from the start of the pipeline; then it is left out
};

struct PipelineResult {
  std::vector<FilePassResult> read;  // in order of path; outcome kRead, all of them
  std::vector<LeftOut> left_out;     // in order of path
};

// Reads `files`; afterwards all bundles are in place. `context.batch` is filled in here. Fails when the index
// root does, or when a signal asked to stop; what is in the journal then stays of use.
Result<PipelineResult> ReadFiles(FilePassContext context, const PipelineOptions& options,
                                 std::vector<ScannedFile> files);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_PIPELINE_H_

// The passes over a dataset's files that a publish on one machine and the plan and workers of many share.
#ifndef TARN_INDEXER_DATASET_PASSES_H_
#define TARN_INDEXER_DATASET_PASSES_H_

#include <string>
#include <vector>

#include "indexer/file_pass.h"
#include "indexer/pipeline.h"
#include "indexer/places.h"
#include "indexer/publish.h"
#include "indexer/scanner.h"

namespace tarn::indexer {

// kInvalidArgument, with what is allowed, when `name` cannot name a dataset.
Status CheckDatasetName(const std::string& name);

// Scans the dataset's directory, and says at once what it leaves out. kNotFound when there is nothing.
Result<Scan> ScanPlaces(const io::Source& source, const Places& places, const Selection& selection,
                        Progress* progress);

// Reads `files` as the options say; `context.options` is filled in here. `scratch` is a directory of the
// caller's own in staging.
Result<PipelineResult> ReadUnknownFiles(const PublishOptions& options, FilePassContext context,
                                        const std::string& scratch, std::vector<ScannedFile> files);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_DATASET_PASSES_H_

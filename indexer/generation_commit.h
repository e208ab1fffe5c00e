// From identified files to a generation in place: what a local publish and the commit of many workers do in
// the same way, so that both leave the same generation behind.
#ifndef TARN_INDEXER_GENERATION_COMMIT_H_
#define TARN_INDEXER_GENERATION_COMMIT_H_

#include <memory>
#include <string>
#include <vector>

#include "indexer/journal.h"
#include "indexer/progress.h"
#include "indexer/publish.h"
#include "indexer/server_clock.h"
#include "tarn/dataset/generation_builder.h"
#include "tarn/dataset/predecessor.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"

namespace tarn::indexer {

using GenerationReaderPtr = std::shared_ptr<const index::GenerationReader>;

// Decides what becomes of damaged archives, and whether anything is left to publish. `errors_seen` explain a
// refusal, which is put into the report; `directory` is the dataset's.
void JudgeFiles(OnDamage on_damage, const std::string& directory, const std::vector<FoundIn>& errors_seen,
                std::vector<dataset::PublishedFile>* files, PublishReport* report);

// What is published into, and as what. All must outlive the commit.
struct CommitContext {
  index::IndexRoot* root = nullptr;
  std::string dataset;      // its name
  std::string source_path;  // of its directory below a source root
  std::string staging;      // a directory of the caller's own in staging
  const ServerClock* clock = nullptr;
  Journal* journal = nullptr;  // compacted to what no generation tells
  Progress* progress = nullptr;
  dataset::Look look = dataset::Look::kRows;          // at the newest generation
  const dataset::Predecessor* predecessor = nullptr;  // what was found of it with that look; may be null
};

// Publishes `files` as the next generation, unless the newest says the same, and fills into the report what
// the generation holds. Whoever loses a race against another publisher looks again at what that one
// published.
Status CommitGeneration(const CommitContext& context, const std::vector<dataset::PublishedFile>& files,
                        PublishReport* report);

// Fills into the report what `generation` holds.
Status ReportGeneration(const index::GenerationReader& generation, PublishReport* report);

// Says of a failed write to the index root what helps, when there was no space for it. What says so itself (a
// quota of the dataset, an estimate) stays as it is.
Status ExplainNoSpace(const std::string& index, Status status);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_GENERATION_COMMIT_H_

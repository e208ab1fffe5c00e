// Worker: reads one share of a plan as a local publish would, and writes down what it found.
//
// One that dies is run again: what it completed is in the journal, like that of a publish, and is not read
// again. Two that read the same share do each other no harm: bundles are named by their contents, and either
// result is as good.
#ifndef TARN_INDEXER_WORKER_H_
#define TARN_INDEXER_WORKER_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "indexer/plan.h"
#include "indexer/progress.h"
#include "indexer/publish.h"
#include "indexer/share_choice.h"
#include "tarn/base/result.h"

namespace tarn::indexer {

struct WorkerOptions {
  PublishOptions publish;            // name, index, relative_to and how to read
  std::optional<std::string> plan;   // nothing: the current one
  std::optional<std::string> share;  // "I/N"; nothing: the environment says
  EnvironmentLookup environment;
};

struct WorkerReport {
  std::string dataset;
  std::string index;
  uint32_t shares = 0;  // of the plan
  std::string origin;   // what said which share
  ShareResult result;
  // The plan was committed as this generation, by who read the share before: nothing was left to do.
  std::optional<uint32_t> committed = std::nullopt;
};

// Reads the share, or what is left of it. Errors as of Publish(), and kNotFound when there is no plan.
Result<WorkerReport> RunShare(const WorkerOptions& options, Progress* progress);

void PrintWorker(const WorkerReport& report, std::ostream& out);
void PrintWorkerJson(const WorkerReport& report, std::ostream& out);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_WORKER_H_

// Planner: looks at a dataset as a publish does, by stats alone, and leaves a plan for many machines.
#ifndef TARN_INDEXER_PLANNER_H_
#define TARN_INDEXER_PLANNER_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "indexer/left_out.h"
#include "indexer/progress.h"
#include "indexer/publish.h"
#include "tarn/base/result.h"

namespace tarn::indexer {

struct PlanOptions {
  PublishOptions publish;  // directory, name, index, relative_to, selection, identity
  std::optional<uint32_t> shares;
  // Without `shares`: of one share, about. A smaller value makes more of them, each with a start of its own.
  uint64_t share_bytes = uint64_t{64} << 30;
};

struct PlanReport {
  struct Share {
    uint64_t files = 0;
    uint64_t bytes = 0;
    bool done = false;
  };
  std::string dataset;
  std::string index;
  std::string source_path;
  std::string id;
  std::vector<Share> shares;  // share i stands at i - 1
  uint64_t files = 0;         // to be read
  uint64_t bytes = 0;
  uint64_t files_unchanged = 0;
  uint64_t space_bytes = 0;       // that the index root will need, about
  std::vector<LeftOut> left_out;  // could not be listed or looked at
  std::vector<std::string> notes;
  double seconds = 0;
};

// Plans. Errors as of Publish().
Result<PlanReport> MakePlan(const PlanOptions& options, Progress* progress);

void PrintPlan(const PlanReport& report, std::ostream& out);
void PrintPlanJson(const PlanReport& report, std::ostream& out);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_PLANNER_H_

// Commit of a plan: from what the workers of all shares found to the generation that a local publish of the
// same files would have made.
//
// Nothing is read but stats: every file has to look as it did when its worker read it, and its bundle has to
// be there. Run again, it finds what it published and says so.
#ifndef TARN_INDEXER_PLAN_COMMIT_H_
#define TARN_INDEXER_PLAN_COMMIT_H_

#include <optional>
#include <string>

#include "indexer/progress.h"
#include "indexer/publish.h"
#include "tarn/base/result.h"

namespace tarn::indexer {

struct CommitOptions {
  PublishOptions publish;           // name, index, relative_to, on_damage
  std::optional<std::string> plan;  // nothing: the current one
};

// Commits. The report's refusal says which shares are missing, or have to be run again because files changed
// since; nothing was published then. Errors as of Publish(), and kNotFound when there is no plan.
Result<PublishReport> CommitPlan(const CommitOptions& options, Progress* progress);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_PLAN_COMMIT_H_

// PlanStore: where the plan of a dataset is, from `tarn-index plan` to `tarn-index commit`.
//
//     ROOT/staging/plans/<dataset>/
//       current              id of the plan that worker and commit take
//       lock                 held by who puts a plan there, commits it or takes it away; workers never wait
//       <id>/plan            the plan
//       <id>/journals/       what its workers know, when everything has to be read (--identity=full)
//       <id>/share-0         what was known when it was made
//       <id>/share-<i>       what the worker of share i found: there or not, whole in any case
//       <id>.committed       what commit published; `<id>/` is gone then
//
// It lies below staging because it is unfinished work; CleanStaging leaves it, and gc takes it when nobody
// has touched it for its grace. A new plan takes the place of the one before.
#ifndef TARN_INDEXER_PLAN_STORE_H_
#define TARN_INDEXER_PLAN_STORE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "indexer/plan.h"
#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/index_root.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {

// What a commit published, and all that it would say again.
struct CommittedPlan {
  uint32_t generation = 0;
  ShareResult totals;  // of all shares; `files` are those with findings
};

class PlanStore {
 public:
  // `root` outlives it.
  PlanStore(const index::IndexRoot* root, std::string dataset);

  // Held while a plan is put in place, committed or taken away. Waits for whoever has it; kCancelled when a
  // signal asks to stop.
  Result<io::FileLock> Lock() const;

  // Puts the plan and what is known into place and makes it the current one; others of the dataset are taken
  // away. The same plan that is there already stays, with the shares that are done. `staging` is a directory
  // of the caller's own. Gives the id. The caller holds the lock.
  Result<std::string> Install(const Plan& plan, const ShareResult& known, const std::string& staging) const;

  // The id that is meant: `wanted`, or the current one. kNotFound, with what helps, when there is none.
  Result<std::string> Resolve(const std::optional<std::string>& wanted) const;
  // Nothing: the plan is not committed.
  Result<std::optional<CommittedPlan>> FindCommitted(const std::string& id) const;
  // kNotFound, saying what became of it, when it is gone.
  Result<Plan> Read(const std::string& id) const;
  // Nothing: the share is not done.
  Result<std::optional<ShareResult>> ReadShare(const std::string& id, uint32_t share) const;
  // Replaces what is there. kNotFound when the plan was taken away meanwhile.
  Status WriteShare(const ShareResult& result) const;
  std::string JournalPath(const std::string& id) const;

  // Writes down what was published and takes the plan away. The caller holds the lock.
  Status Commit(const std::string& id, const CommittedPlan& committed) const;

 private:
  std::string PathOf(const std::string& id) const;
  std::string SharePath(const std::string& id, uint32_t share) const;
  Status Gone(const std::string& id) const;

  const index::IndexRoot* const root_;
  const std::string dataset_;
  const std::string directory_;
};

// ---- For gc

// Archives whose bundles the plans of all datasets need.
Result<std::set<ArchiveId>> NamedByPlans(const index::IndexRoot& root);

struct StalePlans {
  uint64_t plans = 0;
  uint64_t bytes = 0;
};
// Takes away plans that nobody touched for `grace_seconds`, and what commits wrote down; with `dry_run` only
// says so. None while anybody works in the root.
Result<StalePlans> RemoveStalePlans(const index::IndexRoot& root, int64_t now_seconds, int64_t grace_seconds,
                                    bool dry_run);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_PLAN_STORE_H_

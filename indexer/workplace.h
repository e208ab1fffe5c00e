// Workplace: what plan, worker and commit have open while they work in an index root.
#ifndef TARN_INDEXER_WORKPLACE_H_
#define TARN_INDEXER_WORKPLACE_H_

#include <memory>
#include <string>

#include "indexer/journal.h"
#include "indexer/own_staging.h"
#include "indexer/places.h"
#include "indexer/plan.h"
#include "indexer/server_clock.h"
#include "tarn/base/result.h"
#include "tarn/index/index_root.h"
#include "tarn/io/random_access_file.h"

namespace tarn::indexer {

class Workplace {
 public:
  // Cleans what the dead left in staging and makes a directory of this process's own there: from then on gc
  // takes no bundle, so bundles may be counted on. `purpose` is part of its name.
  static Result<Workplace> Open(std::unique_ptr<index::IndexRoot> root, const Places& places,
                                const std::string& purpose);

  // Reads the journals in `directory` and starts one. Once.
  Status OpenJournal(const std::string& directory);

  index::IndexRoot* root() const { return root_.get(); }
  const io::Source& source() const { return *source_; }
  const std::string& staging() const { return staging_->path(); }
  const ServerClock& clock() const { return *clock_; }
  Journal* journal() const { return journal_.get(); }

 private:
  Workplace() = default;

  std::unique_ptr<index::IndexRoot> root_;
  std::shared_ptr<io::Source> source_;
  std::unique_ptr<OwnStaging> staging_;  // gone before root_, which holds its lock
  std::unique_ptr<ServerClock> clock_;
  std::unique_ptr<Journal> journal_;
};

// Where the dataset of a plan is on this machine: below `relative_to`, or where it was for the planner.
Result<Places> PlacesOfPlan(const Plan& plan, const std::optional<std::string>& relative_to,
                            const std::string& index);

// "tarn-index worker --name img --index /index --plan 0123456789abcdef --share 3/8": for messages.
std::string WorkerCommand(const std::string& dataset, const std::string& index, const std::string& plan,
                          const std::string& share, uint32_t shares);
std::string CommitCommand(const std::string& dataset, const std::string& index, const std::string& plan);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_WORKPLACE_H_

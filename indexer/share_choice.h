// Which share of a plan a worker takes: said on its command line, or by the engine that started it.
//
// The first of these that says anything decides:
//
//     1. --share I/N                 I from 1 to N; N has to be the plan's
//     2. JOB_COMPLETION_INDEX        an Indexed Job of Kubernetes: share JOB_COMPLETION_INDEX + 1
//     3. SLURM_ARRAY_TASK_ID         an array of Slurm with as many tasks as the plan has shares: its first
//     task
//                                    takes share 1, and so on, wherever the array begins and whatever its
//                                    step; with fewer tasks the task's number is the share's, so that
//                                    --array=3,7 runs the shares 3 and 7 again
//     4. SLURM_PROCID, SLURM_NTASKS  a step of srun with as many tasks as the plan has shares
//
// Two engines that say different things, and numbers that do not fit the plan, are errors that name both.
#ifndef TARN_INDEXER_SHARE_CHOICE_H_
#define TARN_INDEXER_SHARE_CHOICE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tarn/base/result.h"

namespace tarn::indexer {

struct ShareChoice {
  uint32_t share = 0;  // from 1
  std::string origin;  // "--share 3/8" or "SLURM_ARRAY_TASK_ID=3": for messages

  bool operator==(const ShareChoice&) const = default;
};

// The value of an environment variable; nothing when unset or empty.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;

// kInvalidArgument, saying what contradicts what, or that nobody says.
Result<ShareChoice> ChooseShare(const std::optional<std::string>& option,
                                const EnvironmentLookup& environment, uint32_t plan_shares);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_SHARE_CHOICE_H_

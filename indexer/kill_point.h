// Named places at which the crash tests end the process as a power cut would.
//
// TARN_KILL_POINT=NAME[:COUNT] in the environment makes the COUNT-th arrival (default: the first) at NAME
// raise SIGKILL. Without the variable an arrival costs one load.
#ifndef TARN_INDEXER_KILL_POINT_H_
#define TARN_INDEXER_KILL_POINT_H_

#include <array>
#include <string_view>

namespace tarn::indexer {

// All names: in the order of a publish, then those that plan, worker and commit have beside.
inline constexpr std::array<std::string_view, 13> kKillPoints = {
    "root-opened",           // the root is there, nothing has been read
    "archive-read",          // every byte of an archive was seen, its bundle is not written
    "bundle-written",        // in staging, not in place
    "journal-written",       // the journal has the file, its bundle is not in place
    "bundle-in-place",       // and the file is done
    "kept-copied",           // the bytes of a file that is kept are in staging, not in place
    "kept-in-place",         // and the file is kept
    "rows-built",            // all archives are done, the generation is not written
    "generation-written",    // in staging
    "generation-published",  // renamed into place and LATEST moved; staging and journal not cleaned
    "plan-in-place",         // the plan is there, it is not the current one
    "share-recorded",        // a worker is done, its staging not cleaned
    "commit-recorded",       // what was published is written down, the plan is still there
};

void KillPoint(std::string_view name);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_KILL_POINT_H_

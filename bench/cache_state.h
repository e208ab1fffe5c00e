// What is in memory when a run starts, and how it was brought there.
//
//     cold     neither the storage's pages nor those of the mount: every byte comes from the source
//     first    the archives are in the page cache, the mount's own pages are not: the cost of a first read
//              without the storage's; index blocks are in the server's cache
//     warm     everything was read once by the contestant itself
#ifndef TARN_BENCH_CACHE_STATE_H_
#define TARN_BENCH_CACHE_STATE_H_

#include <string>
#include <string_view>

#include "bench/access_plan.h"
#include "bench/contestant.h"
#include "bench/measure.h"
#include "bench/member_list.h"
#include "tarn/base/result.h"

namespace tarn::bench {

enum class CacheState : uint8_t { kCold, kFirst, kWarm };

Result<CacheState> ParseCacheState(std::string_view text);
std::string_view CacheStateName(CacheState state);

// Drops page cache, dentries and inodes of the whole machine (vm.drop_caches = 3). Needs root.
Status DropAllCaches();

// Drops clean pages of one file (posix_fadvise(2)): what anybody may do. Names and inodes stay cached.
Status DropPagesOf(const std::string& path);

// Brings caches into `state` for what `contestant` is about to read. `may_drop_all`: use DropAllCaches where
// the system lets us. Gives what was done, for the report: "drop_caches", "fadvise", "read once", ...
Result<std::string> PrepareCaches(CacheState state, const Contestant& contestant, const MemberList& list,
                                  const AccessPlan& plan, const Load& load, bool may_drop_all);

}  // namespace tarn::bench

#endif  // TARN_BENCH_CACHE_STATE_H_

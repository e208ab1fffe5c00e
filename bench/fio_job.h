// fio job files with the sizes that members really have: for those who trust their own tool more, and for
// comparing a file server's random-read limit with what a dataset asks of it.
#ifndef TARN_BENCH_FIO_JOB_H_
#define TARN_BENCH_FIO_JOB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/member_list.h"
#include "tarn/base/result.h"

namespace tarn::bench {

struct FioOptions {
  std::vector<unsigned> jobs = {1, 4, 16, 64};  // one section each, one after the other
  uint64_t runtime_seconds = 60;
  uint64_t ramp_seconds = 10;
  bool direct = true;  // O_DIRECT: the storage alone; false: through the page cache, invalidated first
  std::string engine = "psync";
  unsigned max_files = 256;  // archives named; a larger dataset gives an even sample
  uint64_t seed = 1;
};

// Sizes and how often each is read, as fio's bssplit has them: multiples of 4 KiB, shares in percent that add
// up to 100. At most ten: each stands for a tenth of the members, with their mean size.
struct SizeShare {
  uint64_t bytes = 0;
  unsigned percent = 0;
};
std::vector<SizeShare> SizeShares(const MemberList& list);

// The text of the job file. kUnsupported for an archive name that fio's `filename` cannot hold.
Result<std::string> MakeFioJob(const MemberList& list, const FioOptions& options);

}  // namespace tarn::bench

#endif  // TARN_BENCH_FIO_JOB_H_

// How large members are: one size, a range, or a histogram of both, written as fio's bssplit is.
//
//     110KiB                              every member
//     90KiB-130KiB                        uniform between the two, both included
//     32k/10:96k/40:100KiB-200KiB/50      10, 40 and 50 of 100; weights are relative, a missing one is 1
#ifndef TARN_BENCH_SIZE_DISTRIBUTION_H_
#define TARN_BENCH_SIZE_DISTRIBUTION_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/random.h"
#include "tarn/base/result.h"

namespace tarn::bench {

class SizeDistribution {
 public:
  static Result<SizeDistribution> Parse(std::string_view text);

  uint64_t Next(Random* random) const;
  uint64_t largest() const;

 private:
  struct Part {
    uint64_t least = 0;  // bytes
    uint64_t most = 0;
    uint64_t weight_end = 0;  // weights of this part and of all before it
  };
  std::vector<Part> parts_;
};

}  // namespace tarn::bench

#endif  // TARN_BENCH_SIZE_DISTRIBUTION_H_

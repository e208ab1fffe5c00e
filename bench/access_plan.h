// AccessPlan: which bytes are read, and in which order: one list that every contestant of a run gets.
//
//     member   a whole file: open, fstat, read to its size, close
//     block    one block of a file, at a multiple of its size: open, fstat, pread, close
//     stream   a whole file, front to back, in requests of --read-size; the system may read ahead
//
// uniform takes members (or blocks of all members) with equal chance; whole members do not repeat before all
// were read, as in an epoch. zipf has a hot set: which members are hot is drawn from the seed.
#ifndef TARN_BENCH_ACCESS_PLAN_H_
#define TARN_BENCH_ACCESS_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/member_list.h"
#include "tarn/base/result.h"

namespace tarn::bench {

enum class ReadUnit : uint8_t { kMember, kBlock, kStream };
enum class DistributionKind : uint8_t { kUniform, kZipf };

struct Distribution {
  DistributionKind kind = DistributionKind::kUniform;
  double theta = 0;  // of zipf

  std::string ToString() const;  // "uniform", "zipf:1.1"
};

Result<ReadUnit> ParseReadUnit(std::string_view text);
std::string_view ReadUnitName(ReadUnit unit);
// "uniform", "zipf" (theta 1.1, as fio's examples have it) or "zipf:THETA".
Result<Distribution> ParseDistribution(std::string_view text);

struct PlanOptions {
  ReadUnit unit = ReadUnit::kMember;
  uint64_t block_bytes = 4096;  // of unit block
  Distribution distribution{};
  uint64_t reads = 20'000;
  uint64_t seed = 1;
};

struct AccessPlan {
  struct Step {
    uint32_t target = 0;  // index into the list's targets
    uint64_t offset = 0;  // in the file
    uint64_t bytes = 0;
  };
  ReadUnit unit = ReadUnit::kMember;
  std::vector<Step> steps;
  uint64_t bytes = 0;         // of all steps
  uint64_t unique_bytes = 0;  // without those of repeated steps: what a cold source has to deliver
  uint64_t largest = 0;       // bytes of the largest step
};

// `list` is not empty. The same list and options give the same plan.
AccessPlan MakePlan(const MemberList& list, const PlanOptions& options);

}  // namespace tarn::bench

#endif  // TARN_BENCH_ACCESS_PLAN_H_

// How a mount of `tarn-bench slow-source` is recognised, and what it says about itself.
#ifndef TARN_BENCH_SLOW_SOURCE_NAMES_H_
#define TARN_BENCH_SLOW_SOURCE_NAMES_H_

namespace tarn::bench {

inline constexpr char kSlowSourceType[] = "fuse.tarn-slow-source";  // in mountinfo
// Extended attributes of the root: decimal numbers since the mount was made.
inline constexpr char kSlowSourceBytes[] = "user.tarn_bench.read_bytes";
inline constexpr char kSlowSourceRequests[] = "user.tarn_bench.read_requests";

}  // namespace tarn::bench

#endif  // TARN_BENCH_SLOW_SOURCE_NAMES_H_

// SourceCounter: what the storage below a source has delivered, by its own count: the proof that a cold run
// was cold, and the measure of bytes read in vain.
//
//     NFS                            READ operations of /proc/self/mountstats: bytes received
//     a block device below it        /sys/dev/block/MAJ:MIN/stat: sectors read, by anybody
//     tarn-bench slow-source         its own counters, as extended attributes of its root
//     anything else                  cannot be counted: nothing is proven
#ifndef TARN_BENCH_SOURCE_COUNTER_H_
#define TARN_BENCH_SOURCE_COUNTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/mount_info.h"
#include "tarn/base/result.h"

namespace tarn::bench {

enum class CounterKind : uint8_t { kNone, kBlockDevice, kNfs, kSlowSource };
std::string_view CounterKindName(CounterKind kind);

struct SourceCount {
  uint64_t bytes = 0;
  uint64_t requests = 0;
};

class SourceCounter {
 public:
  // For the file system that holds `path`.
  static Result<SourceCounter> For(const std::string& path);

  CounterKind kind() const { return kind_; }
  // "block device 254:0 (/dev/vda)": for reports.
  const std::string& description() const { return description_; }
  // Since boot or mount; nothing for kNone. Counters that vanish are an error.
  Result<std::optional<SourceCount>> Read() const;

 private:
  CounterKind kind_ = CounterKind::kNone;
  std::string place_;  // the stat file, or the mount point
  std::string description_;
};

// The parsers, from the text of the files.
Result<SourceCount> ParseBlockStat(std::string_view text);
Result<SourceCount> ParseMountStats(std::string_view text, std::string_view mount_point);

}  // namespace tarn::bench

#endif  // TARN_BENCH_SOURCE_COUNTER_H_

// The processes behind a FUSE mount, and what they used: half of the CPU time of a read is theirs.
#ifndef TARN_BENCH_SERVER_PROCESSES_H_
#define TARN_BENCH_SERVER_PROCESSES_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"

namespace tarn::bench {

// The processes that hold the /dev/fuse connection of the mount that `path` lies in (server and keeper);
// empty for a mount without any. Needs the right to look at them: a connection that nobody of ours holds is
// kPermissionDenied.
Result<std::vector<pid_t>> FindServers(const std::string& path);

struct ProcessUse {
  uint64_t cpu_ns = 0;  // user and system, of all threads that ever were
  std::optional<uint64_t>
      storage_bytes;  // read from storage (/proc/PID/io); nothing without the right to look
};
// Sums up. A process that is gone is kNotFound: figures of a run in which a server was replaced are not
// whole.
Result<ProcessUse> UseOf(const std::vector<pid_t>& processes);

// Bytes this process and its finished children read from storage.
std::optional<uint64_t> OwnStorageBytes();

// The parsers, from the text of the files: clock ticks of /proc/PID/stat, read_bytes of /proc/PID/io.
Result<uint64_t> ParseStatTicks(std::string_view text);
Result<uint64_t> ParseIoReadBytes(std::string_view text);

}  // namespace tarn::bench

#endif  // TARN_BENCH_SERVER_PROCESSES_H_

#include "bench/source_counter.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cerrno>
#include <charconv>
#include <sstream>

#include "bench/slow_source_names.h"
#include "bench/units.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

constexpr uint64_t kSectorBytes = 512;

Result<uint64_t> ReadCounterAttribute(const std::string& path, const char* name) {
  char text[32] = {};
  const ssize_t size = ::getxattr(path.c_str(), name, text, sizeof text);
  if (size < 0) return Status::FromErrno(errno, "cannot read " + std::string(name) + " of '" + path + "'");
  uint64_t value = 0;
  std::from_chars(text, text + size, value);
  return value;
}

// The stat file of the block device below a mount: by the file system's device number, or by that of the
// device it was mounted from (file systems that make up their device numbers).
std::string BlockStatFile(const MountInfo& mount) {
  const std::string by_number = "/sys/dev/block/" + mount.device + "/stat";
  if (io::Exists(by_number)) return by_number;
  struct stat facts = {};
  if (::stat(mount.source.c_str(), &facts) != 0 || !S_ISBLK(facts.st_mode)) return {};
  const std::string by_device = "/sys/dev/block/" + std::to_string(major(facts.st_rdev)) + ":" +
                                std::to_string(minor(facts.st_rdev)) + "/stat";
  return io::Exists(by_device) ? by_device : std::string();
}

}  // namespace

std::string_view CounterKindName(CounterKind kind) {
  switch (kind) {
    case CounterKind::kNone:
      return "none";
    case CounterKind::kBlockDevice:
      return "block_device";
    case CounterKind::kNfs:
      return "nfs";
    case CounterKind::kSlowSource:
      return "slow_source";
  }
  return "";
}

Result<SourceCounter> SourceCounter::For(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const MountInfo mount, FindMount(path));
  SourceCounter counter;
  if (mount.type == "nfs" || mount.type == "nfs4") {
    counter.kind_ = CounterKind::kNfs;
    counter.place_ = mount.mount_point;
    counter.description_ = "NFS " + mount.source;
  } else if (mount.type == kSlowSourceType) {
    counter.kind_ = CounterKind::kSlowSource;
    counter.place_ = mount.mount_point;
    counter.description_ = "slow-source " + mount.mount_point;
  } else if (std::string file = BlockStatFile(mount); !file.empty()) {
    counter.kind_ = CounterKind::kBlockDevice;
    counter.description_ = "block device " + mount.source;
    counter.place_ = std::move(file);
  } else {
    counter.description_ = "none: nothing counts what " + mount.type + " delivers";
  }
  return counter;
}

Result<std::optional<SourceCount>> SourceCounter::Read() const {
  if (kind_ == CounterKind::kNone) return std::optional<SourceCount>();
  if (kind_ == CounterKind::kSlowSource) {
    SourceCount count;
    TARN_ASSIGN_OR_RETURN(count.bytes, ReadCounterAttribute(place_, kSlowSourceBytes));
    TARN_ASSIGN_OR_RETURN(count.requests, ReadCounterAttribute(place_, kSlowSourceRequests));
    return std::optional<SourceCount>(count);
  }
  const bool nfs = kind_ == CounterKind::kNfs;
  TARN_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(nfs ? "/proc/self/mountstats" : place_));
  TARN_ASSIGN_OR_RETURN(const SourceCount count, nfs ? ParseMountStats(text, place_) : ParseBlockStat(text));
  return std::optional<SourceCount>(count);
}

Result<SourceCount> ParseBlockStat(std::string_view text) {
  // "read I/Os, read merges, read sectors, ...": Documentation/block/stat.rst
  std::istringstream in{std::string(text)};
  uint64_t reads = 0;
  uint64_t merges = 0;
  uint64_t sectors = 0;
  if (!(in >> reads >> merges >> sectors))
    return Status(ErrorCode::kCorrupt,
                  "expected the counters of a block device, found '" + std::string(text) + "'");
  return SourceCount{sectors * kSectorBytes, reads};
}

Result<SourceCount> ParseMountStats(std::string_view text, std::string_view mount_point) {
  const std::string head = " mounted on " + std::string(mount_point) + " with fstype ";
  bool inside = false;
  for (const std::string& line : Split(text, '\n')) {
    if (line.starts_with("device ")) inside = line.find(head) != std::string::npos;
    const size_t at = line.find_first_not_of(" \t");
    if (!inside || at == std::string::npos || !std::string_view(line).substr(at).starts_with("READ:"))
      continue;
    // "READ: ops transmissions timeouts bytes-sent bytes-received queue-ms rtt-ms execute-ms"
    std::istringstream in(line.substr(at + 5));
    uint64_t operations = 0;
    uint64_t transmissions = 0;
    uint64_t timeouts = 0;
    uint64_t sent = 0;
    uint64_t received = 0;
    if (in >> operations >> transmissions >> timeouts >> sent >> received)
      return SourceCount{received, operations};
  }
  return Status(ErrorCode::kNotFound,
                "/proc/self/mountstats has no READ counters of '" + std::string(mount_point) + "'");
}

}  // namespace tarn::bench

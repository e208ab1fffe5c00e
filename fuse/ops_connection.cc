#include <fmt/format.h>

#include <initializer_list>
#include <utility>

#include "fuse/negotiated.h"
#include "fuse/op_guard.h"
#include "fuse/ops.h"

namespace tarn::fuse::ops {
namespace {

struct Capability {
  unsigned bit;
  const char* name;
  const char* since;  // the kernel that first had it
};

// Without these, answers would mean something else than they do; nothing else is needed.
constexpr Capability kRequired[] = {
    {FUSE_CAP_NO_OPEN_SUPPORT, "no-open", "3.15"},
    {FUSE_CAP_NO_OPENDIR_SUPPORT, "no-opendir", "5.1"},
};

// What is asked for where the kernel has it. Left out, each for its reason: POSIX_LOCKS and FLOCK_LOCKS (the
// kernel keeps read locks by itself), SPLICE_* (requests have to land in our buffers), ATOMIC_O_TRUNC (with
// no OPEN, a truncating open would empty the kernel's idea of the file without asking), WRITEBACK_CACHE and
// HANDLE_KILLPRIV (nothing is written), POSIX_ACL (modes say it all), READDIRPLUS_AUTO (find(1) and ls -l
// read a whole directory before they ask for the first attribute: the kernel then guesses that nobody will,
// and looks up each name).
constexpr unsigned kWanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO | FUSE_CAP_PARALLEL_DIROPS |
                             FUSE_CAP_READDIRPLUS | FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_EXPORT_SUPPORT |
                             FUSE_CAP_AUTO_INVAL_DATA;

Status CheckKernel(const fuse_conn_info& connection) {
  for (const Capability& capability : kRequired) {
    if ((connection.capable & capability.bit) != 0) continue;
    return Status(ErrorCode::kUnsupported,
                  fmt::format("this kernel's FUSE {}.{} has no '{}'", connection.proto_major,
                              connection.proto_minor, capability.name))
        .WithHint(fmt::format("Linux {} or newer is needed", capability.since));
  }
  return Status::Ok();
}

}  // namespace

void Init(void* user_data, fuse_conn_info* connection) {
  auto* served = static_cast<Served*>(user_data);
  served->init_status = CheckKernel(*connection);
  connection->want = kWanted & connection->capable;
  connection->max_read = kMaxRead;
  connection->max_write = std::min(connection->max_write, kMaxWrite);
  connection->max_readahead = std::min(connection->max_readahead, kMaxReadahead);
  connection->max_background = kMaxBackground;
  connection->congestion_threshold = kCongestionThreshold;
  connection->time_gran = kTimeGranularity;

  NegotiatedRecord& record = *served->record;
  record.protocol_major = connection->proto_major;
  record.protocol_minor = connection->proto_minor;
  record.kernel_offers = connection->capable;
  record.flags = connection->want;
  record.max_read = connection->max_read;
  record.max_write = connection->max_write;
  record.max_readahead = connection->max_readahead;
  record.max_background = connection->max_background;
  record.congestion_threshold = connection->congestion_threshold;
  record.time_granularity = connection->time_gran;
}

// Nothing of ours ends with the connection: no node, no handle, no lock is remembered.
void Destroy(void* /*served*/) {}

fuse_lowlevel_ops Table() {
  fuse_lowlevel_ops table{};
  table.init = Init;
  table.destroy = Destroy;
  table.lookup = Lookup;
  table.forget = Forget;
  table.forget_multi = ForgetMulti;
  table.getattr = GetAttributes;
  table.access = Access;
  table.readlink = ReadLink;
  table.getxattr = GetXattr;
  table.listxattr = ListXattrs;
  table.open = Open;
  table.read = Read;
  table.lseek = Seek;
  table.flush = Flush;
  table.release = Release;
  table.fsync = Sync;
  table.opendir = OpenDirectory;
  table.readdir = ReadDirectory;
  table.readdirplus = ReadDirectoryPlus;
  table.releasedir = ReleaseDirectory;
  table.fsyncdir = SyncDirectory;
  table.statfs = FileSystemStatus;
  table.getlk = GetLock;
  table.setlk = SetLock;
  table.flock = LockWholeFile;
  table.bmap = MapBlock;
  table.ioctl = Ioctl;
  table.poll = Poll;
  SetReadOnlyOperations(&table);
  return table;
}

}  // namespace tarn::fuse::ops

#include "dataset/attributes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace tarn::dataset {
namespace {

constexpr uint32_t kReadBits = 0444;
constexpr uint32_t kExecuteBits = 0111;
constexpr uint32_t kShownBits = 01555;  // never write, setuid, setgid

// What the system shows for an owner that does not fit 32 bits (or is the "no change" value of chown).
constexpr uint32_t kOverflowId = 65534;

uint32_t ShownId(uint64_t id) {
  return id >= UINT32_MAX ? kOverflowId : static_cast<uint32_t>(id);
}

// x wherever there is r: what a directory needs to be of use to whoever may read it.
uint32_t ExecuteWhereRead(uint32_t mode) {
  return (mode & kReadBits) >> 2;
}

// Owner and mode of something in an archive: `own_*` are the member's. `is_directory` decides what execute
// bits mean.
void SetAccess(const FileTreeOptions& options, const io::FileAccess& archive, bool is_directory,
               uint64_t own_uid, uint64_t own_gid, uint32_t own_mode, Attributes* out) {
  uint32_t mode = 0;
  out->uid = archive.uid;
  out->gid = archive.gid;
  switch (options.access) {
    case AccessMode::kArchive:
      mode = archive.mode & kReadBits;
      mode |= is_directory ? ExecuteWhereRead(mode) : own_mode & kExecuteBits & ExecuteWhereRead(mode);
      break;
    case AccessMode::kMember:
      mode = own_mode & kShownBits;
      out->uid = ShownId(own_uid);
      out->gid = ShownId(own_gid);
      break;
    case AccessMode::kOpen:
      mode = kReadBits;
      if (is_directory || (own_mode & kExecuteBits) != 0) mode |= kExecuteBits;
      break;
  }
  out->mode |= mode & ~options.umask;
  if (options.uid) out->uid = *options.uid;
  if (options.gid) out->gid = *options.gid;
}

void SetTime(int64_t nanoseconds, Attributes* out) {
  constexpr int64_t kBillion = 1'000'000'000;
  int64_t seconds = nanoseconds / kBillion;
  int64_t rest = nanoseconds % kBillion;
  if (rest < 0) {
    rest += kBillion;
    --seconds;
  }
  out->mtime = seconds;
  out->mtime_ns = static_cast<uint32_t>(rest);
}

uint64_t BlocksOf(uint64_t bytes) {
  return bytes / 512 + (bytes % 512 != 0 ? 1 : 0);
}

uint64_t DataBytes(const index::MemberRecord& member) {
  uint64_t bytes = 0;
  for (const tar::Extent& extent : member.extents) {
    if (extent.archive_offset != tar::Extent::kHole) bytes += extent.length;
  }
  return bytes;
}

}  // namespace

uint32_t FileTypeBits(tar::MemberType type) {
  switch (type) {
    case tar::MemberType::kRegular:
    case tar::MemberType::kContiguous:
    case tar::MemberType::kHardLink:
      return S_IFREG;
    case tar::MemberType::kDirectory:
      return S_IFDIR;
    case tar::MemberType::kSymlink:
      return S_IFLNK;
    case tar::MemberType::kCharDevice:
      return S_IFCHR;
    case tar::MemberType::kBlockDevice:
      return S_IFBLK;
    case tar::MemberType::kFifo:
      return S_IFIFO;
  }
  return S_IFREG;
}

Attributes MemberAttributes(const FileTreeOptions& options, const io::FileAccess& archive, NodeId node,
                            const index::MemberRecord& member) {
  Attributes out = TypeOnly(node, FileTypeBits(member.type));
  SetAccess(options, archive, false, member.uid, member.gid, member.mode, &out);
  out.links = member.links;
  out.mtime = member.mtime;
  out.mtime_ns = member.mtime_ns;
  switch (member.type) {
    case tar::MemberType::kSymlink:
      out.mode = S_IFLNK | 0777;  // a link's own bits mean nothing; whoever may look at the target decides
      out.size = member.link.size();
      break;
    case tar::MemberType::kCharDevice:
    case tar::MemberType::kBlockDevice:
      out.device = makedev(member.device_major, member.device_minor);
      break;
    case tar::MemberType::kRegular:
    case tar::MemberType::kContiguous:
      out.size = member.logical_size;
      out.blocks = BlocksOf(DataBytes(member));
      break;
    default:
      break;
  }
  return out;
}

Attributes ArchiveDirectoryAttributes(const FileTreeOptions& options, const io::FileAccess& archive,
                                      int64_t archive_mtime_ns, NodeId node,
                                      const index::DirectoryRecord& directory,
                                      const index::MemberRecord* member) {
  Attributes out = TypeOnly(node, S_IFDIR);
  if (member != nullptr) {
    SetAccess(options, archive, true, member->uid, member->gid, member->mode, &out);
    out.mtime = member->mtime;
    out.mtime_ns = member->mtime_ns;
  } else {
    SetAccess(options, archive, true, archive.uid, archive.gid, 0555, &out);
    SetTime(archive_mtime_ns, &out);
  }
  out.size = directory.entries;
  out.links = directory.subdirectories + 2;
  return out;
}

Attributes TreeDirectoryAttributes(const FileTreeOptions& options, int64_t mtime, NodeId node,
                                   const index::TreeDirectoryRecord& directory) {
  Attributes out = TypeOnly(node, S_IFDIR);
  out.mode |= 0555 & ~options.umask;
  out.uid = options.uid.value_or(0);
  out.gid = options.gid.value_or(0);
  out.mtime = mtime;
  out.size = directory.entries;
  out.links = directory.subdirectories + 2;
  return out;
}

Attributes WholeFileAttributes(const FileTreeOptions& options, const io::FileAccess& file, NodeId node,
                               const index::ManifestRow& row) {
  Attributes out = TypeOnly(node, S_IFREG);
  SetAccess(options, file, false, file.uid, file.gid, file.mode, &out);
  out.size = row.id.size;
  out.blocks = BlocksOf(row.id.size);
  SetTime(row.hint.mtime_ns, &out);
  return out;
}

Attributes TypeOnly(NodeId node, uint32_t type_bits) {
  Attributes out;
  out.node = node;
  out.mode = type_bits;
  return out;
}

}  // namespace tarn::dataset

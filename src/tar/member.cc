#include "tarn/tar/member.h"

namespace tarn::tar {

std::string_view MemberTypeName(MemberType type) {
  switch (type) {
    case MemberType::kRegular:
      return "reg";
    case MemberType::kDirectory:
      return "dir";
    case MemberType::kSymlink:
      return "sym";
    case MemberType::kHardLink:
      return "hard";
    case MemberType::kCharDevice:
      return "chr";
    case MemberType::kBlockDevice:
      return "blk";
    case MemberType::kFifo:
      return "fifo";
    case MemberType::kContiguous:
      return "contig";
  }
  return "unknown";
}

void Member::Clear() {
  ordinal = 0;
  name.clear();
  type = MemberType::kRegular;
  mode = 0;
  uid = 0;
  gid = 0;
  user_name.clear();
  group_name.clear();
  mtime = 0;
  mtime_ns = 0;
  link.clear();
  device_major = 0;
  device_minor = 0;
  logical_size = 0;
  stored_size = 0;
  header_offset = 0;
  data_offset = 0;
  extents.clear();
  xattrs.clear();
}

}  // namespace tarn::tar

// Member: one thing in a tar: its header blocks and its data.
#ifndef TARN_TAR_MEMBER_H_
#define TARN_TAR_MEMBER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarn::tar {

// Values are stored in bundles: do not renumber.
enum class MemberType : uint8_t {
  kRegular = 0,
  kDirectory = 1,
  kSymlink = 2,
  kHardLink = 3,
  kCharDevice = 4,
  kBlockDevice = 5,
  kFifo = 6,
  kContiguous = 7,  // POSIX.1-1988 type '7'; reads as a regular file
};

// "reg", "dir", "sym", "hard", "chr", "blk", "fifo", "contig": the spelling of `tarn walk --json`.
std::string_view MemberTypeName(MemberType type);

// A range of a file's bytes, in file order: bytes of the archive, or a hole.
struct Extent {
  static constexpr int64_t kHole = -1;
  int64_t archive_offset = 0;  // bytes from the start of the archive; kHole: reads as zeros
  uint64_t length = 0;         // bytes

  bool operator==(const Extent&) const = default;
};

struct Member {
  uint64_t ordinal = 0;  // position in the archive, from 0
  std::string name;      // bytes as the archive has them, nothing decoded, stripped or normalised
  MemberType type = MemberType::kRegular;
  uint32_t mode = 0;  // 07777; type bits that some writers store are masked off
  uint64_t uid = 0;
  uint64_t gid = 0;
  std::string user_name;   // uname; may be empty
  std::string group_name;  // gname; may be empty
  int64_t mtime = 0;       // seconds since 1970-01-01 UTC, rounded down
  uint32_t mtime_ns = 0;   // 0 to 999,999,999, added to mtime also when that is negative
  std::string link;        // target of a symlink or hard link, as the archive has it
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t logical_size = 0;   // bytes a reader sees; 0 unless regular or contiguous
  uint64_t stored_size = 0;    // bytes of data in the archive, without padding
  uint64_t header_offset = 0;  // of the first header block, extended headers included
  uint64_t data_offset =
      0;  // of the first data byte, behind the last header (and behind a pax 1.0 sparse map)
  // The file's bytes in file order, without gaps; their lengths add up to logical_size. Empty for an empty
  // file.
  std::vector<Extent> extents;
  // Extended attributes (pax SCHILY.xattr.*, LIBARCHIVE.xattr.*): name and value, bytes.
  std::vector<std::pair<std::string, std::string>> xattrs;

  bool IsFile() const { return type == MemberType::kRegular || type == MemberType::kContiguous; }
  // Keeps the memory of strings and vectors, so that one Member serves a whole walk.
  void Clear();
};

}  // namespace tarn::tar

#endif  // TARN_TAR_MEMBER_H_

// FileTree: datasets as a file system, without FUSE: lookup, attributes, listings, links, xattrs, bytes.
//
// The FUSE layer and the `tarn` commands are thin layers over this. It remembers nothing about who asked:
// every answer follows from a node id, the index and the source. All functions may be called from any thread.
#ifndef TARN_DATASET_FILE_TREE_H_
#define TARN_DATASET_FILE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/dataset/archive_bytes.h"
#include "tarn/dataset/node_id.h"
#include "tarn/index/generation_reader.h"

namespace tarn::dataset {

// Whose permissions members show (DESIGN section 7).
enum class AccessMode : uint8_t {
  kArchive,  // whoever may read the archive file: its owner, group and read bits; execute bits of the member
  kMember,   // the tar's own owner and mode
  kOpen,     // everyone may read
};

struct FileTreeOptions {
  AccessMode access = AccessMode::kArchive;
  std::optional<uint32_t> uid;  // shown instead of what `access` gives
  std::optional<uint32_t> gid;
  uint32_t umask = 0;  // bits taken away
  // Where files' bytes lie is kept for 32 bytes a file, so that reading after a lookup asks the index
  // nothing; more keeps more files.
  size_t extent_cache_bytes = size_t{16} << 20;
};

// Modes have never write bits, never setuid or setgid. What no member stands behind is made up: a parent that
// no member names has mode 0555 and the archive's mtime; a directory between archives belongs to root, has
// mode 0555 and the mtime of the publication. Loose files are files of their own in every mode.
struct Attributes {
  NodeId node;
  uint32_t mode = 0;    // file type and permissions as in st_mode
  uint64_t size = 0;    // bytes; of a directory: names in it
  uint64_t blocks = 0;  // 512-byte units that hold data: less than size for sparse members
  uint32_t links = 1;   // names that show it; of a directory: 2 + its subdirectories
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t device = 0;  // st_rdev, as makedev(3)
  int64_t mtime = 0;
  uint32_t mtime_ns = 0;
};

struct ListedEntry {
  std::string_view name;  // valid during the call
  Attributes attributes;  // only node and the type bits of mode unless attributes were asked for
  uint64_t cookie = 0;    // where to go on behind this entry: the same in every server, for ever
};

struct FileSystemTotals {
  uint64_t bytes = 0;
  uint64_t files = 0;
};

class FileTree {
 public:
  FileTree(FileTreeOptions options, std::shared_ptr<ArchiveBytes> bytes);
  ~FileTree();

  // Makes a generation answerable; gives its root directory. Before the first request, or while others are
  // answered. Reads nothing of its archives: those are looked at when somebody asks. kUnsupported for a view
  // that this build cannot show.
  Result<NodeId> Attach(std::shared_ptr<const index::GenerationReader> generation);

  // What to call for a node of a generation that is not attached, or (nothing) of a file that no attached
  // generation shows: makes it answerable by Attach, if it exists. Set before the first request.
  using AttachMissing = std::function<Status(uint32_t dataset, std::optional<uint32_t> generation)>;
  void AttachMissingWith(AttachMissing attach);

  // Lookup, GetAttributes and List with attributes may look at the archive file (once an identity interval):
  // its owner and mode are part of the answer, see ArchiveBytes::Access.

  // The child called `name`, or nothing. kNotFound: `parent` is no directory of an attached generation.
  Result<std::optional<Attributes>> Lookup(NodeId parent, std::string_view name) const;
  Result<Attributes> GetAttributes(NodeId node) const;
  // The directory that holds a directory; the generation's root is its own parent.
  Result<NodeId> Parent(NodeId directory) const;
  Result<std::string> ReadLink(NodeId node) const;

  // Visits names in order of their bytes from behind `cookie` (0: from the start) until `visit` gives false;
  // the entry that got false can be visited again from the cookie before it. "." and ".." are the caller's,
  // and cookies 1 to 7 are never given, so that it can number them. kInvalidArgument: no cookie of this
  // directory.
  Status List(NodeId directory, uint64_t cookie, bool with_attributes,
              const std::function<bool(const ListedEntry&)>& visit) const;

  // Extended attributes. Nothing: no such attribute. "Files" are regular ones: links, devices and fifos have
  // no user.* at all, see xattr(7).
  //
  //     user.tarn.archive_id    files, directories of an archive: "<size>-<digest>"
  //     user.tarn.data_offset   files that are one contiguous range of the archive: where it starts
  //     user.tarn.size          files: bytes a reader sees
  //     user.tarn.archive       directories of an archive: its path in the dataset
  //     user.tarn.generation    directories: "imagenet@7"
  //     user.tarn.digest        the generation's root: the dataset digest
  //
  // and those of the member (pax SCHILY.xattr.*, LIBARCHIVE.xattr.*) under their own names: user.*, trusted.*
  // (which the kernel shows to root alone) and security.* (without effect: mounts are nosuid). Not shown:
  // system.*, where the kernel would take a member's POSIX ACL for the mount's own, and what a member calls
  // user.tarn.*.
  Result<std::optional<std::string>> GetXattr(NodeId node, std::string_view name) const;
  Result<std::vector<std::string>> ListXattrs(NodeId node) const;

  // Reads at `offset`; fewer bytes than out.size() only at the end of the file. Holes are zeros, nothing else
  // ever is. kInvalidArgument: no regular file. Fails as ArchiveBytes::Read does: a reader gets EIO for
  // kNotFound (the archive is missing) as for kChanged, never ENOENT for a file that it can see.
  Result<size_t> Read(NodeId node, uint64_t offset, std::span<std::byte> out) const;
  // The first offset >= `offset` that is data (or, for `hole`, a hole; the end counts as one). kNotFound
  // beyond the end.
  Result<uint64_t> SeekDataOrHole(NodeId node, uint64_t offset, bool hole) const;

  FileSystemTotals Totals(NodeId node) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_FILE_TREE_H_

// TreeBuilder: from members in archive order to the tree a reader sees (rules: docs/tar-dialects.md, "Tree").
//
//   - Names are normalised: leading, doubled and trailing slashes and "." components vanish. Names that hold
//   "..", a
//     NUL, a component above NAME_MAX or a path above PATH_MAX are not shown; each is a finding.
//   - Missing parents are made up. Directories get numbers at first mention; 0 is the root.
//   - The last of several members with one name wins. A directory that holds something is never replaced by a
//     non-directory, before or after it (NAME_CONFLICT): nothing that holds members disappears.
//   - A hard link shows what its target was when the link was written: the last member of that name before
//   it; if
//     there is none, the first one behind it. Chains are followed; cycles and missing targets are findings.
//
// Memory is bounded by directories and hard links, not by members: names go through an io::ExternalSorter.
#ifndef TARN_TAR_TREE_BUILDER_H_
#define TARN_TAR_TREE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tarn/base/result.h"
#include "tarn/tar/finding.h"
#include "tarn/tar/member.h"

namespace tarn::tar {

inline constexpr uint32_t kNoOrdinal = UINT32_MAX;    // a directory that no member names
inline constexpr uint32_t kNoDirectory = UINT32_MAX;  // a member that has no place in the tree
inline constexpr uint32_t kRootDirectory = 0;

struct TreeOptions {
  std::string scratch_directory;           // for sorted runs; must exist before the budget is exceeded
  size_t memory_bytes = size_t{64} << 20;  // of the sorter's buffer
  size_t path_bytes = 4095;                // longest path shown (PATH_MAX without its NUL)
  size_t path_depth = 4096;                // most components
  size_t directories = size_t{1} << 24;    // most directories of one archive
};

// Where a member stands: for its row.
struct Placement {
  uint32_t directory = kNoDirectory;  // number of the directory that holds it; kNoDirectory: not shown
  std::string_view name;              // last component; valid until the next Add. Empty for the root itself
};

// One name in a directory. Views are valid during the call.
struct Dentry {
  uint32_t directory = 0;
  std::string_view name;
  MemberType type = MemberType::kRegular;  // of what it resolves to: never kHardLink
  uint32_t own_ordinal = kNoOrdinal;       // of the member with this name; kNoOrdinal for a made-up directory
  uint32_t target_ordinal =
      kNoOrdinal;  // of the member whose data and attributes it shows; = own unless a hard link
  uint32_t child_directory = kNoDirectory;  // number, when it is a directory
};

struct DirectoryFacts {
  uint32_t number = 0;
  uint32_t parent = 0;            // the root is its own parent
  std::string_view name;          // empty for the root
  uint32_t ordinal = kNoOrdinal;  // last member that names it: its attributes; kNoOrdinal if made up
  uint32_t entries = 0;           // names in it
  uint32_t subdirectories = 0;    // of which directories; st_nlink is this + 2
};

// What the tree says about one member beyond its header.
struct MemberFate {
  uint32_t ordinal = 0;
  uint32_t links = 0;  // names that show this member (st_nlink); 0: replaced by a later one, or not shown
};

class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  // In rising order of (directory, name as unsigned bytes).
  virtual Status OnDentry(const Dentry& dentry) = 0;
  // Only members whose links differ from 1, in rising order of ordinal; after the last dentry.
  virtual Status OnFate(const MemberFate& fate) = 0;
  // Every directory, in rising order of number; after the last fate.
  virtual Status OnDirectory(const DirectoryFacts& directory) = 0;
};

class TreeBuilder {
 public:
  // `findings` must outlive the builder.
  TreeBuilder(TreeOptions options, FindingList* findings);
  ~TreeBuilder();

  // Members in rising order of ordinal.
  Status Add(const Member& member, Placement* placement);

  // Resolves and visits. Call once, after the last member.
  Status Finish(TreeVisitor* visitor);

  struct Counts {
    uint64_t dentries = 0;
    uint32_t directories = 0;  // the root included
    uint64_t replaced = 0;     // members hidden by a later one of the same name
    uint64_t unshown = 0;      // members with no place in the tree
  };
  Counts counts() const;  // complete after Finish

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::tar

#endif  // TARN_TAR_TREE_BUILDER_H_

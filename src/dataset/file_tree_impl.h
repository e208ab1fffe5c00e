// The inside of FileTree, spread over three files: file_tree.cc (nodes, bytes), listing.cc (directories in
// order), xattrs.cc.
#ifndef TARN_DATASET_FILE_TREE_IMPL_H_
#define TARN_DATASET_FILE_TREE_IMPL_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/attachments.h"
#include "dataset/extent_cache.h"
#include "dataset/shared_slot.h"
#include "tarn/dataset/file_tree.h"

namespace tarn::dataset {

class FileTree::Impl {
 public:
  Impl(FileTreeOptions options, std::shared_ptr<ArchiveBytes> bytes);

  Result<NodeId> Attach(std::shared_ptr<const index::GenerationReader> generation);
  void AttachMissingWith(AttachMissing attach) { attach_missing_ = std::move(attach); }
  Result<std::optional<Attributes>> Lookup(NodeId parent, std::string_view name) const;
  Result<Attributes> GetAttributes(NodeId node) const;
  Result<NodeId> Parent(NodeId node) const;
  Result<std::string> ReadLink(NodeId node) const;
  Status List(NodeId node, uint64_t cookie, bool with_attributes,
              const std::function<bool(const ListedEntry&)>& visit) const;
  Result<std::optional<std::string>> GetXattr(NodeId node, std::string_view name) const;
  Result<std::vector<std::string>> ListXattrs(NodeId node) const;
  Result<size_t> Read(NodeId node, uint64_t offset, std::span<std::byte> out) const;
  Result<uint64_t> SeekDataOrHole(NodeId node, uint64_t offset, bool hole) const;
  FileSystemTotals Totals(NodeId node) const;

 private:
  // A directory node, taken apart.
  struct Directory {
    const AttachedGeneration* generation = nullptr;
    const AttachedFile* archive = nullptr;  // null: a directory of the tree between archives
    uint32_t number = 0;                    // within the tree, or within the archive
  };
  // A file node, taken apart.
  struct File {
    const AttachedFile* file = nullptr;
    bool whole = false;  // a loose file, or the archive itself; otherwise the member with this ordinal
    uint32_t ordinal = 0;
  };
  // Where the bytes of a file with holes lie; `starts[i]` is the file offset of `extents[i]`.
  struct SparseMap {
    NodeId node;
    uint64_t size = 0;
    std::vector<tar::Extent> extents;
    std::vector<uint64_t> starts;
  };

  // As Attachments has them, attached when they were not.
  Result<const AttachedGeneration*> FindGeneration(uint32_t dataset, uint32_t generation) const;
  Result<const AttachedFile*> FindFile(NodeId node) const;
  Result<Directory> ResolveDirectory(NodeId node) const;
  Result<File> ResolveFile(NodeId node) const;

  NodeId TreeNode(const AttachedGeneration& generation, uint32_t number) const;
  NodeId DirectoryNode(const AttachedGeneration& generation, const AttachedFile& archive,
                       uint32_t number) const;
  NodeId FileNode(const AttachedFile& file, uint32_t ordinal) const;

  // Rows that must be there: kCorrupt, with generation and archive, when they are not.
  Status RequireMember(const AttachedFile& archive, uint32_t ordinal, index::MemberRecord* member) const;
  // The member that a file node names; kNotFound when no name shows it.
  Status ReadMember(NodeId node, const File& file, index::MemberRecord* member) const;
  Status RequireDirectory(const AttachedFile& archive, uint32_t number, index::DirectoryRecord* record) const;
  Status RequireTreeDirectory(const AttachedGeneration& generation, uint32_t number,
                              index::TreeDirectoryRecord* record) const;
  Result<const AttachedFile*> RequireFile(const AttachedGeneration& generation, uint32_t number) const;

  // Attributes of what a name stands for.
  Result<Attributes> OfTreeDentry(const AttachedGeneration& generation,
                                  const index::TreeDentryRecord& dentry) const;
  Result<Attributes> OfTreeDirectory(const AttachedGeneration& generation, uint32_t number) const;
  Result<Attributes> OfWholeFile(const AttachedFile& file, uint32_t ordinal) const;
  Result<Attributes> OfArchiveDirectory(const AttachedGeneration& generation, const AttachedFile& archive,
                                        const io::FileAccess& access, uint32_t number) const;
  Attributes OfMember(const AttachedFile& archive, const io::FileAccess& access, uint32_t ordinal,
                      const index::MemberRecord& member) const;

  // Listing (listing.cc). The name behind which a cookie goes on; empty for cookie 0.
  Result<std::string> NameOfTreeCookie(const Directory& directory, uint64_t cookie) const;
  Result<std::string> NameOfArchiveCookie(const Directory& directory, uint64_t cookie) const;
  // Has the archives behind the next names looked at, all at once; gives how many names that were.
  Result<size_t> LookAhead(const AttachedGeneration& generation, index::TreeDentryCursor* scout) const;
  Status ListTree(const Directory& directory, uint64_t cookie, bool with_attributes,
                  const std::function<bool(const ListedEntry&)>& visit) const;
  Status ListArchive(const Directory& directory, uint64_t cookie, bool with_attributes,
                     const std::function<bool(const ListedEntry&)>& visit) const;

  // Bytes.
  void RememberExtent(NodeId node, const index::MemberRecord& member) const;
  Result<std::shared_ptr<const SparseMap>> MapOf(NodeId node, const File& file) const;
  SharedSlot<const SparseMap>& SparseSlot(NodeId node) const;
  Result<size_t> ReadSparse(const AttachedFile& archive, const SparseMap& map, uint64_t offset,
                            std::span<std::byte> out) const;

  // Extended attributes (xattrs.cc), in the order in which they are listed.
  using Xattrs = std::vector<std::pair<std::string, std::string>>;
  Result<Xattrs> XattrsOf(NodeId node) const;
  Result<Xattrs> DirectoryXattrs(NodeId node) const;
  Result<Xattrs> FileXattrs(NodeId node) const;
  // Moves those that are shown.
  static void AppendMemberXattrs(index::MemberRecord* member, Xattrs* xattrs);

  const FileTreeOptions options_;
  const std::shared_ptr<ArchiveBytes> bytes_;
  Attachments attachments_;
  AttachMissing attach_missing_;  // never changed after the first request
  mutable ExtentCache extents_;
  // Maps of the files with holes that were read last: a map may have a million extents, too many to decode
  // for each read.
  mutable std::array<SharedSlot<const SparseMap>, 64> sparse_maps_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_FILE_TREE_IMPL_H_

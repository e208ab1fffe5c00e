#include "tarn/dataset/file_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataset/attributes.h"
#include "dataset/file_tree_impl.h"

namespace tarn::dataset {
namespace {

Status NoSuchNode(NodeId node) {
  return Status(ErrorCode::kNotFound, "no node " + std::to_string(node.value()));
}

Status LacksRow(const AttachedGeneration& generation, const std::string& what) {
  const index::GenerationFacts& facts = generation.facts();
  return Status(ErrorCode::kCorrupt, "generation " + facts.dataset + "@" + std::to_string(facts.generation) +
                                         " lacks the row of " + what)
      .WithHint("publish the dataset again");
}

std::string InArchive(const AttachedFile& archive) {
  return " of archive " + archive.row.id.ToString();
}

// How many bytes of `wanted` lie before the end of a file of `size` bytes.
size_t Clip(uint64_t size, uint64_t offset, size_t wanted) {
  return offset >= size ? 0 : static_cast<size_t>(std::min<uint64_t>(wanted, size - offset));
}

// Nothing, or one range of the archive.
bool IsOneExtent(const std::vector<tar::Extent>& extents) {
  return extents.empty() || (extents.size() == 1 && extents[0].archive_offset != tar::Extent::kHole);
}

ExtentCache::Place PlaceOf(const std::vector<tar::Extent>& extents, uint64_t size) {
  return {extents.empty() ? 0 : static_cast<uint64_t>(extents[0].archive_offset), size};
}

}  // namespace

FileTree::Impl::Impl(FileTreeOptions options, std::shared_ptr<ArchiveBytes> bytes)
    : options_(options),
      bytes_(std::move(bytes)),
      attachments_(bytes_),
      extents_(options.extent_cache_bytes) {}

// ---- Node ids

NodeId FileTree::Impl::TreeNode(const AttachedGeneration& generation, uint32_t number) const {
  return NodeId::Directory(generation.facts().dataset_number, generation.facts().generation, number);
}

NodeId FileTree::Impl::DirectoryNode(const AttachedGeneration& generation, const AttachedFile& archive,
                                     uint32_t number) const {
  return NodeId::Directory(generation.facts().dataset_number, generation.facts().generation,
                           archive.row.first_directory + number);
}

NodeId FileTree::Impl::FileNode(const AttachedFile& file, uint32_t ordinal) const {
  return NodeId::File(file.generation->facts().dataset_number, file.row.number, ordinal);
}

Result<const AttachedGeneration*> FileTree::Impl::FindGeneration(uint32_t dataset,
                                                                 uint32_t generation) const {
  Result<const AttachedGeneration*> found = attachments_.FindGeneration(dataset, generation);
  if (found.ok() || found.code() != ErrorCode::kNotFound || !attach_missing_) return found;
  TARN_RETURN_IF_ERROR(attach_missing_(dataset, generation));
  return attachments_.FindGeneration(dataset, generation);
}

Result<const AttachedFile*> FileTree::Impl::FindFile(NodeId node) const {
  Result<const AttachedFile*> found = attachments_.FindFile(node);
  if (found.ok() || found.code() != ErrorCode::kNotFound || !attach_missing_) return found;
  TARN_RETURN_IF_ERROR(attach_missing_(node.dataset(), std::nullopt));
  return attachments_.FindFile(node);
}

Result<FileTree::Impl::Directory> FileTree::Impl::ResolveDirectory(NodeId node) const {
  if (!node.IsWellFormed() || !node.IsDirectory()) return NoSuchNode(node);
  Directory directory;
  TARN_ASSIGN_OR_RETURN(directory.generation, FindGeneration(node.dataset(), node.generation()));
  if (node.directory() < directory.generation->facts().tree_directories) {
    directory.number = static_cast<uint32_t>(node.directory());
    return directory;
  }
  TARN_ASSIGN_OR_RETURN(directory.archive, directory.generation->FindByDirectory(node.directory()));
  if (directory.archive == nullptr) return NoSuchNode(node);
  directory.number = static_cast<uint32_t>(node.directory() - directory.archive->row.first_directory);
  return directory;
}

Result<FileTree::Impl::File> FileTree::Impl::ResolveFile(NodeId node) const {
  if (!node.IsWellFormed() || node.IsDirectory()) return NoSuchNode(node);
  File file;
  TARN_ASSIGN_OR_RETURN(file.file, FindFile(node));
  file.ordinal = node.ordinal();
  file.whole = !file.file->IsArchive() || file.ordinal == kArchiveItself;
  if (!file.file->IsArchive() && file.ordinal != 0) return NoSuchNode(node);
  return file;
}

Result<NodeId> FileTree::Impl::Attach(std::shared_ptr<const index::GenerationReader> generation) {
  const index::GenerationFacts& facts = generation->facts();
  const NodeId root = NodeId::Directory(facts.dataset_number, facts.generation, 0);
  TARN_RETURN_IF_ERROR(attachments_.Attach(std::move(generation)));
  return root;
}

// ---- Rows that must be there

Status FileTree::Impl::RequireMember(const AttachedFile& archive, uint32_t ordinal,
                                     index::MemberRecord* member) const {
  TARN_ASSIGN_OR_RETURN(const bool there, archive.generation->reader().GetMember(
                                              archive.row.id, archive.facts.defaults, ordinal, member));
  if (there) return Status::Ok();
  return LacksRow(*archive.generation, "member " + std::to_string(ordinal) + InArchive(archive));
}

Status FileTree::Impl::RequireDirectory(const AttachedFile& archive, uint32_t number,
                                        index::DirectoryRecord* record) const {
  TARN_ASSIGN_OR_RETURN(const bool there,
                        archive.generation->reader().GetDirectory(archive.row.id, number, record));
  if (there) return Status::Ok();
  return LacksRow(*archive.generation, "directory " + std::to_string(number) + InArchive(archive));
}

Status FileTree::Impl::RequireTreeDirectory(const AttachedGeneration& generation, uint32_t number,
                                            index::TreeDirectoryRecord* record) const {
  TARN_ASSIGN_OR_RETURN(const bool there, generation.reader().GetTreeDirectory(number, record));
  if (there) return Status::Ok();
  return LacksRow(generation, "tree directory " + std::to_string(number));
}

Result<const AttachedFile*> FileTree::Impl::RequireFile(const AttachedGeneration& generation,
                                                        uint32_t number) const {
  TARN_ASSIGN_OR_RETURN(const AttachedFile* const file, generation.Find(number));
  if (file == nullptr) return LacksRow(generation, "archive number " + std::to_string(number));
  return file;
}

// ---- Attributes

Result<Attributes> FileTree::Impl::OfTreeDentry(const AttachedGeneration& generation,
                                                const index::TreeDentryRecord& dentry) const {
  if (dentry.kind == index::TreeDentryKind::kDirectory) return OfTreeDirectory(generation, dentry.number);
  TARN_ASSIGN_OR_RETURN(const AttachedFile* const file, RequireFile(generation, dentry.number));
  if (dentry.kind == index::TreeDentryKind::kLooseFile) return OfWholeFile(*file, 0);
  TARN_ASSIGN_OR_RETURN(const io::FileAccess access, bytes_->Access(file->bytes));
  return OfArchiveDirectory(generation, *file, access, tar::kRootDirectory);
}

Result<Attributes> FileTree::Impl::OfTreeDirectory(const AttachedGeneration& generation,
                                                   uint32_t number) const {
  index::TreeDirectoryRecord record;
  TARN_RETURN_IF_ERROR(RequireTreeDirectory(generation, number, &record));
  return TreeDirectoryAttributes(options_, generation.facts().created, TreeNode(generation, number), record);
}

Result<Attributes> FileTree::Impl::OfWholeFile(const AttachedFile& file, uint32_t ordinal) const {
  TARN_ASSIGN_OR_RETURN(const io::FileAccess access, bytes_->Access(file.bytes));
  return WholeFileAttributes(options_, access, FileNode(file, ordinal), file.row);
}

Result<Attributes> FileTree::Impl::OfArchiveDirectory(const AttachedGeneration& generation,
                                                      const AttachedFile& archive,
                                                      const io::FileAccess& access, uint32_t number) const {
  index::DirectoryRecord record;
  TARN_RETURN_IF_ERROR(RequireDirectory(archive, number, &record));
  const NodeId node = DirectoryNode(generation, archive, number);
  const int64_t mtime_ns = archive.row.hint.mtime_ns;
  if (record.ordinal == tar::kNoOrdinal) {
    return ArchiveDirectoryAttributes(options_, access, mtime_ns, node, record, nullptr);
  }
  index::MemberRecord member;
  TARN_RETURN_IF_ERROR(RequireMember(archive, record.ordinal, &member));
  return ArchiveDirectoryAttributes(options_, access, mtime_ns, node, record, &member);
}

// Whoever asks for attributes will probably read: the extent is kept on the way.
Attributes FileTree::Impl::OfMember(const AttachedFile& archive, const io::FileAccess& access,
                                    uint32_t ordinal, const index::MemberRecord& member) const {
  const NodeId node = FileNode(archive, ordinal);
  RememberExtent(node, member);
  return MemberAttributes(options_, access, node, member);
}

Result<std::optional<Attributes>> FileTree::Impl::Lookup(NodeId parent, std::string_view name) const {
  TARN_ASSIGN_OR_RETURN(const Directory directory, ResolveDirectory(parent));
  const index::GenerationReader& reader = directory.generation->reader();
  const std::optional<Attributes> nothing;
  if (directory.archive == nullptr) {
    index::TreeDentryRecord dentry;
    TARN_ASSIGN_OR_RETURN(const bool there, reader.GetTreeDentry(directory.number, name, &dentry));
    if (!there) return nothing;
    TARN_ASSIGN_OR_RETURN(const Attributes attributes, OfTreeDentry(*directory.generation, dentry));
    return std::optional(attributes);
  }
  const AttachedFile& archive = *directory.archive;
  index::DentryRecord dentry;
  TARN_ASSIGN_OR_RETURN(const bool there, reader.GetDentry(archive.row.id, directory.number, name, &dentry));
  if (!there) return nothing;
  TARN_ASSIGN_OR_RETURN(const io::FileAccess access, bytes_->Access(archive.bytes));
  if (dentry.type == tar::MemberType::kDirectory) {
    TARN_ASSIGN_OR_RETURN(const Attributes attributes,
                          OfArchiveDirectory(*directory.generation, archive, access, dentry.child_directory));
    return std::optional(attributes);
  }
  index::MemberRecord member;
  TARN_RETURN_IF_ERROR(RequireMember(archive, dentry.target_ordinal, &member));
  return std::optional(OfMember(archive, access, dentry.target_ordinal, member));
}

Result<Attributes> FileTree::Impl::GetAttributes(NodeId node) const {
  if (node.IsDirectory()) {
    TARN_ASSIGN_OR_RETURN(const Directory directory, ResolveDirectory(node));
    if (directory.archive == nullptr) return OfTreeDirectory(*directory.generation, directory.number);
    TARN_ASSIGN_OR_RETURN(const io::FileAccess access, bytes_->Access(directory.archive->bytes));
    return OfArchiveDirectory(*directory.generation, *directory.archive, access, directory.number);
  }
  TARN_ASSIGN_OR_RETURN(const File file, ResolveFile(node));
  if (file.whole) return OfWholeFile(*file.file, file.ordinal);
  index::MemberRecord member;
  TARN_RETURN_IF_ERROR(ReadMember(node, file, &member));
  TARN_ASSIGN_OR_RETURN(const io::FileAccess access, bytes_->Access(file.file->bytes));
  return OfMember(*file.file, access, file.ordinal, member);
}

// Members that no name shows have no node: directories have ids of their own, hard links are their targets.
Status FileTree::Impl::ReadMember(NodeId node, const File& file, index::MemberRecord* member) const {
  const AttachedFile& archive = *file.file;
  TARN_ASSIGN_OR_RETURN(const bool there, archive.generation->reader().GetMember(
                                              archive.row.id, archive.facts.defaults, file.ordinal, member));
  if (!there || member->links == 0 || member->type == tar::MemberType::kDirectory ||
      member->type == tar::MemberType::kHardLink) {
    return NoSuchNode(node);
  }
  return Status::Ok();
}

Result<NodeId> FileTree::Impl::Parent(NodeId node) const {
  TARN_ASSIGN_OR_RETURN(const Directory directory, ResolveDirectory(node));
  if (directory.archive == nullptr) {
    index::TreeDirectoryRecord record;
    TARN_RETURN_IF_ERROR(RequireTreeDirectory(*directory.generation, directory.number, &record));
    return TreeNode(*directory.generation, record.parent);
  }
  if (directory.number == tar::kRootDirectory) {
    return TreeNode(*directory.generation, directory.archive->row.tree_directory);
  }
  index::DirectoryRecord record;
  TARN_RETURN_IF_ERROR(RequireDirectory(*directory.archive, directory.number, &record));
  return DirectoryNode(*directory.generation, *directory.archive, record.parent);
}

Result<std::string> FileTree::Impl::ReadLink(NodeId node) const {
  TARN_ASSIGN_OR_RETURN(const File file, ResolveFile(node));
  index::MemberRecord member;
  if (!file.whole) TARN_RETURN_IF_ERROR(ReadMember(node, file, &member));
  if (file.whole || member.type != tar::MemberType::kSymlink) {
    return Status(ErrorCode::kInvalidArgument,
                  "node " + std::to_string(node.value()) + " is no symbolic link");
  }
  return std::move(member.link);
}

FileSystemTotals FileTree::Impl::Totals(NodeId node) const {
  const index::GenerationFacts* facts = nullptr;
  if (node.IsDirectory()) {
    const auto generation = attachments_.FindGeneration(node.dataset(), node.generation());
    if (generation.ok()) facts = &(*generation)->facts();
  } else {
    const auto file = attachments_.FindFile(node);
    if (file.ok()) facts = &(*file)->generation->facts();
  }
  if (facts == nullptr) return {};
  return FileSystemTotals{.bytes = facts->bytes, .files = facts->members + facts->loose_files};
}

// ---- Bytes

void FileTree::Impl::RememberExtent(NodeId node, const index::MemberRecord& member) const {
  const bool is_file =
      member.type == tar::MemberType::kRegular || member.type == tar::MemberType::kContiguous;
  // A size that its extents do not hold is left to MapOf, which says so.
  const uint64_t held = member.extents.empty() ? 0 : member.extents[0].length;
  if (!is_file || !IsOneExtent(member.extents) || held != member.logical_size) return;
  extents_.Put(node, PlaceOf(member.extents, member.logical_size));
}

SharedSlot<const FileTree::Impl::SparseMap>& FileTree::Impl::SparseSlot(NodeId node) const {
  return sparse_maps_[(node.value() * 0x9e3779b97f4a7c15ULL >> 32) % sparse_maps_.size()];
}

Result<std::shared_ptr<const FileTree::Impl::SparseMap>> FileTree::Impl::MapOf(NodeId node,
                                                                               const File& file) const {
  SharedSlot<const SparseMap>& slot = SparseSlot(node);
  if (std::shared_ptr<const SparseMap> known = slot.Load(); known != nullptr && known->node == node)
    return known;
  index::MemberRecord member;
  TARN_RETURN_IF_ERROR(ReadMember(node, file, &member));
  if (member.type != tar::MemberType::kRegular && member.type != tar::MemberType::kContiguous) {
    return Status(ErrorCode::kInvalidArgument,
                  "node " + std::to_string(node.value()) + " is no regular file");
  }
  auto map = std::make_shared<SparseMap>();
  map->node = node;
  map->starts.reserve(member.extents.size());
  for (const tar::Extent& extent : member.extents) {
    map->starts.push_back(map->size);
    map->size += extent.length;
  }
  if (map->size != member.logical_size) {
    return Status(ErrorCode::kCorrupt, "extents of member " + std::to_string(file.ordinal) +
                                           InArchive(*file.file) + " hold " + std::to_string(map->size) +
                                           " bytes, its size is " + std::to_string(member.logical_size))
        .WithHint("publish the dataset again");
  }
  map->extents = std::move(member.extents);
  if (IsOneExtent(map->extents)) {
    extents_.Put(node, PlaceOf(map->extents, map->size));
  } else {
    slot.Exchange(map);
  }
  return std::shared_ptr<const SparseMap>(std::move(map));
}

Result<size_t> FileTree::Impl::ReadSparse(const AttachedFile& archive, const SparseMap& map, uint64_t offset,
                                          std::span<std::byte> out) const {
  const size_t wanted = Clip(map.size, offset, out.size());
  if (wanted == 0) return size_t{0};
  // The last extent that starts at or before `offset`; empty extents behind it are skipped by the loop.
  size_t i = std::upper_bound(map.starts.begin(), map.starts.end(), offset) - map.starts.begin() - 1;
  for (size_t done = 0; done < wanted; ++i) {
    const tar::Extent& extent = map.extents[i];
    const uint64_t skip = offset + done - map.starts[i];
    const size_t piece = Clip(extent.length, skip, wanted - done);
    const std::span<std::byte> target = out.subspan(done, piece);
    if (extent.archive_offset == tar::Extent::kHole) {
      if (piece > 0) std::memset(target.data(), 0, piece);
    } else if (piece > 0) {
      TARN_RETURN_IF_ERROR(
          bytes_->Read(archive.bytes, static_cast<uint64_t>(extent.archive_offset) + skip, target,
                       ArchiveRange{static_cast<uint64_t>(extent.archive_offset),
                                    static_cast<uint64_t>(extent.archive_offset) + extent.length}));
    }
    done += piece;
  }
  return wanted;
}

Result<size_t> FileTree::Impl::Read(NodeId node, uint64_t offset, std::span<std::byte> out) const {
  TARN_ASSIGN_OR_RETURN(const File file, ResolveFile(node));
  ExtentCache::Place place;
  if (file.whole) {
    place = {0, file.file->row.id.size};
  } else if (!extents_.Find(node, &place)) {
    TARN_ASSIGN_OR_RETURN(const auto map, MapOf(node, file));
    return ReadSparse(*file.file, *map, offset, out);
  }
  const size_t wanted = Clip(place.size, offset, out.size());
  if (wanted > 0) {
    TARN_RETURN_IF_ERROR(bytes_->Read(file.file->bytes, place.archive_offset + offset, out.first(wanted),
                                      ArchiveRange{place.archive_offset, place.archive_offset + place.size}));
  }
  return wanted;
}

Result<uint64_t> FileTree::Impl::SeekDataOrHole(NodeId node, uint64_t offset, bool hole) const {
  TARN_ASSIGN_OR_RETURN(const File file, ResolveFile(node));
  const Status beyond(ErrorCode::kNotFound, "offset " + std::to_string(offset) + " is beyond the end");
  ExtentCache::Place place;
  if (file.whole || extents_.Find(node, &place)) {
    const uint64_t size = file.whole ? file.file->row.id.size : place.size;
    if (offset >= size) return beyond;
    return hole ? size : offset;
  }
  TARN_ASSIGN_OR_RETURN(const auto map, MapOf(node, file));
  if (offset >= map->size) return beyond;
  for (size_t i = std::upper_bound(map->starts.begin(), map->starts.end(), offset) - map->starts.begin() - 1;
       i < map->extents.size(); ++i) {
    if (map->extents[i].length == 0) continue;
    if ((map->extents[i].archive_offset == tar::Extent::kHole) == hole)
      return std::max(offset, map->starts[i]);
  }
  if (hole) return map->size;
  return beyond;
}

// ---- The public face

FileTree::FileTree(FileTreeOptions options, std::shared_ptr<ArchiveBytes> bytes)
    : impl_(std::make_unique<Impl>(options, std::move(bytes))) {}
FileTree::~FileTree() = default;

Result<NodeId> FileTree::Attach(std::shared_ptr<const index::GenerationReader> generation) {
  return impl_->Attach(std::move(generation));
}
void FileTree::AttachMissingWith(AttachMissing attach) {
  impl_->AttachMissingWith(std::move(attach));
}
Result<std::optional<Attributes>> FileTree::Lookup(NodeId parent, std::string_view name) const {
  return impl_->Lookup(parent, name);
}
Result<Attributes> FileTree::GetAttributes(NodeId node) const {
  return impl_->GetAttributes(node);
}
Result<NodeId> FileTree::Parent(NodeId directory) const {
  return impl_->Parent(directory);
}
Result<std::string> FileTree::ReadLink(NodeId node) const {
  return impl_->ReadLink(node);
}
Status FileTree::List(NodeId directory, uint64_t cookie, bool with_attributes,
                      const std::function<bool(const ListedEntry&)>& visit) const {
  return impl_->List(directory, cookie, with_attributes, visit);
}
Result<std::optional<std::string>> FileTree::GetXattr(NodeId node, std::string_view name) const {
  return impl_->GetXattr(node, name);
}
Result<std::vector<std::string>> FileTree::ListXattrs(NodeId node) const {
  return impl_->ListXattrs(node);
}
Result<size_t> FileTree::Read(NodeId node, uint64_t offset, std::span<std::byte> out) const {
  return impl_->Read(node, offset, out);
}
Result<uint64_t> FileTree::SeekDataOrHole(NodeId node, uint64_t offset, bool hole) const {
  return impl_->SeekDataOrHole(node, offset, hole);
}
FileSystemTotals FileTree::Totals(NodeId node) const {
  return impl_->Totals(node);
}

}  // namespace tarn::dataset

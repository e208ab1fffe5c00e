// Extended attributes: what Tarn says about a file or directory (user.tarn.*), and what the member brought
// along (pax SCHILY.xattr.*, LIBARCHIVE.xattr.*). Which ones are shown: file_tree.h.
#include <algorithm>
#include <utility>

#include "dataset/file_tree_impl.h"

namespace tarn::dataset {
namespace {

constexpr std::string_view kOwnPrefix = "user.tarn.";

std::string GenerationName(const index::GenerationFacts& facts) {
  return facts.dataset + "@" + std::to_string(facts.generation);
}

// A member cannot speak in Tarn's name, and system.* would be acted upon: POSIX ACLs stand there.
bool IsShown(std::string_view name) {
  return !name.starts_with(kOwnPrefix) &&
         (name.starts_with("user.") || name.starts_with("trusted.") || name.starts_with("security."));
}

// xattr(7): only regular files and directories have user.*.
bool MayHaveUserXattrs(tar::MemberType type) {
  return type == tar::MemberType::kRegular || type == tar::MemberType::kContiguous ||
         type == tar::MemberType::kDirectory;
}

}  // namespace

Result<FileTree::Impl::Xattrs> FileTree::Impl::XattrsOf(NodeId node) const {
  return node.IsDirectory() ? DirectoryXattrs(node) : FileXattrs(node);
}

void FileTree::Impl::AppendMemberXattrs(index::MemberRecord* member, Xattrs* xattrs) {
  for (auto& [name, value] : member->xattrs) {
    const auto has_name = [&name = name](const auto& xattr) { return xattr.first == name; };
    if (!IsShown(name) || std::any_of(xattrs->begin(), xattrs->end(), has_name)) continue;
    if (name.starts_with("user.") && !MayHaveUserXattrs(member->type)) continue;
    xattrs->emplace_back(std::move(name), std::move(value));
  }
}

Result<FileTree::Impl::Xattrs> FileTree::Impl::DirectoryXattrs(NodeId node) const {
  TARN_ASSIGN_OR_RETURN(const Directory directory, ResolveDirectory(node));
  const index::GenerationFacts& facts = directory.generation->facts();
  Xattrs xattrs;
  xattrs.emplace_back("user.tarn.generation", GenerationName(facts));
  if (directory.archive == nullptr) {
    if (directory.number == 0) xattrs.emplace_back("user.tarn.digest", facts.digest.ToHex());
    return xattrs;
  }
  xattrs.emplace_back("user.tarn.archive", directory.archive->row.path);
  xattrs.emplace_back("user.tarn.archive_id", directory.archive->row.id.ToString());
  index::DirectoryRecord record;
  TARN_RETURN_IF_ERROR(RequireDirectory(*directory.archive, directory.number, &record));
  if (record.ordinal != tar::kNoOrdinal) {
    index::MemberRecord member;
    TARN_RETURN_IF_ERROR(RequireMember(*directory.archive, record.ordinal, &member));
    AppendMemberXattrs(&member, &xattrs);
  }
  return xattrs;
}

Result<FileTree::Impl::Xattrs> FileTree::Impl::FileXattrs(NodeId node) const {
  TARN_ASSIGN_OR_RETURN(const File file, ResolveFile(node));
  const ArchiveId& id = file.file->row.id;
  Xattrs xattrs;
  if (file.whole) {
    xattrs.emplace_back("user.tarn.archive_id", id.ToString());
    xattrs.emplace_back("user.tarn.data_offset", "0");
    xattrs.emplace_back("user.tarn.size", std::to_string(id.size));
    return xattrs;
  }
  index::MemberRecord member;
  TARN_RETURN_IF_ERROR(ReadMember(node, file, &member));
  if (MayHaveUserXattrs(member.type)) {
    xattrs.emplace_back("user.tarn.archive_id", id.ToString());
    if (member.extents.size() == 1 && member.extents[0].archive_offset != tar::Extent::kHole) {
      xattrs.emplace_back("user.tarn.data_offset", std::to_string(member.extents[0].archive_offset));
    }
    xattrs.emplace_back("user.tarn.size", std::to_string(member.logical_size));
  }
  AppendMemberXattrs(&member, &xattrs);
  return xattrs;
}

Result<std::optional<std::string>> FileTree::Impl::GetXattr(NodeId node, std::string_view name) const {
  // Asked for with every `ls -l`, never there: POSIX ACLs and their kin are answered without looking.
  const std::optional<std::string> nothing;
  if (!name.starts_with(kOwnPrefix) && !IsShown(name)) return nothing;
  TARN_ASSIGN_OR_RETURN(Xattrs xattrs, XattrsOf(node));
  for (auto& [own_name, value] : xattrs) {
    if (own_name == name) return std::optional(std::move(value));
  }
  return nothing;
}

Result<std::vector<std::string>> FileTree::Impl::ListXattrs(NodeId node) const {
  TARN_ASSIGN_OR_RETURN(Xattrs xattrs, XattrsOf(node));
  std::vector<std::string> names;
  names.reserve(xattrs.size());
  for (auto& [name, value] : xattrs) names.push_back(std::move(name));
  return names;
}

}  // namespace tarn::dataset

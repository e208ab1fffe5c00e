// Directories in order, and where to go on.
//
// A cookie is a number that follows from the name it stands behind and from nothing else: any server of the
// index gives and takes the same ones. Low four bits: what the number above them counts.
//
//     8   ordinal of the member that has the name (hard links: the link's own)
//     9   directory number, within its archive, of a directory that no member names
//     10  tree directory number
//     11  archive number, of an archive or a loose file
//
// To go on, the row that the number leads to gives the name, and the cursor seeks to it: O(log n), no state.
// Cookies are 8 and more: callers have 1 to 7 for "." and "..".
#include <sys/stat.h>

#include "dataset/attributes.h"
#include "dataset/file_tree_impl.h"

namespace tarn::dataset {
namespace {

enum class CookieKind : uint8_t { kMember = 8, kMadeUp = 9, kTreeDirectory = 10, kFile = 11 };

constexpr unsigned kKindBits = 4;

uint64_t MakeCookie(CookieKind kind, uint32_t number) {
  return uint64_t{number} << kKindBits | static_cast<uint64_t>(kind);
}

CookieKind KindOf(uint64_t cookie) {
  return static_cast<CookieKind>(cookie & ((1U << kKindBits) - 1));
}

// Numbers are 32 bits; a cookie that claims more was never given.
bool HasNumber(uint64_t cookie) {
  return cookie >> kKindBits <= UINT32_MAX;
}

uint32_t NumberOf(uint64_t cookie) {
  return static_cast<uint32_t>(cookie >> kKindBits);
}

uint64_t CookieOf(const index::DentryRecord& dentry) {
  return dentry.own_ordinal != tar::kNoOrdinal ? MakeCookie(CookieKind::kMember, dentry.own_ordinal)
                                               : MakeCookie(CookieKind::kMadeUp, dentry.child_directory);
}

uint64_t CookieOf(const index::TreeDentryRecord& dentry) {
  return MakeCookie(
      dentry.kind == index::TreeDentryKind::kDirectory ? CookieKind::kTreeDirectory : CookieKind::kFile,
      dentry.number);
}

Status NoSuchCookie(uint64_t cookie) {
  return Status(ErrorCode::kInvalidArgument, "no cookie " + std::to_string(cookie) + " of this directory");
}

}  // namespace

Result<std::string> FileTree::Impl::NameOfTreeCookie(const Directory& directory, uint64_t cookie) const {
  if (cookie == 0) return std::string();
  const index::GenerationReader& reader = directory.generation->reader();
  if (HasNumber(cookie) && KindOf(cookie) == CookieKind::kTreeDirectory && NumberOf(cookie) != 0) {
    index::TreeDirectoryRecord record;
    TARN_ASSIGN_OR_RETURN(const bool there, reader.GetTreeDirectory(NumberOf(cookie), &record));
    if (there && record.parent == directory.number) return std::move(record.name);
  } else if (HasNumber(cookie) && KindOf(cookie) == CookieKind::kFile && NumberOf(cookie) <= kMaxArchive) {
    TARN_ASSIGN_OR_RETURN(const AttachedFile* const file, directory.generation->Find(NumberOf(cookie)));
    if (file != nullptr && file->row.tree_directory == directory.number) return file->row.shown_name;
  }
  return NoSuchCookie(cookie);
}

Result<std::string> FileTree::Impl::NameOfArchiveCookie(const Directory& directory, uint64_t cookie) const {
  if (cookie == 0) return std::string();
  const AttachedFile& archive = *directory.archive;
  const index::GenerationReader& reader = directory.generation->reader();
  if (HasNumber(cookie) && KindOf(cookie) == CookieKind::kMember) {
    index::MemberRecord member;
    TARN_ASSIGN_OR_RETURN(const bool there, reader.GetMember(archive.row.id, archive.facts.defaults,
                                                             NumberOf(cookie), &member));
    if (there && member.directory == directory.number) return std::move(member.name);
  } else if (HasNumber(cookie) && KindOf(cookie) == CookieKind::kMadeUp && NumberOf(cookie) != 0) {
    index::DirectoryRecord record;
    TARN_ASSIGN_OR_RETURN(const bool there, reader.GetDirectory(archive.row.id, NumberOf(cookie), &record));
    if (there && record.parent == directory.number) return std::move(record.name);
  }
  return NoSuchCookie(cookie);
}

Status FileTree::Impl::List(NodeId node, uint64_t cookie, bool with_attributes,
                            const std::function<bool(const ListedEntry&)>& visit) const {
  TARN_ASSIGN_OR_RETURN(const Directory directory, ResolveDirectory(node));
  return directory.archive == nullptr ? ListTree(directory, cookie, with_attributes, visit)
                                      : ListArchive(directory, cookie, with_attributes, visit);
}

Result<size_t> FileTree::Impl::LookAhead(const AttachedGeneration& generation,
                                         index::TreeDentryCursor* scout) const {
  constexpr size_t kAtOnce = 128;  // about as many as one answer to the kernel holds
  std::vector<ArchiveBytes::Archive*> archives;
  std::string_view name;
  index::TreeDentryRecord dentry;
  size_t names = 0;
  for (; names < kAtOnce; ++names) {
    TARN_ASSIGN_OR_RETURN(const bool more, scout->Next(&name, &dentry));
    if (!more) break;
    if (dentry.kind == index::TreeDentryKind::kDirectory) continue;
    TARN_ASSIGN_OR_RETURN(const AttachedFile* const file, RequireFile(generation, dentry.number));
    archives.push_back(file->bytes);
  }
  bytes_->LookAhead(archives);
  return names;
}

Status FileTree::Impl::ListTree(const Directory& directory, uint64_t cookie, bool with_attributes,
                                const std::function<bool(const ListedEntry&)>& visit) const {
  const AttachedGeneration& generation = *directory.generation;
  TARN_ASSIGN_OR_RETURN(const std::string after, NameOfTreeCookie(directory, cookie));
  const auto cursor = generation.reader().TreeDentries(directory.number);
  TARN_RETURN_IF_ERROR(cursor->Seek(after));
  // Goes before the other one and looks at the archives.
  const auto scout = with_attributes ? generation.reader().TreeDentries(directory.number) : nullptr;
  if (scout != nullptr) TARN_RETURN_IF_ERROR(scout->Seek(after));
  size_t looked_at = 0;
  std::string_view name;
  index::TreeDentryRecord dentry;
  while (true) {
    if (scout != nullptr && looked_at == 0) {
      TARN_ASSIGN_OR_RETURN(looked_at, LookAhead(generation, scout.get()));
    }
    TARN_ASSIGN_OR_RETURN(const bool more, cursor->Next(&name, &dentry));
    if (!more) return Status::Ok();
    if (looked_at > 0) --looked_at;
    ListedEntry entry{.name = name, .attributes = {}, .cookie = CookieOf(dentry)};
    if (with_attributes) {
      TARN_ASSIGN_OR_RETURN(entry.attributes, OfTreeDentry(generation, dentry));
    } else if (dentry.kind == index::TreeDentryKind::kDirectory) {
      entry.attributes = TypeOnly(TreeNode(generation, dentry.number), S_IFDIR);
    } else {
      TARN_ASSIGN_OR_RETURN(const AttachedFile* const file, RequireFile(generation, dentry.number));
      entry.attributes = dentry.kind == index::TreeDentryKind::kArchive
                             ? TypeOnly(DirectoryNode(generation, *file, tar::kRootDirectory), S_IFDIR)
                             : TypeOnly(FileNode(*file, 0), S_IFREG);
    }
    if (!visit(entry)) return Status::Ok();
  }
}

Status FileTree::Impl::ListArchive(const Directory& directory, uint64_t cookie, bool with_attributes,
                                   const std::function<bool(const ListedEntry&)>& visit) const {
  const AttachedGeneration& generation = *directory.generation;
  const AttachedFile& archive = *directory.archive;
  const index::GenerationReader& reader = generation.reader();
  TARN_ASSIGN_OR_RETURN(const std::string after, NameOfArchiveCookie(directory, cookie));
  const auto cursor = reader.Dentries(archive.row.id, directory.number);
  TARN_RETURN_IF_ERROR(cursor->Seek(after));
  std::unique_ptr<index::MemberCursor> members;
  io::FileAccess access;
  if (with_attributes) {
    members = reader.Members(archive.row.id, archive.facts.defaults);
    TARN_ASSIGN_OR_RETURN(access, bytes_->Access(archive.bytes));
  }
  std::string_view name;
  index::DentryRecord dentry;
  index::MemberRecord member;
  while (true) {
    TARN_ASSIGN_OR_RETURN(const bool more, cursor->Next(&name, &dentry));
    if (!more) return Status::Ok();
    ListedEntry entry{.name = name, .attributes = {}, .cookie = CookieOf(dentry)};
    const bool is_directory = dentry.type == tar::MemberType::kDirectory;
    if (!with_attributes) {
      entry.attributes = TypeOnly(is_directory ? DirectoryNode(generation, archive, dentry.child_directory)
                                               : FileNode(archive, dentry.target_ordinal),
                                  FileTypeBits(dentry.type));
    } else if (is_directory) {
      TARN_ASSIGN_OR_RETURN(entry.attributes,
                            OfArchiveDirectory(generation, archive, access, dentry.child_directory));
    } else {
      TARN_ASSIGN_OR_RETURN(const bool there, members->Get(dentry.target_ordinal, &member));
      if (!there) TARN_RETURN_IF_ERROR(RequireMember(archive, dentry.target_ordinal, &member));
      entry.attributes = OfMember(archive, access, dentry.target_ordinal, member);
    }
    if (!visit(entry)) return Status::Ok();
  }
}

}  // namespace tarn::dataset

// The list of members as the index has it: paths as a mount of the generation shows them.
#include <memory>
#include <utility>

#include "bench/member_list.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {

class IndexedListBuilder {
 public:
  IndexedListBuilder(std::shared_ptr<const index::GenerationReader> reader, std::string dataset_directory)
      : reader_(std::move(reader)), dataset_directory_(std::move(dataset_directory)) {}

  Result<MemberList> Build(const std::string& root_uuid) {
    const index::GenerationFacts& facts = reader_->facts();
    list_.name_ = facts.dataset + "@" + std::to_string(facts.generation);
    list_.digest_ = facts.digest.ToHex();
    list_.index_uuid_ = root_uuid;
    TARN_RETURN_IF_ERROR(
        reader_->ForEachManifestRow([this](const index::ManifestRow& row) { return AddRow(row); }));
    return std::move(list_);
  }

 private:
  Status AddRow(const index::ManifestRow& row) {
    if (row.kind == index::ManifestKind::kQuarantined) return Status::Ok();
    TARN_ASSIGN_OR_RETURN(const std::string place, TreePath(row.tree_directory));
    const uint32_t archive = list_.AddArchive(io::JoinPath(dataset_directory_, row.path));
    if (row.kind == index::ManifestKind::kLooseFile) {
      list_.AddTarget(archive, list_.AddDirectory(place), row.shown_name, 0, row.id.size);
      return Status::Ok();
    }
    return AddMembers(row, archive, io::JoinPath(place, row.shown_name));
  }

  Status AddMembers(const index::ManifestRow& row, uint32_t archive, const std::string& shown) {
    index::ArchiveFacts facts;
    TARN_ASSIGN_OR_RETURN(const bool found, reader_->GetArchiveFacts(row.id, &facts));
    if (!found) return Status(ErrorCode::kCorrupt, "the index has no facts of '" + row.path + "'");
    std::vector<int64_t> numbers(facts.directories, -1);  // of the archive's directories in the list
    const auto cursor = reader_->Members(row.id, facts.defaults);
    index::MemberRecord member;
    for (uint64_t ordinal = 0; ordinal < facts.members; ++ordinal) {
      TARN_ASSIGN_OR_RETURN(const bool there, cursor->Get(static_cast<uint32_t>(ordinal), &member));
      if (!there || !IsWhole(member) || member.directory >= numbers.size()) continue;
      int64_t& number = numbers[member.directory];
      if (number < 0) {
        TARN_ASSIGN_OR_RETURN(const std::string path, ArchivePath(row.id, member.directory));
        number = list_.AddDirectory(io::JoinPath(shown, path));
      }
      list_.AddTarget(archive, static_cast<uint32_t>(number), member.name,
                      static_cast<uint64_t>(member.extents[0].archive_offset), member.logical_size);
    }
    return Status::Ok();
  }

  // A file that is shown under its own name and lies in one piece.
  static bool IsWhole(const index::MemberRecord& member) {
    const bool is_file =
        member.type == tar::MemberType::kRegular || member.type == tar::MemberType::kContiguous;
    return is_file && member.links > 0 && member.extents.size() == 1 && member.extents[0].archive_offset >= 0;
  }

  Result<std::string> ArchivePath(const ArchiveId& id, uint32_t directory) const {
    std::string path;
    while (directory != tar::kRootDirectory) {
      index::DirectoryRecord record;
      TARN_ASSIGN_OR_RETURN(const bool found, reader_->GetDirectory(id, directory, &record));
      if (!found) return Status(ErrorCode::kCorrupt, "the index lacks a directory of " + id.ToString());
      path = io::JoinPath(record.name, path);
      directory = record.parent;
    }
    return path;
  }

  Result<std::string> TreePath(uint32_t directory) const {
    std::string path;
    while (directory != 0) {
      index::TreeDirectoryRecord record;
      TARN_ASSIGN_OR_RETURN(const bool found, reader_->GetTreeDirectory(directory, &record));
      if (!found) return Status(ErrorCode::kCorrupt, "the index lacks a directory of the tree");
      path = io::JoinPath(record.name, path);
      directory = record.parent;
    }
    return path;
  }

  std::shared_ptr<const index::GenerationReader> reader_;
  std::string dataset_directory_;
  MemberList list_;
};

Result<MemberList> MemberList::FromIndex(const std::string& index_root, const std::string& dataset,
                                         const std::string& source) {
  TARN_ASSIGN_OR_RETURN(const auto root, index::IndexRoot::Open(index_root));
  TARN_ASSIGN_OR_RETURN(const auto reference, index::DatasetReference::Parse(dataset));
  TARN_ASSIGN_OR_RETURN(const uint32_t generation, root->Resolve(reference));
  TARN_ASSIGN_OR_RETURN(auto reader,
                        index::GenerationReader::Open(root->GenerationPath(reference.name, generation)));
  const std::string below = io::JoinPath(source, reader->facts().source_path);
  const bool is_root = io::IsDirectory(below);
  TARN_ASSIGN_OR_RETURN(MemberList list,
                        IndexedListBuilder(std::move(reader), is_root ? below : source).Build(root->uuid()));
  if (list.targets_.empty())
    return Status(ErrorCode::kNotFound, "there are no files to read in " + list.name());
  if (!io::Exists(list.archives().front())) {
    return Status(ErrorCode::kNotFound, "expected '" + list.archives().front() + "', found nothing there")
        .WithHint("--source is the source root, or the directory of the dataset itself");
  }
  return list;
}

}  // namespace tarn::bench

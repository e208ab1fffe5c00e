// Builds a generation in passes, each of which leaves something behind that is frozen from there on:
//
//     sort by path         the order of everything below, whatever order the scan had
//     number               each file's archive number, kept from the previous generation where it can be
//     raise the tree       directories between archives, their numbers
//     name                 what each file is called in it
//     lay out directories  where the directories of each archive start in the generation's numbers
//     sum up               facts and digest
#include "tarn/dataset/generation_builder.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "dataset/shown_names.h"
#include "tarn/base/bytes.h"
#include "tarn/base/version.h"
#include "tarn/dataset/node_id.h"
#include "tarn/digest/archive_digester.h"
#include "tarn/io/filesystem.h"

namespace tarn::dataset {
namespace {

using index::ManifestKind;
using index::ManifestRow;
using index::TreeDentryKind;

Status DoesNotFit(const std::string& what, uint64_t found, uint64_t most) {
  return Status(ErrorCode::kUnsupported, what + ": " + std::to_string(found) +
                                             " do not fit a node id, which numbers " + std::to_string(most))
      .WithHint("split the dataset: publish its parts under names of their own");
}

// A path that names a file below a directory and nothing else.
bool IsRelativePath(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view component = path.substr(0, slash);
    if (component.empty() || component == "." || component == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

class Builder {
 public:
  Builder(const GenerationPlan& plan, std::vector<PublishedFile> files)
      : plan_(plan), files_(std::move(files)) {}

  Result<BuiltGeneration> Build(const index::GenerationReader* previous) {
    PreviousNumbers numbers;
    if (previous != nullptr) {
      TARN_RETURN_IF_ERROR(CheckFollows(*previous));
      numbers.next_number = previous->facts().next_number;
      TARN_RETURN_IF_ERROR(previous->ForEachManifestRow([&numbers](const ManifestRow& row) {
        numbers.rows.push_back(row);
        return Status::Ok();
      }));
    }
    return Build(numbers);
  }

  Result<BuiltGeneration> Build(const PreviousNumbers& previous) {
    TARN_RETURN_IF_ERROR(CheckPlan());
    TARN_RETURN_IF_ERROR(SortFiles());
    TARN_RETURN_IF_ERROR(NumberFiles(previous));
    TARN_RETURN_IF_ERROR(RaiseTree());
    TARN_RETURN_IF_ERROR(NameFiles());
    TARN_RETURN_IF_ERROR(LayOutDirectories());
    SumUp();
    return std::move(built_);
  }

 private:
  Status CheckFollows(const index::GenerationReader& previous) const;
  Status CheckPlan() const;
  Status SortFiles();
  Status NumberFiles(const PreviousNumbers& previous);
  Status RaiseTree();
  Status NameFiles();
  void Show(const ManifestRow& row);
  Status LayOutDirectories();
  void SumUp();

  const GenerationPlan& plan_;
  std::vector<PublishedFile> files_;
  std::vector<ManifestRow> rows_;  // of files_, in their order
  uint32_t next_number_ = 1;
  std::map<std::string, uint32_t, std::less<>> directories_;  // path -> tree directory number
  std::vector<std::set<std::string, std::less<>>> taken_;     // names, by tree directory
  BuiltGeneration built_;
};

Status Builder::CheckPlan() const {
  if (plan_.dataset_number == 0 || plan_.dataset_number > kMaxDataset) {
    return DoesNotFit("datasets of one index root", plan_.dataset_number, kMaxDataset);
  }
  if (plan_.generation == 0 || plan_.generation > kMaxGeneration) {
    return DoesNotFit("generations of dataset '" + plan_.dataset + "'", plan_.generation, kMaxGeneration);
  }
  return Status::Ok();
}

Status Builder::CheckFollows(const index::GenerationReader& previous) const {
  const index::GenerationFacts& facts = previous.facts();
  if (facts.dataset_number == plan_.dataset_number && facts.generation < plan_.generation)
    return Status::Ok();
  return Status(ErrorCode::kInternal, "generation " + std::to_string(plan_.generation) +
                                          " of dataset number " + std::to_string(plan_.dataset_number) +
                                          " cannot follow generation " + std::to_string(facts.generation) +
                                          " of dataset number " + std::to_string(facts.dataset_number));
}

Status Builder::SortFiles() {
  std::sort(files_.begin(), files_.end(),
            [](const PublishedFile& a, const PublishedFile& b) { return a.path < b.path; });
  for (size_t i = 0; i < files_.size(); ++i) {
    const PublishedFile& file = files_[i];
    if (!IsRelativePath(file.path)) {
      return Status(ErrorCode::kInvalidArgument,
                    "'" + EscapeName(file.path) + "' is no path below a dataset's directory");
    }
    if (i > 0 && files_[i - 1].path == file.path) {
      return Status(ErrorCode::kInvalidArgument, "'" + EscapeName(file.path) + "' is listed twice");
    }
    ManifestRow row;
    row.path = file.path;
    row.kind = file.kind;
    row.id = file.id;
    row.hint = file.hint;
    row.access = file.access;
    if (file.kind != ManifestKind::kLooseFile) {
      row.directories = file.facts.directories;
      row.members = file.facts.members;
      row.warnings = file.facts.warnings;
      row.errors = file.facts.errors;
      if (row.members > uint64_t{kMaxOrdinal} + 1) {
        return DoesNotFit("members of '" + EscapeName(file.path) + "'", row.members,
                          uint64_t{kMaxOrdinal} + 1);
      }
    }
    rows_.push_back(std::move(row));
  }
  return Status::Ok();
}

// A number stands for the bytes of one ArchiveId seen in one way, for good: kernels keep pages by it. A loose
// file and a tar of the same bytes differ (ordinal 0 is the whole of one, the first member of the other).
Status Builder::NumberFiles(const PreviousNumbers& previous) {
  struct Content {
    ArchiveId id;
    bool loose;
    bool operator==(const Content&) const = default;
  };
  struct Hash {
    size_t operator()(const Content& content) const noexcept {
      return std::hash<ArchiveId>()(content.id) * 2 + (content.loose ? 1 : 0);
    }
  };
  const auto content_of = [](const ManifestRow& row) {
    return Content{row.id, row.kind == ManifestKind::kLooseFile};
  };
  std::unordered_map<Content, std::vector<uint32_t>, Hash> free;  // numbers whose path no longer holds them
  next_number_ = std::max(next_number_, previous.next_number);
  for (const ManifestRow& old : previous.rows) {
    next_number_ = std::max(next_number_, old.number + 1);
    const auto same_path =
        std::lower_bound(rows_.begin(), rows_.end(), old.path,
                         [](const ManifestRow& row, const std::string& path) { return row.path < path; });
    if (same_path != rows_.end() && same_path->path == old.path &&
        content_of(*same_path) == content_of(old)) {
      same_path->number = old.number;
    } else {
      free[content_of(old)].push_back(old.number);
    }
  }
  for (auto& [content, numbers] : free) std::sort(numbers.begin(), numbers.end(), std::greater<>());
  for (ManifestRow& row : rows_) {
    if (row.number != 0) continue;
    const auto moved = free.find(content_of(row));
    if (moved != free.end() && !moved->second.empty()) {
      row.number = moved->second.back();
      moved->second.pop_back();
    } else if (next_number_ > kMaxArchive) {
      return DoesNotFit("archives and loose files that dataset '" + plan_.dataset + "' ever had",
                        next_number_, kMaxArchive);
    } else {
      row.number = next_number_++;
    }
  }
  return Status::Ok();
}

// Numbers follow the order of paths, in which a directory stands before what it holds.
Status Builder::RaiseTree() {
  directories_.emplace("", 0);
  for (const ManifestRow& row : rows_) {
    if (row.kind == ManifestKind::kQuarantined) continue;
    for (std::string_view path = io::DirName(row.path); !path.empty(); path = io::DirName(path)) {
      if (!directories_.emplace(path, 0).second) break;
    }
  }
  auto& directories = built_.rows.directories;
  directories.resize(directories_.size());
  taken_.resize(directories_.size());
  uint32_t next = 0;
  for (auto& [path, number] : directories_) {
    number = next++;
    if (number == 0) continue;
    const uint32_t parent = directories_.find(io::DirName(path))->second;
    const std::string name(io::BaseName(path));
    directories[number].parent = parent;
    directories[number].name = name;
    directories[parent].entries++;
    directories[parent].subdirectories++;
    taken_[parent].insert(name);
    built_.rows.dentries.push_back({parent, name, {TreeDentryKind::kDirectory, number}});
  }
  return Status::Ok();
}

// Who gives way to whom: see shown_names.h.
Status Builder::NameFiles() {
  std::vector<ManifestRow*> archives;
  std::vector<ManifestRow*> suffixed_archives;
  for (ManifestRow& row : rows_) {
    if (row.kind == ManifestKind::kQuarantined) continue;
    row.tree_directory = directories_.find(io::DirName(row.path))->second;
    const std::string_view file_name = io::BaseName(row.path);
    if (row.kind == ManifestKind::kLooseFile) {
      row.shown_name = file_name;
      if (!taken_[row.tree_directory].insert(row.shown_name).second) {
        return Status(ErrorCode::kInvalidArgument,
                      "'" + EscapeName(row.path) + "' is listed as a file and as a directory");
      }
      Show(row);
    } else {
      (ArchiveDirectoryName(file_name) == file_name ? archives : suffixed_archives).push_back(&row);
    }
  }
  for (const std::vector<ManifestRow*>* turn : {&archives, &suffixed_archives}) {
    for (ManifestRow* row : *turn) {
      TARN_ASSIGN_OR_RETURN(row->shown_name,
                            NameArchive(row->path, &taken_[row->tree_directory], &built_.notes));
      Show(*row);
    }
  }
  return Status::Ok();
}

// Puts a named file into its directory.
void Builder::Show(const ManifestRow& row) {
  const bool is_archive = row.kind == ManifestKind::kArchive;
  index::TreeDirectoryRecord& directory = built_.rows.directories[row.tree_directory];
  directory.entries++;
  if (is_archive) directory.subdirectories++;
  built_.rows.dentries.push_back(
      {row.tree_directory,
       row.shown_name,
       {is_archive ? TreeDentryKind::kArchive : TreeDentryKind::kLooseFile, row.number}});
}

// From here on the rows stand in the order of their numbers.
Status Builder::LayOutDirectories() {
  std::sort(rows_.begin(), rows_.end(),
            [](const ManifestRow& a, const ManifestRow& b) { return a.number < b.number; });
  uint64_t next = built_.rows.directories.size();
  for (ManifestRow& row : rows_) {
    if (row.kind != ManifestKind::kArchive) {
      row.directories = 0;
      continue;
    }
    row.first_directory = next;
    next += row.directories;
  }
  if (next > kMaxDirectory + 1) {
    return DoesNotFit("directories of dataset '" + plan_.dataset + "'", next, kMaxDirectory + 1);
  }
  built_.rows.facts.directories = next;
  return Status::Ok();
}

void Builder::SumUp() {
  index::GenerationFacts& facts = built_.rows.facts;
  facts.format_version = kIndexFormatVersion;
  facts.root_uuid = plan_.root_uuid;
  facts.dataset = plan_.dataset;
  facts.dataset_number = plan_.dataset_number;
  facts.generation = plan_.generation;
  facts.created = plan_.created;
  facts.writer = plan_.writer;
  facts.source_path = plan_.source_path;
  facts.next_number = next_number_;
  facts.tree_directories = static_cast<uint32_t>(built_.rows.directories.size());
  for (const ManifestRow& row : rows_) {
    switch (row.kind) {
      case ManifestKind::kArchive:
        facts.archives++;
        facts.members += row.members;
        facts.bytes += row.id.size;
        break;
      case ManifestKind::kLooseFile:
        facts.loose_files++;
        facts.bytes += row.id.size;
        break;
      case ManifestKind::kQuarantined:
        facts.quarantined++;
        break;
    }
  }
  facts.digest = DatasetDigest(rows_, facts.view);
  std::sort(built_.notes.begin(), built_.notes.end());
  built_.rows.manifest = std::move(rows_);
}

}  // namespace

Result<BuiltGeneration> BuildGeneration(const GenerationPlan& plan, std::vector<PublishedFile> files,
                                        const index::GenerationReader* previous) {
  return Builder(plan, std::move(files)).Build(previous);
}

Result<BuiltGeneration> BuildGeneration(const GenerationPlan& plan, std::vector<PublishedFile> files,
                                        const PreviousNumbers& previous) {
  return Builder(plan, std::move(files)).Build(previous);
}

Digest DatasetDigest(const std::vector<ManifestRow>& manifest, std::string_view view) {
  std::vector<const ManifestRow*> rows;
  rows.reserve(manifest.size());
  for (const ManifestRow& row : manifest) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(),
            [](const ManifestRow* a, const ManifestRow* b) { return a->path < b->path; });
  std::string canonical;
  for (const ManifestRow* row : rows) {
    AppendLengthPrefixed(&canonical, row->path);
    canonical += static_cast<char>(row->kind);
    row->id.AppendTo(&canonical);
  }
  AppendLengthPrefixed(&canonical, view);
  return digest::DigestOf(canonical);
}

}  // namespace tarn::dataset

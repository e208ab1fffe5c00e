#include "index/fsck_generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "index/key.h"
#include "tarn/base/bytes.h"

namespace tarn::index {
namespace {

bool IsShown(const ManifestRow& row) {
  return row.kind != ManifestKind::kQuarantined;
}

}  // namespace

void GenerationCheck::Row(std::string_view key, std::string_view value) {
  const auto kind = static_cast<RowKind>(key[ArchiveId::kEncodedBytes]);
  const std::string_view suffix = key.substr(kPrefixBytes);
  const auto number = [&suffix] { return ReadBigEndian32(suffix.data()); };
  const bool has_number = suffix.size() == sizeof(uint32_t);
  Status decoded;
  if (kind == RowKind::kGenerationFacts && suffix.empty()) {
    GenerationFacts facts;
    decoded = Decode(value, &facts);
    if (decoded.ok()) facts_ = std::move(facts);
  } else if (kind == RowKind::kTreeDentry && suffix.size() > sizeof(uint32_t)) {
    TreeName name{std::string(suffix.substr(sizeof(uint32_t))), {}};
    decoded = Decode(value, &name.record);
    if (decoded.ok()) names_[number()].push_back(std::move(name));
  } else if (kind == RowKind::kManifest && has_number) {
    ManifestRow row;
    decoded = Decode(value, &row);
    if (decoded.ok() && row.number != number()) {
      sink_->BadRow(key, "a manifest row says another number than its key", std::to_string(number()),
                    std::to_string(row.number));
    }
    if (decoded.ok()) manifest_.push_back(std::move(row));
  } else if (kind == RowKind::kTreeDirectory && has_number) {
    if (number() != directories_.size()) {
      sink_->BadRow(key, "rows of tree directories are missing", std::to_string(directories_.size()),
                    std::to_string(number()));
    }
    TreeDirectoryRecord record;
    decoded = Decode(value, &record);
    directories_.push_back(std::move(record));
  } else if (kind == RowKind::kDirectoryRange && suffix.size() == sizeof(uint64_t)) {
    DirectoryRangeRecord record;
    decoded = Decode(value, &record);
    if (decoded.ok()) ranges_.emplace(ReadBigEndian64(suffix.data()), record);
  } else {
    return sink_->BadRow(key, "a key that no writer makes");
  }
  if (!decoded.ok()) sink_->BadRow(key, decoded.message());
}

void GenerationCheck::Finish(const std::unordered_map<ArchiveId, ArchiveFacts>& archives,
                             const FsckOptions& options) {
  if (!facts_) return sink_->BadFile("the generation has no facts of its own");
  CheckFacts();
  CheckArchives(archives);
  CheckTree();
  CheckRanges();
  if (!options.dataset_digest) return;
  const Digest digest = options.dataset_digest(manifest_, facts_->view);
  if (digest != facts_->digest) {
    sink_->BadRow(Key(ArchiveId{}, RowKind::kGenerationFacts),
                  "the dataset digest is not that of the manifest", digest.ToHex(), facts_->digest.ToHex());
  }
}

void GenerationCheck::Compare(std::string_view what, uint64_t expected, uint64_t found) {
  if (expected == found) return;
  sink_->BadRow(Key(ArchiveId{}, RowKind::kGenerationFacts),
                fmt::format("the generation's facts have the wrong {}", what), std::to_string(expected),
                std::to_string(found));
}

void GenerationCheck::CheckFacts() {
  const auto compare_text = [this](std::string_view what, const std::string& expected,
                                   const std::string& found) {
    if (expected == found) return;
    sink_->BadRow(Key(ArchiveId{}, RowKind::kGenerationFacts),
                  fmt::format("the generation's facts have the wrong {}", what), EscapeName(expected),
                  EscapeName(found));
  };
  compare_text("root UUID", place_.root_uuid, facts_->root_uuid);
  compare_text("dataset", place_.dataset, facts_->dataset);
  if (place_.dataset_number) Compare("dataset number", *place_.dataset_number, facts_->dataset_number);
  Compare("generation", place_.generation, facts_->generation);
  // A migrated root keeps generations of older formats.
  if (facts_->format_version > place_.format_version) {
    Compare("format", place_.format_version, facts_->format_version);
  }
  uint64_t kinds[3] = {};
  uint64_t members = 0;
  uint64_t bytes = 0;
  uint64_t directories = directories_.size();
  for (const ManifestRow& row : manifest_) {
    ++kinds[static_cast<size_t>(row.kind)];
    if (!IsShown(row)) continue;
    bytes += row.id.size;
    members += row.kind == ManifestKind::kArchive ? row.members : 0;
    directories += row.kind == ManifestKind::kArchive ? row.directories : 0;
  }
  Compare("number of archives", kinds[0], facts_->archives);
  Compare("number of loose files", kinds[1], facts_->loose_files);
  Compare("number of quarantined archives", kinds[2], facts_->quarantined);
  Compare("number of members", members, facts_->members);
  Compare("number of bytes", bytes, facts_->bytes);
  Compare("number of tree directories", directories_.size(), facts_->tree_directories);
  Compare("number of directories", directories, facts_->directories);
}

const ManifestRow* GenerationCheck::RowOf(uint32_t number) const {
  const auto row = std::lower_bound(manifest_.begin(), manifest_.end(), number,
                                    [](const ManifestRow& a, uint32_t b) { return a.number < b; });
  return row != manifest_.end() && row->number == number ? &*row : nullptr;
}

void GenerationCheck::CheckArchives(const std::unordered_map<ArchiveId, ArchiveFacts>& archives) {
  std::set<std::string_view> paths;
  std::set<ArchiveId> named;
  for (const ManifestRow& row : manifest_) {
    const std::string key = Key(ArchiveId{}, RowKind::kManifest, row.number);
    named.insert(row.id);
    if (!paths.insert(row.path).second) {
      sink_->BadRow(key, fmt::format("path '{}' stands in the manifest twice", EscapeName(row.path)));
    }
    if (row.number == 0 || row.number >= facts_->next_number) {
      sink_->BadRow(key, fmt::format("'{}' has a number that was not dealt out", EscapeName(row.path)),
                    fmt::format("1 to {}", facts_->next_number - 1), std::to_string(row.number));
    }
    const auto facts = archives.find(row.id);
    if (facts == archives.end()) {
      sink_->BadRow(key, fmt::format("the rows of '{}' (archive {}) are missing", EscapeName(row.path),
                                     row.id.ToString()));
    } else {
      CheckArchive(row, facts->second);
    }
  }
  for (const auto& [id, facts] : archives) {
    if (named.contains(id)) continue;
    sink_->BadRow(Key(id, RowKind::kArchiveFacts),
                  fmt::format("rows of archive {}, which no path of the manifest has", id.ToString()));
  }
}

void GenerationCheck::CheckArchive(const ManifestRow& row, const ArchiveFacts& facts) {
  if (row.kind == ManifestKind::kLooseFile) return;  // another path may show the same bytes as an archive
  const auto compare = [&](std::string_view what, uint64_t expected, uint64_t found) {
    if (expected == found) return;
    sink_->BadRow(Key(ArchiveId{}, RowKind::kManifest, row.number),
                  fmt::format("the manifest has the wrong number of {} for '{}'", what, EscapeName(row.path)),
                  std::to_string(expected), std::to_string(found));
  };
  if (!facts.is_tar) {
    sink_->BadRow(Key(ArchiveId{}, RowKind::kManifest, row.number),
                  fmt::format("'{}' is shown as an archive, and its rows are those of a loose file",
                              EscapeName(row.path)));
    return;
  }
  compare("members", facts.members, row.members);
  compare("warnings", facts.warnings, row.warnings);
  compare("errors", facts.errors, row.errors);
  if (row.kind == ManifestKind::kArchive) compare("directories", facts.directories, row.directories);
}

// ---- The tree ---------------------------------------------------------------------------------------------

void GenerationCheck::CheckTree() {
  for (uint32_t number = 0; number < directories_.size(); ++number)
    CheckDirectory(number, directories_[number]);
  std::set<uint32_t> shown;
  for (const auto& [directory, names] : names_) {
    if (directory >= directories_.size()) {
      sink_->BadRow(
          Key(ArchiveId{}, RowKind::kTreeDentry, directory),
          fmt::format("{} names stand in tree directory {}, which is missing", names.size(), directory));
    }
    for (const TreeName& name : names) {
      CheckName(directory, name);
      if (name.record.kind != TreeDentryKind::kDirectory) shown.insert(name.record.number);
    }
  }
  for (const ManifestRow& row : manifest_) {
    if (IsShown(row) == shown.contains(row.number)) continue;
    sink_->BadRow(Key(ArchiveId{}, RowKind::kManifest, row.number),
                  fmt::format("'{}' {}", EscapeName(row.path),
                              IsShown(row) ? "has no name in the tree" : "is quarantined and has a name"));
  }
}

void GenerationCheck::CheckDirectory(uint32_t number, const TreeDirectoryRecord& record) {
  const std::string key = Key(ArchiveId{}, RowKind::kTreeDirectory, number);
  const auto compare = [&](std::string_view what, uint64_t expected, uint64_t found) {
    if (expected == found) return;
    sink_->BadRow(
        key, fmt::format("tree directory {} '{}' has the wrong {}", number, EscapeName(record.name), what),
        std::to_string(expected), std::to_string(found));
  };
  const auto found = names_.find(number);
  static const std::vector<TreeName> kNone;
  const std::vector<TreeName>& names = found == names_.end() ? kNone : found->second;
  const auto directories = std::count_if(names.begin(), names.end(), [](const TreeName& name) {
    return name.record.kind != TreeDentryKind::kLooseFile;
  });
  compare("number of names", names.size(), record.entries);
  compare("number of directories", static_cast<uint64_t>(directories), record.subdirectories);
  if (number == 0) return compare("parent", 0, record.parent);
  const auto parent = names_.find(record.parent);
  const bool named = parent != names_.end() &&
                     std::any_of(parent->second.begin(), parent->second.end(), [&](const TreeName& name) {
                       return name.name == record.name && name.record.kind == TreeDentryKind::kDirectory &&
                              name.record.number == number;
                     });
  if (!named || record.parent >= number) {
    sink_->BadRow(key, fmt::format("no name leads to tree directory {} '{}' in directory {}", number,
                                   EscapeName(record.name), record.parent));
  }
}

void GenerationCheck::CheckName(uint32_t directory, const TreeName& name) {
  const std::string key = Key(ArchiveId{}, RowKind::kTreeDentry, directory, name.name);
  const std::string shown = fmt::format("name '{}' in tree directory {}", EscapeName(name.name), directory);
  if (name.record.kind == TreeDentryKind::kDirectory) {
    const bool there = name.record.number < directories_.size() &&
                       directories_[name.record.number].parent == directory &&
                       directories_[name.record.number].name == name.name;
    if (!there) {
      sink_->BadRow(key, fmt::format("{} leads to tree directory {}, which is not of this name", shown,
                                     name.record.number));
    }
    return;
  }
  const ManifestRow* const row = RowOf(name.record.number);
  const auto kind =
      name.record.kind == TreeDentryKind::kArchive ? ManifestKind::kArchive : ManifestKind::kLooseFile;
  if (row == nullptr) {
    sink_->BadRow(key, fmt::format("{} leads to number {}, which the manifest does not have", shown,
                                   name.record.number));
  } else if (row->kind != kind || row->tree_directory != directory || row->shown_name != name.name) {
    sink_->BadRow(key,
                  fmt::format("{} leads to '{}', which is shown elsewhere", shown, EscapeName(row->path)));
  }
}

// The directories of archives lie behind those of the tree, without gaps.
void GenerationCheck::CheckRanges() {
  uint64_t next = directories_.size();
  for (const auto& [first, range] : ranges_) {
    const std::string key = DirectoryRangeKey(first);
    if (first != next) {
      sink_->BadRow(key, "directory numbers have a gap, or two owners", std::to_string(next),
                    std::to_string(first));
    }
    next = first + range.directories;
    const ManifestRow* const row = RowOf(range.number);
    if (row == nullptr || row->kind != ManifestKind::kArchive || row->first_directory != first ||
        row->directories != range.directories) {
      sink_->BadRow(key, fmt::format("directories {} to {} are not those of archive number {}", first,
                                     first + range.directories, range.number));
    }
  }
  Compare("end of its directory numbers", next, facts_->directories);
}

}  // namespace tarn::index

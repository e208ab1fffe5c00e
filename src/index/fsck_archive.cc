#include "index/fsck_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "index/key.h"
#include "tarn/base/bytes.h"

namespace tarn::index {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{128} << 10;  // DESIGN section 2
constexpr uint8_t kUnsaid = 255;
constexpr uint64_t kMostMembers = uint64_t{1} << 30;      // what a node id can number
constexpr uint64_t kMostDirectories = uint64_t{1} << 24;  // tar::TreeOptions

// Of a directory and a name in it; never 0.
uint64_t PlaceOf(uint32_t directory, std::string_view name) {
  const uint64_t hash = std::hash<std::string_view>()(name) * 31 + directory;
  return hash == 0 ? 1 : hash;
}

template <typename T>
T& Grow(std::vector<T>* values, uint64_t position, const T& unset) {
  if (position >= values->size()) values->resize(position + 1, unset);
  return (*values)[position];
}

uint64_t AddSaturating(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

std::string_view Suffix(std::string_view key) {
  return key.substr(std::min(key.size(), kPrefixBytes));
}

}  // namespace

void ArchiveCheck::Row(std::string_view key, std::string_view value) {
  const auto kind = static_cast<RowKind>(key[ArchiveId::kEncodedBytes]);
  if (kind == RowKind::kArchiveFacts) return FactsRow(key, value);
  if (!facts_ && members_ + dentries_ + chunk_rows_ + directories_ + findings_ == 0) {
    sink_->BadRow(key, fmt::format("archive {} has no facts", id_.ToString()));
  }
  if (facts_ && !facts_->is_tar && kind != RowKind::kChunkChecksums) {
    return sink_->BadRow(key, "a loose file has a row of an archive");
  }
  switch (kind) {
    case RowKind::kChunkChecksums:
      return ChunkRow(key, value);
    case RowKind::kDentry:
      return Dentry(key, value);
    case RowKind::kMember:
      return Member(key, value);
    case RowKind::kDirectory:
      return Directory(key, value);
    case RowKind::kFinding:
      return FindingRow(key, value);
    default:
      sink_->BadRow(key, "an unknown kind of row", "1 to 6", std::to_string(static_cast<int>(kind)));
  }
}

void ArchiveCheck::FactsRow(std::string_view key, std::string_view value) {
  ArchiveFacts facts;
  if (key.size() != kPrefixBytes) return sink_->BadRow(key, "a key that no writer makes");
  if (const Status decoded = Decode(value, &facts); !decoded.ok()) {
    return sink_->BadRow(key, decoded.message());
  }
  facts_ = std::move(facts);
}

bool ArchiveCheck::NumberIs(std::string_view key, uint64_t expected, std::string_view what) {
  const std::string_view suffix = Suffix(key);
  if (suffix.size() != sizeof(uint32_t)) {
    sink_->BadRow(key, "a key that no writer makes");
    return false;
  }
  const uint32_t number = ReadBigEndian32(suffix.data());
  if (number == expected) return true;
  sink_->BadRow(key, fmt::format("rows of {} are missing", what), std::to_string(expected),
                std::to_string(number));
  return true;
}

void ArchiveCheck::ChunkRow(std::string_view key, std::string_view value) {
  NumberIs(key, chunk_rows_, "chunk checksums");
  std::vector<uint64_t> checksums;
  if (const Status decoded = DecodeChunkRow(value, &checksums); !decoded.ok()) {
    return sink_->BadRow(key, decoded.message());
  }
  if (chunks_ != chunk_rows_ * kChunksPerRow) {
    sink_->BadRow(key, "the row of chunk checksums before this one is short",
                  std::to_string(chunk_rows_ * kChunksPerRow), std::to_string(chunks_));
  }
  ++chunk_rows_;
  chunks_ += checksums.size();
}

ArchiveCheck::Said* ArchiveCheck::DirectorySaid(uint32_t number) {
  if (number >= kMostDirectories) return nullptr;
  return &Grow(&directories_said_, number, Said{});
}

void ArchiveCheck::Dentry(std::string_view key, std::string_view value) {
  ++dentries_;
  const std::string_view suffix = Suffix(key);
  if (suffix.size() <= sizeof(uint32_t)) return sink_->BadRow(key, "a key that no writer makes");
  const uint32_t directory = ReadBigEndian32(suffix.data());
  const std::string_view name = suffix.substr(sizeof(uint32_t));
  DentryRecord dentry;
  if (const Status decoded = Decode(value, &dentry); !decoded.ok()) {
    return sink_->BadRow(key, decoded.message());
  }
  const std::string shown = fmt::format("name '{}' in directory {}", EscapeName(name), directory);
  if (name.find('/') != std::string_view::npos || name == "." || name == "..") {
    sink_->BadRow(key, shown + " is no name");
  }
  Said* const said = DirectorySaid(directory);
  if (said == nullptr) return sink_->BadRow(key, shown + " stands in a directory beyond all");
  ++said->entries;

  const bool is_directory = dentry.type == tar::MemberType::kDirectory;
  if (is_directory != (dentry.child_directory != tar::kNoDirectory)) {
    sink_->BadRow(key, shown + " is a directory and has no number, or has one and is none");
  }
  if (is_directory) {
    ++said->subdirectories;
    Said* const child = DirectorySaid(dentry.child_directory);  // `said` may have moved
    if (child == nullptr) return sink_->BadRow(key, shown + " leads to a directory beyond all");
    if (child->place != 0) {
      sink_->BadRow(key, fmt::format("{} leads to directory {}, which has another name too", shown,
                                     dentry.child_directory));
    }
    child->place = PlaceOf(directory, name);
    child->ordinal = dentry.own_ordinal;
  }
  if (dentry.own_ordinal == tar::kNoOrdinal) {
    if (!is_directory) sink_->BadRow(key, shown + " has no member and is no made-up directory");
    return;
  }
  if (dentry.own_ordinal >= kMostMembers || dentry.target_ordinal >= kMostMembers) {
    return sink_->BadRow(key, shown + " leads to a member beyond all");
  }
  Grow(&own_places_, dentry.own_ordinal, uint64_t{0}) = PlaceOf(directory, name);
  ++Grow(&names_, dentry.target_ordinal, uint32_t{0});
  Grow(&types_, dentry.target_ordinal, kUnsaid) = static_cast<uint8_t>(dentry.type);
}

void ArchiveCheck::Member(std::string_view key, std::string_view value) {
  if (!NumberIs(key, members_, "members")) return;
  const uint32_t ordinal = ReadBigEndian32(Suffix(key).data());
  members_ = uint64_t{ordinal} + 1;
  const Status decoded = Decode(value, facts_ ? facts_->defaults : MemberDefaults{}, &member_);
  if (!decoded.ok()) return sink_->BadRow(key, decoded.message());
  logical_bytes_ = AddSaturating(logical_bytes_, member_.logical_size);
  CheckPlace(key, ordinal, member_);
  CheckExtents(key, member_);
}

void ArchiveCheck::CheckPlace(std::string_view key, uint32_t ordinal, const MemberRecord& member) {
  const uint64_t place = ordinal < own_places_.size() ? own_places_[ordinal] : 0;
  if (place != 0 && place != PlaceOf(member.directory, member.name)) {
    sink_->BadRow(key, fmt::format("member {} says that it is '{}' in directory {}, and a name elsewhere "
                                   "leads to it",
                                   ordinal, EscapeName(member.name), member.directory));
  }
  const uint32_t names = ordinal < names_.size() ? names_[ordinal] : 0;
  const uint8_t type = ordinal < types_.size() ? types_[ordinal] : kUnsaid;
  if (names != 0 && type != static_cast<uint8_t>(member.type)) {
    sink_->BadRow(key, fmt::format("member {} is of another type than its name says", ordinal),
                  std::string(tar::MemberTypeName(static_cast<tar::MemberType>(type))),
                  std::string(tar::MemberTypeName(member.type)));
  }
  // What a hard link shows is counted at its target; the root has no name.
  const bool is_root = member.directory == tar::kRootDirectory && member.name.empty();
  if (member.type != tar::MemberType::kHardLink && !is_root && member.links != names) {
    sink_->BadRow(key,
                  fmt::format("member {} '{}' counts its names wrongly", ordinal, EscapeName(member.name)),
                  std::to_string(names), std::to_string(member.links));
  }
}

void ArchiveCheck::CheckExtents(std::string_view key, const MemberRecord& member) {
  uint64_t bytes = 0;
  for (const tar::Extent& extent : member.extents) {
    bytes = AddSaturating(bytes, extent.length);
    if (extent.archive_offset == tar::Extent::kHole || (facts_ && facts_->errors != 0)) continue;
    const auto offset = static_cast<uint64_t>(extent.archive_offset);
    if (AddSaturating(offset, extent.length) > id_.size) {
      sink_->BadRow(
          key, fmt::format("bytes of member '{}' lie behind the archive's end", EscapeName(member.name)),
          fmt::format("at most {}", id_.size), std::to_string(AddSaturating(offset, extent.length)));
    }
  }
  const bool is_file =
      member.type == tar::MemberType::kRegular || member.type == tar::MemberType::kContiguous;
  if (is_file && bytes != member.logical_size && !(facts_ && facts_->errors != 0)) {
    sink_->BadRow(key, fmt::format("the extents of member '{}' do not add up", EscapeName(member.name)),
                  std::to_string(member.logical_size), std::to_string(bytes));
  }
}

void ArchiveCheck::Directory(std::string_view key, std::string_view value) {
  if (!NumberIs(key, directories_, "directories")) return;
  const uint32_t number = ReadBigEndian32(Suffix(key).data());
  directories_ = uint64_t{number} + 1;
  DirectoryRecord directory;
  if (const Status decoded = Decode(value, &directory); !decoded.ok()) {
    return sink_->BadRow(key, decoded.message());
  }
  const Said said = number < directories_said_.size() ? directories_said_[number] : Said{};
  const auto compare = [&](std::string_view what, uint64_t expected, uint64_t found) {
    if (expected == found) return;
    sink_->BadRow(key,
                  fmt::format("directory {} '{}' has the wrong {}", number, EscapeName(directory.name), what),
                  std::to_string(expected), std::to_string(found));
  };
  compare("number of names", said.entries, directory.entries);
  compare("number of directories", said.subdirectories, directory.subdirectories);
  if (number == tar::kRootDirectory) return compare("parent", 0, directory.parent);
  if (said.place == 0) {
    // One that holds nothing may have been replaced by a later member of its name.
    if (said.entries == 0) return;
    sink_->BadRow(key, fmt::format("no name leads to directory {} '{}'", number, EscapeName(directory.name)));
  } else if (said.place != PlaceOf(directory.parent, directory.name)) {
    sink_->BadRow(key, fmt::format("directory {} says that it is '{}' in directory {}, and a name elsewhere "
                                   "leads to it",
                                   number, EscapeName(directory.name), directory.parent));
  } else {
    compare("member", said.ordinal, directory.ordinal);
  }
}

void ArchiveCheck::FindingRow(std::string_view key, std::string_view value) {
  NumberIs(key, findings_, "findings");
  ++findings_;
  tar::Finding finding;
  if (const Status decoded = Decode(value, &finding); !decoded.ok()) sink_->BadRow(key, decoded.message());
}

void ArchiveCheck::Compare(std::string_view what, uint64_t expected, uint64_t found) {
  if (expected == found) return;
  sink_->BadRow(Key(id_, RowKind::kArchiveFacts),
                fmt::format("archive {} has the wrong number of {}", id_.ToString(), what),
                std::to_string(expected), std::to_string(found));
}

std::optional<ArchiveFacts> ArchiveCheck::Finish() {
  Compare("chunk checksums", (id_.size + kChunkBytes - 1) / kChunkBytes, chunks_);
  if (!facts_ || !facts_->is_tar) return facts_;
  Compare("members", facts_->members, members_);
  Compare("names", facts_->dentries, dentries_);
  Compare("directories", facts_->directories, directories_);
  Compare("bytes of its members", facts_->logical_bytes, logical_bytes_);
  if (facts_->warnings + facts_->errors < findings_) {
    Compare("findings", facts_->warnings + facts_->errors, findings_);
  }
  if (names_.size() > members_) {
    Compare("members that names lead to", members_, names_.size());
  }
  if (directories_said_.size() > directories_) {
    Compare("directories that names lead to", directories_, directories_said_.size());
  }
  return facts_;
}

}  // namespace tarn::index

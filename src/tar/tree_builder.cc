// Names go to a sorter as they come and leave it by directory; directories stay in memory, because a path is
// resolved against them at every member; hard links stay too, because what they show is known only when all
// names were seen. A name that several members have is decided when its records pass by together.
//
// A record: directory (be32), name, NUL (no name holds one, and it sorts before every other byte), kind, then
// for a directory its number (be32), for a member its ordinal (be32), type and header offset (be64). So the
// directory of a name comes first and its members follow in archive order.
#include "tarn/tar/tree_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "tar/directory_table.h"
#include "tar/hard_links.h"
#include "tar/member_path.h"
#include "tarn/base/bytes.h"
#include "tarn/io/sorter.h"

namespace tarn::tar {
namespace {

constexpr char kDirectoryRecord = 0;
constexpr char kMemberRecord = 1;
constexpr size_t kLongestLink = 4095;  // bytes that readlink(2) can give

struct NameRecord {
  uint32_t directory = 0;
  std::string_view name;
  bool is_directory = false;
  uint32_t number = 0;  // of the child directory, or the member's ordinal
  MemberType type = MemberType::kRegular;
  uint64_t header_offset = 0;
};

NameRecord DecodeNameRecord(std::string_view bytes) {
  NameRecord record;
  record.directory = ReadBigEndian32(bytes.data());
  const size_t end = bytes.find('\0', 4);
  record.name = bytes.substr(4, end - 4);
  const char* rest = bytes.data() + end + 1;
  record.is_directory = rest[0] == kDirectoryRecord;
  record.number = ReadBigEndian32(rest + 1);
  if (!record.is_directory) {
    record.type = static_cast<MemberType>(rest[5]);
    record.header_offset = ReadBigEndian64(rest + 6);
  }
  return record;
}

}  // namespace

class TreeBuilder::Impl {
 public:
  Impl(TreeOptions options, FindingList* findings)
      : options_(std::move(options)),
        limits_{options_.path_bytes, options_.path_depth},
        findings_(findings),
        names_(options_.scratch_directory, "names", options_.memory_bytes / 16 * 7),
        fates_(options_.scratch_directory, "fates", options_.memory_bytes / 8) {}

  Status Add(const Member& member, Placement* placement);
  Status Finish(TreeVisitor* visitor);
  const Counts& counts() const { return counts_; }

 private:
  // What one name of one directory is made of, while its records pass by.
  struct Group {
    bool open = false;
    uint32_t directory = 0;
    std::string name;
    uint32_t child = kNoDirectory;  // the directory of this name
    uint32_t winner = kNoOrdinal;   // last member that can be shown and is no directory
    MemberType winner_type = MemberType::kRegular;
  };

  void Report(FindingCode code, Severity severity, const Member& member, std::string detail) {
    findings_->Add({code, severity, member.header_offset, member.name, std::move(detail)});
  }
  Status NotShown(const Member& member, Placement* placement);
  std::optional<PathTrouble> TroubleOf(const Member& member);
  // The directory `path_` stands in, made up as needed; kNoDirectory at the limit.
  Result<uint32_t> ParentOf(std::string_view parent);
  Result<uint32_t> FindOrAddDirectory(uint32_t parent, std::string_view name);
  Status NameDirectory(uint32_t directory, const Member& member);
  Status AddFate(uint32_t ordinal);
  Status Replace(uint32_t ordinal);

  Status ResolveHardLinks(io::ExternalSorter* again);
  Status VisitDentries(io::ExternalSorter* names, TreeVisitor* visitor);
  Status TakeRecord(const NameRecord& record, Group* group);
  Status EndGroup(Group* group, TreeVisitor* visitor);
  Status VisitFates(TreeVisitor* visitor);
  Status VisitDirectories(TreeVisitor* visitor);

  const TreeOptions options_;
  const PathLimits limits_;
  FindingList* const findings_;
  io::ExternalSorter names_;
  io::ExternalSorter fates_;  // be32 ordinals of members that nothing shows
  DirectoryTable directories_;
  HardLinks links_;
  Counts counts_;
  std::string path_;         // of the member that was added last, normalised
  std::string last_parent_;  // path of the directory that was looked up last
  uint32_t last_parent_number_ = kRootDirectory;
  std::string record_;
};

std::optional<PathTrouble> TreeBuilder::Impl::TroubleOf(const Member& member) {
  if (auto trouble = NormalizePath(member.name, limits_, &path_); trouble) return trouble;
  if (path_.empty() && member.type != MemberType::kDirectory) {
    return PathTrouble{
        FindingCode::kBadName, Severity::kWarning,
        "a name below the root expected, only a directory can be the root; the member is not shown"};
  }
  if (member.type != MemberType::kSymlink) return std::nullopt;
  if (member.link.empty() || member.link.find('\0') != std::string::npos) {
    return PathTrouble{FindingCode::kBadName, Severity::kWarning,
                       "a target without NUL expected, no symlink can be empty; the member is not shown"};
  }
  if (member.link.size() > kLongestLink) {
    return PathTrouble{
        FindingCode::kNameTooLong, Severity::kWarning,
        fmt::format("a symlink target of at most {} bytes expected, found {}; the member is not "
                    "shown",
                    kLongestLink, member.link.size())};
  }
  return std::nullopt;
}

Status TreeBuilder::Impl::NotShown(const Member& member, Placement* placement) {
  placement->directory = kNoDirectory;
  placement->name = member.name;
  ++counts_.unshown;
  return AddFate(static_cast<uint32_t>(member.ordinal));
}

Status TreeBuilder::Impl::Add(const Member& member, Placement* placement) {
  if (member.ordinal >= kNoOrdinal) {
    return Status(ErrorCode::kUnsupported,
                  fmt::format("an archive of at most {} members expected", kNoOrdinal))
        .WithHint("split the archive");
  }
  const auto ordinal = static_cast<uint32_t>(member.ordinal);
  if (auto trouble = TroubleOf(member); trouble) {
    Report(trouble->code, trouble->severity, member, std::move(trouble->detail));
    return NotShown(member, placement);
  }
  if (path_.empty()) {
    placement->directory = kRootDirectory;
    placement->name = {};
    return NameDirectory(kRootDirectory, member);
  }
  const size_t slash = path_.rfind('/');
  const size_t leaf_begin = slash == std::string::npos ? 0 : slash + 1;
  const std::string_view leaf = std::string_view(path_).substr(leaf_begin);
  TARN_ASSIGN_OR_RETURN(const uint32_t parent,
                        ParentOf(std::string_view(path_).substr(0, leaf_begin == 0 ? 0 : slash)));
  uint32_t child = kNoDirectory;
  if (parent != kNoDirectory && member.type == MemberType::kDirectory) {
    TARN_ASSIGN_OR_RETURN(child, FindOrAddDirectory(parent, leaf));
  }
  if (parent == kNoDirectory || (member.type == MemberType::kDirectory && child == kNoDirectory)) {
    Report(FindingCode::kLimitReached, Severity::kError, member,
           fmt::format("at most {} directories expected; the member is not shown", options_.directories));
    return NotShown(member, placement);
  }
  placement->directory = parent;
  placement->name = leaf;
  if (member.type == MemberType::kDirectory) return NameDirectory(child, member);

  if (member.type == MemberType::kHardLink)
    links_.Add(ordinal, member.header_offset, member.name, member.link);
  DirectoryTable::Row& row = directories_.row(parent);
  if (row.mentions != std::numeric_limits<uint32_t>::max()) ++row.mentions;
  record_.clear();
  AppendBigEndian32(&record_, parent);
  record_.append(leaf);
  record_.push_back('\0');
  record_.push_back(kMemberRecord);
  AppendBigEndian32(&record_, ordinal);
  record_.push_back(static_cast<char>(member.type));
  AppendBigEndian64(&record_, member.header_offset);
  return names_.Add(record_);
}

Result<uint32_t> TreeBuilder::Impl::ParentOf(std::string_view parent) {
  if (parent == last_parent_) return last_parent_number_;
  uint32_t directory = kRootDirectory;
  for (size_t begin = 0; begin < parent.size();) {
    size_t end = parent.find('/', begin);
    if (end == std::string_view::npos) end = parent.size();
    TARN_ASSIGN_OR_RETURN(directory, FindOrAddDirectory(directory, parent.substr(begin, end - begin)));
    if (directory == kNoDirectory) return kNoDirectory;
    begin = end + 1;
  }
  last_parent_.assign(parent);
  last_parent_number_ = directory;
  return directory;
}

Result<uint32_t> TreeBuilder::Impl::FindOrAddDirectory(uint32_t parent, std::string_view name) {
  if (const uint32_t found = directories_.Find(parent, name); found != kNoDirectory) return found;
  if (directories_.size() >= options_.directories) return kNoDirectory;
  const uint32_t number = directories_.Add(parent, name);
  ++directories_.row(parent).mentions;
  record_.clear();
  AppendBigEndian32(&record_, parent);
  record_.append(name);
  record_.push_back('\0');
  record_.push_back(kDirectoryRecord);
  AppendBigEndian32(&record_, number);
  TARN_RETURN_IF_ERROR(names_.Add(record_));
  return number;
}

// The last member that names a directory gives it its attributes.
Status TreeBuilder::Impl::NameDirectory(uint32_t directory, const Member& member) {
  const uint32_t before =
      std::exchange(directories_.row(directory).ordinal, static_cast<uint32_t>(member.ordinal));
  return before == kNoOrdinal ? Status::Ok() : Replace(before);
}

Status TreeBuilder::Impl::AddFate(uint32_t ordinal) {
  std::string bytes;
  AppendBigEndian32(&bytes, ordinal);
  return fates_.Add(bytes);
}

Status TreeBuilder::Impl::Replace(uint32_t ordinal) {
  ++counts_.replaced;
  // A hard link may still show it; its names are then counted with those of all targets.
  return links_.IsTarget(ordinal) ? Status::Ok() : AddFate(ordinal);
}

Status TreeBuilder::Impl::Finish(TreeVisitor* visitor) {
  TARN_RETURN_IF_ERROR(names_.Sort());
  if (links_.empty()) {
    TARN_RETURN_IF_ERROR(VisitDentries(&names_, visitor));
  } else {
    io::ExternalSorter again(options_.scratch_directory, "again", options_.memory_bytes / 16 * 7);
    TARN_RETURN_IF_ERROR(ResolveHardLinks(&again));
    TARN_RETURN_IF_ERROR(VisitDentries(&again, visitor));
  }
  TARN_RETURN_IF_ERROR(VisitFates(visitor));
  return VisitDirectories(visitor);
}

// A first pass over all names, which a sorter gives only once: they go to a second one.
Status TreeBuilder::Impl::ResolveHardLinks(io::ExternalSorter* again) {
  links_.LocateTargets(directories_, options_.path_bytes, options_.path_depth);
  std::string last_name;
  uint32_t last_directory = kNoDirectory;
  std::string_view bytes;
  while (true) {
    TARN_ASSIGN_OR_RETURN(const bool more, names_.Next(&bytes));
    if (!more) break;
    const NameRecord record = DecodeNameRecord(bytes);
    if (record.directory != last_directory || record.name != last_name) {
      last_directory = record.directory;
      last_name = record.name;
      links_.BeginName(record.directory, record.name,
                       record.is_directory ? directories_.row(record.number).ordinal : kNoOrdinal);
    }
    if (!record.is_directory) links_.OnMember(record.number, record.type);
    TARN_RETURN_IF_ERROR(again->Add(bytes));
  }
  links_.EndNames();
  links_.Resolve(findings_);
  return again->Sort();
}

Status TreeBuilder::Impl::VisitDentries(io::ExternalSorter* names, TreeVisitor* visitor) {
  Group group;
  std::string_view bytes;
  while (true) {
    TARN_ASSIGN_OR_RETURN(const bool more, names->Next(&bytes));
    if (!more) return EndGroup(&group, visitor);
    const NameRecord record = DecodeNameRecord(bytes);
    if (!group.open || record.directory != group.directory || record.name != group.name) {
      TARN_RETURN_IF_ERROR(EndGroup(&group, visitor));
      group.open = true;
      group.directory = record.directory;
      group.name = record.name;
      group.child = kNoDirectory;
      group.winner = kNoOrdinal;
    }
    TARN_RETURN_IF_ERROR(TakeRecord(record, &group));
  }
}

Status TreeBuilder::Impl::TakeRecord(const NameRecord& record, Group* group) {
  if (record.is_directory) {
    group->child = record.number;
    return Status::Ok();
  }
  if (record.type == MemberType::kHardLink && links_.TargetOf(record.number).ordinal == kNoOrdinal) {
    ++counts_.unshown;  // reported when it was resolved; an earlier member of the name stays
    return AddFate(record.number);
  }
  if (group->child != kNoDirectory) {
    const DirectoryTable::Row& directory = directories_.row(group->child);
    const bool named_later = directory.ordinal != kNoOrdinal && directory.ordinal > record.number;
    if (named_later) return Replace(record.number);
    if (directory.mentions > 0) {
      findings_->Add({FindingCode::kNameConflict, Severity::kWarning, record.header_offset,
                      directories_.PathOf(record.directory, record.name),
                      "a directory expected here, other members stand in it; this member is not shown"});
      return Replace(record.number);
    }
  }
  const uint32_t before = std::exchange(group->winner, record.number);
  group->winner_type = record.type;
  return before == kNoOrdinal ? Status::Ok() : Replace(before);
}

Status TreeBuilder::Impl::EndGroup(Group* group, TreeVisitor* visitor) {
  if (!group->open) return Status::Ok();
  group->open = false;
  Dentry dentry;
  dentry.directory = group->directory;
  dentry.name = group->name;
  if (group->winner != kNoOrdinal) {
    if (group->child != kNoDirectory && directories_.row(group->child).ordinal != kNoOrdinal) {
      TARN_RETURN_IF_ERROR(Replace(directories_.row(group->child).ordinal));
    }
    dentry.own_ordinal = group->winner;
    dentry.target_ordinal = group->winner;
    dentry.type = group->winner_type;
    if (dentry.type == MemberType::kHardLink) {
      const HardLinks::Target target = links_.TargetOf(group->winner);
      dentry.target_ordinal = target.ordinal;
      dentry.type = target.type;
      links_.CountName(target.ordinal);
    } else if (links_.IsTarget(group->winner)) {
      links_.CountName(group->winner);
    }
  } else if (group->child != kNoDirectory) {
    dentry.type = MemberType::kDirectory;
    dentry.own_ordinal = directories_.row(group->child).ordinal;
    dentry.target_ordinal = dentry.own_ordinal;
    dentry.child_directory = group->child;
    ++directories_.row(group->directory).subdirectories;
  } else {
    return Status::Ok();
  }
  ++directories_.row(group->directory).entries;
  ++counts_.dentries;
  return visitor->OnDentry(dentry);
}

Status TreeBuilder::Impl::VisitFates(TreeVisitor* visitor) {
  TARN_RETURN_IF_ERROR(fates_.Sort());
  const std::vector<MemberFate> targets = links_.Counts();
  size_t next_target = 0;
  const auto visit_targets_before = [&](uint32_t ordinal) {
    for (; next_target < targets.size() && targets[next_target].ordinal < ordinal; ++next_target) {
      if (targets[next_target].links == 1) continue;
      TARN_RETURN_IF_ERROR(visitor->OnFate(targets[next_target]));
    }
    return Status::Ok();
  };
  std::string_view bytes;
  while (true) {
    TARN_ASSIGN_OR_RETURN(const bool more, fates_.Next(&bytes));
    if (!more) return visit_targets_before(kNoOrdinal);
    const uint32_t ordinal = ReadBigEndian32(bytes.data());
    TARN_RETURN_IF_ERROR(visit_targets_before(ordinal));
    TARN_RETURN_IF_ERROR(visitor->OnFate({ordinal, 0}));
  }
}

Status TreeBuilder::Impl::VisitDirectories(TreeVisitor* visitor) {
  counts_.directories = directories_.size();
  for (uint32_t number = 0; number < directories_.size(); ++number) {
    const DirectoryTable::Row& row = directories_.row(number);
    DirectoryFacts facts;
    facts.number = number;
    facts.parent = row.parent;
    facts.name = directories_.name(number);
    facts.ordinal = row.ordinal;
    facts.entries = row.entries;
    facts.subdirectories = row.subdirectories;
    TARN_RETURN_IF_ERROR(visitor->OnDirectory(facts));
  }
  return Status::Ok();
}

TreeBuilder::TreeBuilder(TreeOptions options, FindingList* findings)
    : impl_(std::make_unique<Impl>(std::move(options), findings)) {}
TreeBuilder::~TreeBuilder() = default;

Status TreeBuilder::Add(const Member& member, Placement* placement) {
  return impl_->Add(member, placement);
}
Status TreeBuilder::Finish(TreeVisitor* visitor) {
  return impl_->Finish(visitor);
}
TreeBuilder::Counts TreeBuilder::counts() const {
  return impl_->counts();
}

}  // namespace tarn::tar

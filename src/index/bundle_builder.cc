// Rows on their way into a bundle. While the archive is read, members go to a spool in order of ordinal and
// names to the tree builder's sorter. At the end the tree gives dentries, fates and directories in key order,
// each to a spool (the facts, which count them, come first in the bundle); then all of it is written front to
// back, members merged with their fates.
#include "tarn/index/bundle_builder.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "index/format_file.h"
#include "index/spool.h"
#include "index/sst.h"
#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/io/filesystem.h"
#include "tarn/tar/tree_builder.h"

namespace tarn::index {
namespace {

// Ordinals are 30 bits of a node id, and the last one stands for the archive itself.
constexpr uint64_t kMaxOrdinal = (uint64_t{1} << 30) - 2;

uint64_t AddSaturating(uint64_t a, uint64_t b) {
  return b > std::numeric_limits<uint64_t>::max() - a ? std::numeric_limits<uint64_t>::max() : a + b;
}

MemberDefaults DefaultsOf(const tar::Member& member) {
  return {.mode = member.mode,
          .uid = member.uid,
          .gid = member.gid,
          .user_name = member.user_name,
          .group_name = member.group_name,
          .mtime = member.mtime};
}

// Copies what a record has from its header. Assigns field by field: the record's memory is used again.
void FillFromHeader(const tar::Member& member, MemberRecord* record) {
  record->type = member.type;
  record->mode = member.mode;
  record->uid = member.uid;
  record->gid = member.gid;
  record->user_name = member.user_name;
  record->group_name = member.group_name;
  record->mtime = member.mtime;
  record->mtime_ns = member.mtime_ns;
  record->device_major = member.device_major;
  record->device_minor = member.device_minor;
  record->logical_size = member.logical_size;
  record->stored_size = member.stored_size;
  record->header_offset = member.header_offset;
  record->data_offset = member.data_offset;
  record->extents = member.extents;
  record->link = member.link;
  record->xattrs = member.xattrs;
}

// Writes the rows of one archive, in key order.
class RowWriter {
 public:
  RowWriter(SstWriter* out, const ArchiveId& id) : out_(out), id_(id) {}

  Status PutFacts(const ArchiveFacts& facts) {
    std::string value;
    Encode(facts, &value);
    return out_->Put(Key(id_, RowKind::kArchiveFacts), value);
  }

  Status PutChunks(std::span<const uint64_t> chunks) {
    std::string value;
    for (uint32_t row = 0; !chunks.empty(); ++row) {
      const size_t count = std::min<size_t>(chunks.size(), kChunksPerRow);
      value.clear();
      EncodeChunkRow(chunks.first(count), &value);
      TARN_RETURN_IF_ERROR(out_->Put(Key(id_, RowKind::kChunkChecksums, row), value));
      chunks = chunks.subspan(count);
    }
    return Status::Ok();
  }

  Status PutNumbered(RowKind kind, uint32_t number, std::string_view value) {
    Begin(kind);
    AppendBigEndian32(&key_, number);
    return out_->Put(key_, value);
  }

  // `suffix`: directory number and name as they stand in the key.
  Status PutDentry(std::string_view suffix, std::string_view value) {
    Begin(RowKind::kDentry);
    key_.append(suffix);
    return out_->Put(key_, value);
  }

 private:
  // Makes key_ the part that all keys of a kind have.
  void Begin(RowKind kind) {
    if (kind != kind_) {
      prefix_ = Key(id_, kind);
      kind_ = kind;
    }
    key_.assign(prefix_);
  }

  SstWriter* out_;
  const ArchiveId& id_;
  std::optional<RowKind> kind_;
  std::string prefix_;  // of kind_
  std::string key_;
};

// Opens a finished bundle again and reads all of it.
Status CheckBundle(const std::string& file, const ArchiveId& id, const ArchiveFacts& facts, uint64_t rows) {
  TARN_ASSIGN_OR_RETURN(const ArchiveFacts read, ReadBundleFacts(file, id));
  TARN_ASSIGN_OR_RETURN(const auto scan, SstScan::Open(file));
  TARN_RETURN_IF_ERROR(scan->VerifyChecksums());
  if (read != facts || scan->rows() != rows) {
    return Status(ErrorCode::kIo,
                  fmt::format("bundle '{}' was written with {} rows and reads back otherwise", file, rows));
  }
  return Status::Ok();
}

}  // namespace

class BundleBuilder::Impl final : public tar::TreeVisitor {
 public:
  Impl(BundleOptions options, tar::FindingList* findings)
      : memory_bytes_(options.memory_bytes),
        sync_(options.sync),
        scratch_(io::JoinPath(options.scratch_directory, "bundle-" + MakeUuid())),
        findings_(findings),
        members_(io::JoinPath(scratch_, "members"), memory_bytes_ / 4),
        dentries_(io::JoinPath(scratch_, "dentries"), memory_bytes_ / 8),
        fates_(io::JoinPath(scratch_, "fates"), memory_bytes_ / 16),
        directories_(io::JoinPath(scratch_, "directories"), memory_bytes_ / 16),
        tree_({.scratch_directory = scratch_, .memory_bytes = memory_bytes_ / 2}, findings) {}

  ~Impl() override {
    if (!scratch_made_) return;
    if (const Status status = io::RemoveTree(scratch_); !status.ok())
      Log(LogLevel::kWarning, status.message());
  }

  Status AddMember(const tar::Member& member);
  Result<ArchiveFacts> Finish(const ArchiveId& id, std::span<const uint64_t> chunks, uint64_t end_offset,
                              const std::string& file);

  Status OnDentry(const tar::Dentry& dentry) override;
  Status OnFate(const tar::MemberFate& fate) override;
  Status OnDirectory(const tar::DirectoryFacts& directory) override;

 private:
  Status MakeScratch();
  Status PutDentries(RowWriter* rows);
  Status PutMembers(RowWriter* rows);
  Status PutDirectories(RowWriter* rows);
  Status PutFindings(RowWriter* rows);
  // Steps to the next fate; ordinal kNoOrdinal behind the last.
  Status NextFate(tar::MemberFate* fate);

  const size_t memory_bytes_;
  const bool sync_;
  const std::string scratch_;  // a directory of this builder's own
  bool scratch_made_ = false;
  tar::FindingList* findings_;
  Spool members_;
  Spool dentries_;
  Spool fates_;
  Spool directories_;
  tar::TreeBuilder tree_;
  ArchiveFacts facts_;
  uint64_t members_before_defaults_ = 0;  // encoded against MemberDefaults{}: before the first file member
  bool has_defaults_ = false;
  MemberRecord record_;
  std::string bytes_;
};

Status BundleBuilder::Impl::MakeScratch() {
  if (scratch_made_) return Status::Ok();
  TARN_RETURN_IF_ERROR(io::MakeDirectory(scratch_));
  scratch_made_ = true;
  return Status::Ok();
}

Status BundleBuilder::Impl::AddMember(const tar::Member& member) {
  if (member.ordinal > kMaxOrdinal) {
    return Status(ErrorCode::kUnsupported,
                  fmt::format("the archive has more than {} members", kMaxOrdinal + 1))
        .WithHint("split the archive: node ids hold no more");
  }
  TARN_RETURN_IF_ERROR(MakeScratch());
  if (!has_defaults_ && member.IsFile()) {
    facts_.defaults = DefaultsOf(member);
    has_defaults_ = true;
  }
  if (!has_defaults_) ++members_before_defaults_;

  tar::Placement placement;
  TARN_RETURN_IF_ERROR(tree_.Add(member, &placement));
  FillFromHeader(member, &record_);
  record_.directory = placement.directory;
  const bool shown = placement.directory != tar::kNoDirectory;
  record_.name = shown ? placement.name : std::string_view(member.name);
  record_.links = shown ? 1 : 0;  // the fate says otherwise where it is not so

  ++facts_.members;
  facts_.logical_bytes = AddSaturating(facts_.logical_bytes, member.logical_size);
  bytes_.clear();
  Encode(record_, has_defaults_ ? facts_.defaults : MemberDefaults{}, &bytes_);
  return members_.Add(bytes_);
}

Status BundleBuilder::Impl::OnDentry(const tar::Dentry& dentry) {
  bytes_.clear();
  AppendVarint(&bytes_, sizeof(uint32_t) + dentry.name.size());
  AppendBigEndian32(&bytes_, dentry.directory);
  bytes_.append(dentry.name);
  Encode(DentryRecord{.type = dentry.type,
                      .own_ordinal = dentry.own_ordinal,
                      .target_ordinal = dentry.target_ordinal,
                      .child_directory = dentry.child_directory},
         &bytes_);
  return dentries_.Add(bytes_);
}

Status BundleBuilder::Impl::OnFate(const tar::MemberFate& fate) {
  bytes_.clear();
  AppendVarint(&bytes_, fate.ordinal);
  AppendVarint(&bytes_, fate.links);
  return fates_.Add(bytes_);
}

Status BundleBuilder::Impl::OnDirectory(const tar::DirectoryFacts& directory) {
  bytes_.clear();
  AppendBigEndian32(&bytes_, directory.number);
  Encode(DirectoryRecord{.parent = directory.parent,
                         .name = std::string(directory.name),
                         .ordinal = directory.ordinal,
                         .entries = directory.entries,
                         .subdirectories = directory.subdirectories},
         &bytes_);
  return directories_.Add(bytes_);
}

Result<ArchiveFacts> BundleBuilder::Impl::Finish(const ArchiveId& id, std::span<const uint64_t> chunks,
                                                 uint64_t end_offset, const std::string& file) {
  TARN_RETURN_IF_ERROR(MakeScratch());
  TARN_RETURN_IF_ERROR(tree_.Finish(this));
  const tar::TreeBuilder::Counts counts = tree_.counts();
  facts_.dentries = counts.dentries;
  facts_.directories = counts.directories;
  facts_.replaced = counts.replaced;
  facts_.unshown = counts.unshown;
  facts_.end_offset = end_offset;
  facts_.warnings = findings_->warnings();
  facts_.errors = findings_->errors();

  TARN_ASSIGN_OR_RETURN(const auto out, SstWriter::Create(file, sync_));
  RowWriter rows(out.get(), id);
  TARN_RETURN_IF_ERROR(rows.PutFacts(facts_));
  TARN_RETURN_IF_ERROR(rows.PutChunks(chunks));
  TARN_RETURN_IF_ERROR(PutDentries(&rows));
  TARN_RETURN_IF_ERROR(PutMembers(&rows));
  TARN_RETURN_IF_ERROR(PutDirectories(&rows));
  TARN_RETURN_IF_ERROR(PutFindings(&rows));
  TARN_RETURN_IF_ERROR(out->Finish());
  if (Status status = CheckBundle(file, id, facts_, out->rows()); !status.ok()) {
    TARN_RETURN_IF_ERROR(io::RemoveFile(file));
    return status;
  }
  return facts_;
}

Status BundleBuilder::Impl::PutDentries(RowWriter* rows) {
  TARN_RETURN_IF_ERROR(dentries_.Rewind());
  std::string_view record;
  for (;;) {
    TARN_ASSIGN_OR_RETURN(const bool found, dentries_.Next(&record));
    if (!found) return Status::Ok();
    ByteReader in(record);
    const std::string_view suffix = in.LengthPrefixed();
    TARN_RETURN_IF_ERROR(rows->PutDentry(suffix, in.Bytes(in.remaining())));
  }
}

Status BundleBuilder::Impl::NextFate(tar::MemberFate* fate) {
  std::string_view record;
  TARN_ASSIGN_OR_RETURN(const bool found, fates_.Next(&record));
  ByteReader in(record);
  fate->ordinal = found ? in.Varint32() : tar::kNoOrdinal;
  fate->links = found ? in.Varint32() : 0;
  return Status::Ok();
}

Status BundleBuilder::Impl::PutMembers(RowWriter* rows) {
  TARN_RETURN_IF_ERROR(members_.Rewind());
  TARN_RETURN_IF_ERROR(fates_.Rewind());
  tar::MemberFate fate;
  TARN_RETURN_IF_ERROR(NextFate(&fate));
  std::string_view encoded;
  for (uint32_t ordinal = 0;; ++ordinal) {
    TARN_ASSIGN_OR_RETURN(const bool found, members_.Next(&encoded));
    if (!found) return Status::Ok();
    const bool has_fate = fate.ordinal == ordinal;
    // Nearly all are as they were spooled; a few have to be written anew.
    if (has_fate || ordinal < members_before_defaults_) {
      TARN_RETURN_IF_ERROR(
          Decode(encoded, ordinal < members_before_defaults_ ? MemberDefaults{} : facts_.defaults, &record_));
      if (has_fate) record_.links = fate.links;
      bytes_.clear();
      Encode(record_, facts_.defaults, &bytes_);
      encoded = bytes_;
    }
    TARN_RETURN_IF_ERROR(rows->PutNumbered(RowKind::kMember, ordinal, encoded));
    if (has_fate) TARN_RETURN_IF_ERROR(NextFate(&fate));
  }
}

Status BundleBuilder::Impl::PutDirectories(RowWriter* rows) {
  TARN_RETURN_IF_ERROR(directories_.Rewind());
  std::string_view record;
  for (;;) {
    TARN_ASSIGN_OR_RETURN(const bool found, directories_.Next(&record));
    if (!found) return Status::Ok();
    TARN_RETURN_IF_ERROR(rows->PutNumbered(RowKind::kDirectory, ReadBigEndian32(record.data()),
                                           record.substr(sizeof(uint32_t))));
  }
}

Status BundleBuilder::Impl::PutFindings(RowWriter* rows) {
  uint32_t position = 0;
  for (const tar::Finding& finding : findings_->kept()) {
    bytes_.clear();
    Encode(finding, &bytes_);
    TARN_RETURN_IF_ERROR(rows->PutNumbered(RowKind::kFinding, position++, bytes_));
  }
  return Status::Ok();
}

BundleBuilder::BundleBuilder(BundleOptions options, tar::FindingList* findings)
    : impl_(std::make_unique<Impl>(std::move(options), findings)) {}

BundleBuilder::~BundleBuilder() = default;

Status BundleBuilder::AddMember(const tar::Member& member) {
  return impl_->AddMember(member);
}

Result<ArchiveFacts> BundleBuilder::Finish(const ArchiveId& id, std::span<const uint64_t> chunks,
                                           uint64_t end_offset, const std::string& file) {
  return impl_->Finish(id, chunks, end_offset, file);
}

Result<ArchiveFacts> WriteLooseBundle(const ArchiveId& id, std::span<const uint64_t> chunks,
                                      const std::string& file, bool sync) {
  ArchiveFacts facts;
  facts.is_tar = false;
  facts.directories = 0;
  facts.logical_bytes = id.size;
  facts.end_offset = id.size;
  TARN_ASSIGN_OR_RETURN(const auto out, SstWriter::Create(file, sync));
  RowWriter rows(out.get(), id);
  TARN_RETURN_IF_ERROR(rows.PutFacts(facts));
  TARN_RETURN_IF_ERROR(rows.PutChunks(chunks));
  TARN_RETURN_IF_ERROR(out->Finish());
  if (Status status = CheckBundle(file, id, facts, out->rows()); !status.ok()) {
    TARN_RETURN_IF_ERROR(io::RemoveFile(file));
    return status;
  }
  return facts;
}

Result<ArchiveFacts> ReadBundleFacts(const std::string& file, const ArchiveId& id) {
  TARN_ASSIGN_OR_RETURN(const auto scan, SstScan::Open(file));
  TARN_ASSIGN_OR_RETURN(const bool found, scan->Next());
  if (!found || scan->key() != Key(id, RowKind::kArchiveFacts)) {
    return Status(ErrorCode::kCorrupt,
                  fmt::format("'{}' is not the bundle of archive {}", file, id.ToString()))
        .WithHint("remove the file; the next publish reads the archive again");
  }
  ArchiveFacts facts;
  TARN_RETURN_IF_ERROR(Decode(scan->value(), &facts).WithContext(fmt::format("bundle '{}'", file)));
  return facts;
}

Result<ArchiveFacts> VerifyBundle(const std::string& file, const ArchiveId& id) {
  TARN_ASSIGN_OR_RETURN(ArchiveFacts facts, ReadBundleFacts(file, id));
  TARN_ASSIGN_OR_RETURN(const auto scan, SstScan::Open(file));
  TARN_RETURN_IF_ERROR(scan->VerifyChecksums());
  return facts;
}

}  // namespace tarn::index

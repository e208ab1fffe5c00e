// The codec of plain records: a list of fields each, walked by both directions so that they cannot drift
// apart. Members and dentries, of which an archive has millions, have a tighter one (member_record.cc).
#include "tarn/index/records.h"

#include <cassert>
#include <concepts>
#include <type_traits>

#include "index/bad_record.h"
#include "index/key.h"
#include "tarn/base/bytes.h"

namespace tarn::index {
namespace {

class FieldWriter {
 public:
  explicit FieldWriter(std::string* out) : out_(out) {}

  void Flag(bool value) { out_->push_back(value ? 1 : 0); }
  void Number(uint64_t value) { AppendVarint(out_, value); }
  void Signed(int64_t value) { AppendVarint(out_, ZigZag(value)); }
  void Text(const std::string& value) { AppendLengthPrefixed(out_, value); }
  template <typename Enum>
  void Choice(Enum value, [[maybe_unused]] Enum first, [[maybe_unused]] Enum last) {
    assert(value >= first && value <= last);
    out_->push_back(static_cast<char>(value));
  }
  // A number whose all-ones value means "none": written one higher, so that none is the single byte 0.
  void Optional(uint32_t value) { AppendVarint(out_, value + 1); }
  void Id(const ArchiveId& id) { id.AppendTo(out_); }
  void Xxh(const Digest& digest) {
    AppendBigEndian64(out_, digest.high);
    AppendBigEndian64(out_, digest.low);
  }

 private:
  std::string* out_;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : in_(bytes) {}

  void Flag(bool& value) {
    const uint8_t byte = in_.Byte();
    if (byte > 1) in_.Fail();
    value = byte == 1;
  }
  void Number(uint64_t& value) { value = in_.Varint(); }
  void Number(uint32_t& value) { value = in_.Varint32(); }
  void Signed(int64_t& value) { value = in_.SignedVarint(); }
  void Text(std::string& value) { value = in_.LengthPrefixed(); }
  template <typename Enum>
  void Choice(Enum& value, Enum first, Enum last) {
    value = static_cast<Enum>(in_.Byte());
    if (value < first || value > last) in_.Fail();
  }
  void Optional(uint32_t& value) { value = in_.Varint32() - 1; }
  void Id(ArchiveId& id) {
    const std::string_view bytes = in_.Bytes(ArchiveId::kEncodedBytes);
    if (in_.ok()) id = ArchiveId::Decode(bytes.data());
  }
  void Xxh(Digest& digest) {
    digest.high = in_.BigEndian64();
    digest.low = in_.BigEndian64();
  }

  bool AtEnd() const { return in_.AtEnd(); }

 private:
  ByteReader in_;
};

// Matches Record and const Record: Fields() below serves the reader and the writer.
template <typename T, typename Record>
concept Of = std::same_as<std::remove_const_t<T>, Record>;

void Fields(auto& io, Of<ArchiveFacts> auto& facts) {
  io.Flag(facts.is_tar);
  io.Number(facts.members);
  io.Number(facts.dentries);
  io.Number(facts.directories);
  io.Number(facts.replaced);
  io.Number(facts.unshown);
  io.Number(facts.logical_bytes);
  io.Number(facts.end_offset);
  io.Number(facts.warnings);
  io.Number(facts.errors);
  io.Number(facts.defaults.mode);
  io.Number(facts.defaults.uid);
  io.Number(facts.defaults.gid);
  io.Text(facts.defaults.user_name);
  io.Text(facts.defaults.group_name);
  io.Signed(facts.defaults.mtime);
}

void Fields(auto& io, Of<DirectoryRecord> auto& directory) {
  io.Number(directory.parent);
  io.Text(directory.name);
  io.Optional(directory.ordinal);
  io.Number(directory.entries);
  io.Number(directory.subdirectories);
}

void Fields(auto& io, Of<tar::Finding> auto& finding) {
  // Any code but 0: a reader shows codes it has no name for.
  io.Choice(finding.code, tar::FindingCode{1}, tar::FindingCode{255});
  io.Choice(finding.severity, tar::Severity::kWarning, tar::Severity::kError);
  io.Number(finding.offset);
  io.Text(finding.member);
  io.Text(finding.detail);
}

void Fields(auto& io, Of<ManifestRow> auto& row) {
  io.Number(row.number);
  io.Text(row.path);
  io.Choice(row.kind, ManifestKind::kArchive, ManifestKind::kQuarantined);
  io.Id(row.id);
  io.Number(row.hint.size);
  io.Signed(row.hint.mtime_ns);
  io.Signed(row.hint.ctime_ns);
  io.Number(row.hint.inode);
  io.Number(row.access.mode);
  io.Number(row.access.uid);
  io.Number(row.access.gid);
  io.Number(row.tree_directory);
  io.Text(row.shown_name);
  io.Number(row.first_directory);
  io.Number(row.directories);
  io.Number(row.members);
  io.Number(row.warnings);
  io.Number(row.errors);
}

void Fields(auto& io, Of<TreeDentryRecord> auto& dentry) {
  io.Choice(dentry.kind, TreeDentryKind::kDirectory, TreeDentryKind::kLooseFile);
  io.Number(dentry.number);
}

void Fields(auto& io, Of<TreeDirectoryRecord> auto& directory) {
  io.Number(directory.parent);
  io.Text(directory.name);
  io.Number(directory.entries);
  io.Number(directory.subdirectories);
}

void Fields(auto& io, Of<DirectoryRangeRecord> auto& range) {
  io.Number(range.number);
  io.Number(range.directories);
}

void Fields(auto& io, Of<GenerationFacts> auto& facts) {
  // These two stay first in every format: PeekFormat reads them before anything else is believed.
  io.Number(facts.format_version);
  io.Number(facts.incompatible_features);
  io.Text(facts.root_uuid);
  io.Text(facts.dataset);
  io.Number(facts.dataset_number);
  io.Number(facts.generation);
  io.Xxh(facts.digest);
  io.Signed(facts.created);
  io.Text(facts.writer);
  io.Text(facts.source_path);
  io.Text(facts.view);
  io.Number(facts.next_number);
  io.Number(facts.archives);
  io.Number(facts.loose_files);
  io.Number(facts.quarantined);
  io.Number(facts.tree_directories);
  io.Number(facts.directories);
  io.Number(facts.members);
  io.Number(facts.bytes);
}

template <typename Record>
void EncodeFields(const Record& record, std::string* out) {
  FieldWriter writer(out);
  Fields(writer, record);
}

template <typename Record>
Status DecodeFields(std::string_view what, std::string_view bytes, Record* record) {
  FieldReader reader(bytes);
  Fields(reader, *record);
  return reader.AtEnd() ? Status::Ok() : BadRecord(what, bytes);
}

}  // namespace

void Encode(const ArchiveFacts& facts, std::string* out) {
  EncodeFields(facts, out);
}
Status Decode(std::string_view bytes, ArchiveFacts* facts) {
  return DecodeFields("archive facts", bytes, facts);
}
void Encode(const DirectoryRecord& directory, std::string* out) {
  EncodeFields(directory, out);
}
Status Decode(std::string_view bytes, DirectoryRecord* directory) {
  return DecodeFields("directory", bytes, directory);
}
void Encode(const tar::Finding& finding, std::string* out) {
  EncodeFields(finding, out);
}
Status Decode(std::string_view bytes, tar::Finding* finding) {
  return DecodeFields("finding", bytes, finding);
}
void Encode(const ManifestRow& row, std::string* out) {
  EncodeFields(row, out);
}
Status Decode(std::string_view bytes, ManifestRow* row) {
  return DecodeFields("manifest row", bytes, row);
}
void Encode(const TreeDentryRecord& dentry, std::string* out) {
  EncodeFields(dentry, out);
}
Status Decode(std::string_view bytes, TreeDentryRecord* dentry) {
  return DecodeFields("tree dentry", bytes, dentry);
}
void Encode(const TreeDirectoryRecord& directory, std::string* out) {
  EncodeFields(directory, out);
}
Status Decode(std::string_view bytes, TreeDirectoryRecord* directory) {
  return DecodeFields("tree directory", bytes, directory);
}
void Encode(const DirectoryRangeRecord& range, std::string* out) {
  EncodeFields(range, out);
}
Status Decode(std::string_view bytes, DirectoryRangeRecord* range) {
  return DecodeFields("directory range", bytes, range);
}
void Encode(const GenerationFacts& facts, std::string* out) {
  EncodeFields(facts, out);
}
Status Decode(std::string_view bytes, GenerationFacts* facts) {
  return DecodeFields("generation facts", bytes, facts);
}

void EncodeChunkRow(std::span<const uint64_t> checksums, std::string* out) {
  assert(!checksums.empty() && checksums.size() <= kChunksPerRow);
  for (const uint64_t checksum : checksums) AppendBigEndian64(out, checksum);
}

Status DecodeChunkRow(std::string_view bytes, std::vector<uint64_t>* checksums) {
  const size_t count = bytes.size() / sizeof(uint64_t);
  if (bytes.empty() || bytes.size() % sizeof(uint64_t) != 0 || count > kChunksPerRow) {
    return BadRecord("chunk checksums", bytes);
  }
  for (size_t i = 0; i < count; ++i) {
    checksums->push_back(ReadBigEndian64(bytes.data() + i * sizeof(uint64_t)));
  }
  return Status::Ok();
}

std::string Key(const ArchiveId& id, RowKind kind) {
  std::string key;
  id.AppendTo(&key);
  key.push_back(static_cast<char>(kind));
  return key;
}

std::string Key(const ArchiveId& id, RowKind kind, uint32_t number) {
  std::string key = Key(id, kind);
  AppendBigEndian32(&key, number);
  return key;
}

std::string Key(const ArchiveId& id, RowKind kind, uint32_t directory, std::string_view name) {
  std::string key = Key(id, kind, directory);
  key.append(name);
  return key;
}

std::string AfterPrefix(std::string prefix) {
  while (prefix.back() == '\xff') prefix.pop_back();
  ++prefix.back();
  return prefix;
}

std::string DirectoryRangeKey(uint64_t first_directory) {
  std::string key = Key(ArchiveId{}, RowKind::kDirectoryRange);
  AppendBigEndian64(&key, first_directory);
  return key;
}

}  // namespace tarn::index

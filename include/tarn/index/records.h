// The records of an index and their bytes (docs/index-format.md has every byte; golden roots in tests/compat
// pin them).
//
// Every key starts with the 24 bytes of an ArchiveId and one byte of kind; integers in keys are big-endian,
// so that keys sort as numbers do. Every value is a record of varints and length-prefixed bytes, decoded with
// bounds checks: a decoder accepts exactly what an encoder writes and reports anything else as kCorrupt. A
// value may grow fields at its end only under a new feature flag of the root.
#ifndef TARN_INDEX_RECORDS_H_
#define TARN_INDEX_RECORDS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/io/random_access_file.h"
#include "tarn/tar/finding.h"
#include "tarn/tar/member.h"
#include "tarn/tar/tree_builder.h"

namespace tarn::index {

// Kinds of rows: do not renumber.
enum class RowKind : uint8_t {
  // Below the ArchiveId of an archive or loose file.
  kArchiveFacts = 0x01,
  kChunkChecksums = 0x02,  // + be32 row; kChunksPerRow checksums a row
  kDentry = 0x03,          // + be32 directory number + name
  kMember = 0x04,          // + be32 ordinal
  kDirectory = 0x05,       // + be32 directory number
  kFinding = 0x06,         // + be32 position
  // Below the null ArchiveId: the generation itself.
  kGenerationFacts = 0x11,
  kTreeDentry = 0x13,      // + be32 tree directory number + name: the tree above and between archives
  kManifest = 0x14,        // + be32 archive number
  kTreeDirectory = 0x15,   // + be32 tree directory number
  kDirectoryRange = 0x16,  // + be64 first directory number of an archive
  // 0x20 to 0x2f: views. 0x30 to 0x3f: sidecars. Unused in format 1; readers refuse what a feature flag does
  // not name.
};

inline constexpr uint32_t kChunksPerRow = 512;

// ---- Archives
// ------------------------------------------------------------------------------------------------------

// What most members share, stored once: the values of the archive's first file member.
struct MemberDefaults {
  uint32_t mode = 0;
  uint64_t uid = 0;
  uint64_t gid = 0;
  std::string user_name;
  std::string group_name;
  int64_t mtime = 0;

  bool operator==(const MemberDefaults&) const = default;
};

struct ArchiveFacts {
  bool is_tar = true;          // false: a loose file; only facts and chunk checksums are stored
  uint64_t members = 0;        // all, replaced ones included
  uint64_t dentries = 0;       // names in the tree
  uint32_t directories = 1;    // the root included
  uint64_t replaced = 0;       // hidden by a later member of the same name
  uint64_t unshown = 0;        // no place in the tree
  uint64_t logical_bytes = 0;  // sum of logical sizes of all members
  uint64_t end_offset = 0;     // behind the last byte that belongs to the archive
  uint64_t warnings = 0;       // findings, kept or not
  uint64_t errors = 0;
  MemberDefaults defaults;

  bool operator==(const ArchiveFacts&) const = default;
};

// A member as stored: its header's facts, its place, its links.
struct MemberRecord {
  tar::MemberType type = tar::MemberType::kRegular;
  uint32_t mode = 0;
  uint64_t uid = 0;
  uint64_t gid = 0;
  std::string user_name;
  std::string group_name;
  int64_t mtime = 0;
  uint32_t mtime_ns = 0;
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t logical_size = 0;
  uint64_t stored_size = 0;
  uint64_t header_offset = 0;
  uint64_t data_offset = 0;
  std::vector<tar::Extent> extents;
  uint32_t directory = tar::kNoDirectory;  // where it stands; kNoDirectory: not shown
  std::string name;                        // last component; the whole name as stored when not shown
  std::string link;                        // target as the archive has it
  uint32_t links = 1;                      // st_nlink; 0: replaced or not shown
  std::vector<std::pair<std::string, std::string>> xattrs;

  bool operator==(const MemberRecord&) const = default;
};

struct DentryRecord {
  tar::MemberType type = tar::MemberType::kRegular;  // of what it resolves to
  uint32_t own_ordinal = tar::kNoOrdinal;
  uint32_t target_ordinal = tar::kNoOrdinal;
  uint32_t child_directory = tar::kNoDirectory;

  bool operator==(const DentryRecord&) const = default;
};

struct DirectoryRecord {
  uint32_t parent = 0;
  std::string name;
  uint32_t ordinal = tar::kNoOrdinal;
  uint32_t entries = 0;
  uint32_t subdirectories = 0;

  bool operator==(const DirectoryRecord&) const = default;
};

// ---- Generations
// ---------------------------------------------------------------------------------------------------

enum class ManifestKind : uint8_t {
  kArchive = 0,      // a tar whose members are shown
  kLooseFile = 1,    // shown as it is
  kQuarantined = 2,  // a tar with error findings: not shown, named in status
};

// One path of a dataset: what was published there, and hints that tell cheaply whether it still is.
struct ManifestRow {
  uint32_t number = 0;  // archive number within the dataset: for good (DESIGN section 5)
  std::string path;     // relative to the dataset's directory
  ManifestKind kind = ManifestKind::kArchive;
  ArchiveId id;
  io::FileIdentity hint;         // as it was when its bytes were read
  io::FileAccess access;         // who could read it then
  uint32_t tree_directory = 0;   // tree directory that shows it
  std::string shown_name;        // its name there: path's last component, suffix dropped for archives
  uint64_t first_directory = 0;  // of its directories, in the generation's numbers; archives only
  uint32_t directories = 0;      // how many
  uint64_t members = 0;
  uint64_t warnings = 0;
  uint64_t errors = 0;

  bool operator==(const ManifestRow&) const = default;
};

enum class TreeDentryKind : uint8_t { kDirectory = 0, kArchive = 1, kLooseFile = 2 };

struct TreeDentryRecord {
  TreeDentryKind kind = TreeDentryKind::kDirectory;
  uint32_t number = 0;  // tree directory number, or archive number

  bool operator==(const TreeDentryRecord&) const = default;
};

struct TreeDirectoryRecord {
  uint32_t parent = 0;
  std::string name;
  uint32_t entries = 0;
  uint32_t subdirectories = 0;  // archives shown as directories included

  bool operator==(const TreeDirectoryRecord&) const = default;
};

// Directory numbers of a generation are dealt out archive by archive: who has those from the key's number on.
struct DirectoryRangeRecord {
  uint32_t number = 0;       // archive number
  uint32_t directories = 0;  // how many directory numbers the archive has

  bool operator==(const DirectoryRangeRecord&) const = default;
};

struct GenerationFacts {
  uint32_t format_version = 0;
  uint64_t incompatible_features = 0;  // bits a reader must know
  std::string root_uuid;               // of the index root it was made in
  std::string dataset;
  uint32_t dataset_number = 0;
  uint32_t generation = 0;
  Digest digest;             // of the canonical manifest
  int64_t created = 0;       // seconds since 1970-01-01 UTC; outside the digest
  std::string writer;        // "tarn-index 0.1.0"
  std::string source_path;   // the dataset's directory relative to a source root (--relative-to)
  std::string view;          // canonical text of the view; empty: by-archive layout
  uint32_t next_number = 1;  // next free archive number of the dataset
  uint32_t archives = 0;
  uint32_t loose_files = 0;
  uint32_t quarantined = 0;
  uint32_t tree_directories = 1;  // numbers 0 to this - 1
  uint64_t directories = 1;       // of the whole generation
  uint64_t members = 0;
  uint64_t bytes = 0;  // of archives and loose files

  bool operator==(const GenerationFacts&) const = default;
};

// ---- Codec
// ---------------------------------------------------------------------------------------------------------
// Encode appends to `out`. Decode gives kCorrupt unless `bytes` is exactly one record; `*record` is then
// unspecified. Decoders reuse the record's memory. What is encoded must keep what its type promises
// (nanoseconds below 10^9, enumerators that exist, no negative archive offset but kHole).

void Encode(const ArchiveFacts& facts, std::string* out);
Status Decode(std::string_view bytes, ArchiveFacts* facts);
// Fields equal to `defaults` cost no bytes.
void Encode(const MemberRecord& member, const MemberDefaults& defaults, std::string* out);
Status Decode(std::string_view bytes, const MemberDefaults& defaults, MemberRecord* member);
void Encode(const DentryRecord& dentry, std::string* out);
Status Decode(std::string_view bytes, DentryRecord* dentry);
void Encode(const DirectoryRecord& directory, std::string* out);
Status Decode(std::string_view bytes, DirectoryRecord* directory);
void Encode(const tar::Finding& finding, std::string* out);
Status Decode(std::string_view bytes, tar::Finding* finding);
void Encode(const ManifestRow& row, std::string* out);
Status Decode(std::string_view bytes, ManifestRow* row);
void Encode(const TreeDentryRecord& dentry, std::string* out);
Status Decode(std::string_view bytes, TreeDentryRecord* dentry);
void Encode(const TreeDirectoryRecord& directory, std::string* out);
Status Decode(std::string_view bytes, TreeDirectoryRecord* directory);
void Encode(const DirectoryRangeRecord& range, std::string* out);
Status Decode(std::string_view bytes, DirectoryRangeRecord* range);
void Encode(const GenerationFacts& facts, std::string* out);
Status Decode(std::string_view bytes, GenerationFacts* facts);
// One row of chunk checksums: 8 bytes each, most significant first. Decode appends to `checksums`.
void EncodeChunkRow(std::span<const uint64_t> checksums, std::string* out);
Status DecodeChunkRow(std::string_view bytes, std::vector<uint64_t>* checksums);

// Keys.
std::string Key(const ArchiveId& id, RowKind kind);
std::string Key(const ArchiveId& id, RowKind kind, uint32_t number);
std::string Key(const ArchiveId& id, RowKind kind, uint32_t directory, std::string_view name);
std::string DirectoryRangeKey(uint64_t first_directory);

}  // namespace tarn::index

#endif  // TARN_INDEX_RECORDS_H_

// Reads rows of a generation's RocksDB directory. The directory is immutable and opened read-only; what a
// lookup needs beside RocksDB (facts, whose directory a number is) is read once at the start.
#include "tarn/index/generation_reader.h"

#include <fmt/format.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "index/format.h"
#include "index/key.h"
#include "index/rocksdb_options.h"
#include "index/rocksdb_status.h"
#include "index/row_scan.h"
#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

template <typename Record, typename Base>
class NameCursor final : public Base {
 public:
  NameCursor(rocksdb::DB* db, const ArchiveId& id, RowKind kind, uint32_t directory, std::string_view what)
      : scan_(db, Key(id, kind, directory), what) {}

  Status Seek(std::string_view after) override { return scan_.SeekBehind(after); }

  Result<bool> Next(std::string_view* name, Record* record) override {
    TARN_ASSIGN_OR_RETURN(const bool found, scan_.Next());
    if (!found) return false;
    *name = scan_.suffix();
    TARN_RETURN_IF_ERROR(scan_.InContext(Decode(scan_.value(), record)));
    return true;
  }

 private:
  RowScan scan_;
};

// A directory in archive order asks for neighbours: a few steps are cheaper than a search.
class OrdinalCursor final : public MemberCursor {
 public:
  OrdinalCursor(rocksdb::DB* db, const ArchiveId& id, const MemberDefaults& defaults, std::string_view what)
      : scan_(db, Key(id, RowKind::kMember), what), defaults_(defaults) {}

  Result<bool> Get(uint32_t ordinal, MemberRecord* member) override {
    TARN_ASSIGN_OR_RETURN(const bool found, GoTo(ordinal));
    if (!found) return false;
    TARN_RETURN_IF_ERROR(scan_.InContext(Decode(scan_.value(), defaults_, member)));
    return true;
  }

 private:
  static constexpr uint32_t kSteps = 8;

  Result<bool> GoTo(uint32_t ordinal) {
    if (at_ && *at_ == ordinal) return true;
    if (!at_ || ordinal < *at_ || ordinal - *at_ > kSteps) {
      std::string suffix;
      AppendBigEndian32(&suffix, ordinal);
      TARN_RETURN_IF_ERROR(scan_.SeekTo(suffix));
    }
    at_.reset();
    for (;;) {
      TARN_ASSIGN_OR_RETURN(const bool found, scan_.Next());
      if (!found) return false;
      if (scan_.suffix().size() != sizeof(uint32_t)) return scan_.BadKey();
      const uint32_t here = ReadBigEndian32(scan_.suffix().data());
      if (here > ordinal) return false;
      if (here == ordinal) break;
    }
    at_ = ordinal;
    return true;
  }

  RowScan scan_;
  const MemberDefaults& defaults_;
  std::optional<uint32_t> at_;  // where the scan stands
};

class RocksGenerationReader final : public GenerationReader {
 public:
  RocksGenerationReader(std::unique_ptr<rocksdb::DB> db, std::string directory)
      : db_(std::move(db)), directory_(std::move(directory)) {}

  Status Start();

  const GenerationFacts& facts() const override { return facts_; }

  Result<bool> GetManifestRow(uint32_t number, ManifestRow* row) const override {
    TARN_ASSIGN_OR_RETURN(const bool found, Get(StackKey(ArchiveId{}, RowKind::kManifest, number), row));
    if (found && row->number != number)
      return Damaged(fmt::format("manifest row {} says {}", number, row->number));
    return found;
  }
  Status ForEachManifestRow(const std::function<Status(const ManifestRow&)>& visit) const override;
  Result<bool> GetTreeDentry(uint32_t directory, std::string_view name,
                             TreeDentryRecord* record) const override {
    return Get(StackKey(ArchiveId{}, RowKind::kTreeDentry, directory, name), record);
  }
  Result<bool> GetTreeDirectory(uint32_t number, TreeDirectoryRecord* record) const override {
    return Get(StackKey(ArchiveId{}, RowKind::kTreeDirectory, number), record);
  }
  std::unique_ptr<TreeDentryCursor> TreeDentries(uint32_t directory) const override {
    return std::make_unique<NameCursor<TreeDentryRecord, TreeDentryCursor>>(
        db_.get(), ArchiveId{}, RowKind::kTreeDentry, directory, directory_);
  }
  Result<bool> ArchiveOfDirectory(uint64_t directory, uint32_t* archive_number) const override;

  Result<bool> GetArchiveFacts(const ArchiveId& id, ArchiveFacts* facts) const override {
    return Get(StackKey(id, RowKind::kArchiveFacts), facts);
  }
  Result<bool> GetDentry(const ArchiveId& id, uint32_t directory, std::string_view name,
                         DentryRecord* record) const override {
    return Get(StackKey(id, RowKind::kDentry, directory, name), record);
  }
  Result<bool> GetMember(const ArchiveId& id, const MemberDefaults& defaults, uint32_t ordinal,
                         MemberRecord* member) const override {
    return GetWith(StackKey(id, RowKind::kMember, ordinal),
                   [&](std::string_view bytes) { return Decode(bytes, defaults, member); });
  }
  Result<bool> GetDirectory(const ArchiveId& id, uint32_t number, DirectoryRecord* record) const override {
    return Get(StackKey(id, RowKind::kDirectory, number), record);
  }
  Status GetChunkChecksums(const ArchiveId& id, uint64_t first, uint64_t count,
                           std::vector<uint64_t>* checksums) const override;
  Status ForEachFinding(const ArchiveId& id,
                        const std::function<Status(const tar::Finding&)>& visit) const override;
  std::unique_ptr<DentryCursor> Dentries(const ArchiveId& id, uint32_t directory) const override {
    return std::make_unique<NameCursor<DentryRecord, DentryCursor>>(db_.get(), id, RowKind::kDentry,
                                                                    directory, directory_);
  }
  std::unique_ptr<MemberCursor> Members(const ArchiveId& id, const MemberDefaults& defaults) const override {
    return std::make_unique<OrdinalCursor>(db_.get(), id, defaults, directory_);
  }

  Status CheckWhole() const override;

 private:
  struct Range {
    uint64_t first;
    DirectoryRangeRecord record;
  };

  Status Damaged(std::string_view what) const {
    return Status(ErrorCode::kCorrupt, fmt::format("generation '{}' is damaged: {}", directory_, what))
        .WithHint("publish the dataset again with --identity=full; other generations are not concerned");
  }

  // Finds a row and gives its bytes to `decode`; false when there is no such row.
  template <typename DecodeFunction>
  Result<bool> GetWith(const StackKey& key, const DecodeFunction& decode) const {
    rocksdb::PinnableSlice value;
    const rocksdb::Status status = db_->Get(read_options_, db_->DefaultColumnFamily(), key.slice(), &value);
    if (status.IsNotFound()) return false;
    if (!status.ok()) return FromRocksDb(status, fmt::format("cannot read generation '{}'", directory_));
    if (const Status decoded = decode(View(value)); !decoded.ok()) return Damaged(decoded.message());
    return true;
  }
  template <typename Record>
  Result<bool> Get(const StackKey& key, Record* record) const {
    return GetWith(key, [record](std::string_view bytes) { return Decode(bytes, record); });
  }

  Status LoadRanges();
  Status CheckManifest() const;
  Status CheckArchive(const ManifestRow& row) const;
  Status CheckTree() const;
  Status CheckTreeDentry(uint32_t directory, std::string_view name, const TreeDentryRecord& record) const;

  std::unique_ptr<rocksdb::DB> db_;
  std::string directory_;
  rocksdb::ReadOptions read_options_;
  GenerationFacts facts_;
  std::vector<Range> ranges_;  // rising
};

Status RocksGenerationReader::Start() {
  std::string bytes;
  TARN_ASSIGN_OR_RETURN(const bool found, GetWith(StackKey(ArchiveId{}, RowKind::kGenerationFacts),
                                                  [&bytes](std::string_view value) {
                                                    bytes = value;
                                                    return Status::Ok();
                                                  }));
  if (!found) return Damaged("it has no facts of its own");
  // Before anything else is believed.
  uint32_t version = 0;
  uint64_t features = 0;
  if (!PeekFormat(bytes, &version, &features)) return Damaged("its facts say no format");
  TARN_RETURN_IF_ERROR(CheckFormat(version, features, fmt::format("generation '{}'", directory_)));
  if (const Status decoded = Decode(bytes, &facts_); !decoded.ok()) return Damaged(decoded.message());
  return LoadRanges();
}

Status RocksGenerationReader::LoadRanges() {
  RowScan scan(db_.get(), Key(ArchiveId{}, RowKind::kDirectoryRange), directory_);
  for (;;) {
    TARN_ASSIGN_OR_RETURN(const bool found, scan.Next());
    if (!found) return Status::Ok();
    if (scan.suffix().size() != sizeof(uint64_t)) return scan.BadKey();
    Range range{ReadBigEndian64(scan.suffix().data()), {}};
    TARN_RETURN_IF_ERROR(scan.InContext(Decode(scan.value(), &range.record)));
    ranges_.push_back(range);
  }
}

Status RocksGenerationReader::ForEachManifestRow(
    const std::function<Status(const ManifestRow&)>& visit) const {
  RowScan scan(db_.get(), Key(ArchiveId{}, RowKind::kManifest), directory_);
  ManifestRow row;
  for (;;) {
    TARN_ASSIGN_OR_RETURN(const bool found, scan.Next());
    if (!found) return Status::Ok();
    TARN_RETURN_IF_ERROR(scan.InContext(Decode(scan.value(), &row)));
    TARN_RETURN_IF_ERROR(visit(row));
  }
}

Result<bool> RocksGenerationReader::ArchiveOfDirectory(uint64_t directory, uint32_t* archive_number) const {
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), directory,
                                [](uint64_t number, const Range& other) { return number < other.first; });
  if (range == ranges_.begin()) return false;
  --range;
  if (directory - range->first >= range->record.directories) return false;
  *archive_number = range->record.number;
  return true;
}

Status RocksGenerationReader::GetChunkChecksums(const ArchiveId& id, uint64_t first, uint64_t count,
                                                std::vector<uint64_t>* checksums) const {
  checksums->clear();
  std::vector<uint64_t> row;
  for (uint64_t chunk = first; chunk - first < count;) {
    const uint64_t number = chunk / kChunksPerRow;
    const uint64_t in_row = chunk % kChunksPerRow;
    row.clear();
    if (number <= UINT32_MAX) {
      TARN_ASSIGN_OR_RETURN(const bool found,
                            GetWith(StackKey(id, RowKind::kChunkChecksums, static_cast<uint32_t>(number)),
                                    [&row](std::string_view bytes) { return DecodeChunkRow(bytes, &row); }));
      if (!found) row.clear();
    }
    if (in_row >= row.size()) {
      return Damaged(fmt::format("archive {} has no checksum of chunk {}", id.ToString(), chunk));
    }
    const uint64_t take = std::min(row.size() - in_row, count - (chunk - first));
    const auto begin = row.begin() + static_cast<ptrdiff_t>(in_row);
    checksums->insert(checksums->end(), begin, begin + static_cast<ptrdiff_t>(take));
    chunk += take;
  }
  return Status::Ok();
}

Status RocksGenerationReader::ForEachFinding(const ArchiveId& id,
                                             const std::function<Status(const tar::Finding&)>& visit) const {
  RowScan scan(db_.get(), Key(id, RowKind::kFinding), directory_);
  tar::Finding finding;
  for (;;) {
    TARN_ASSIGN_OR_RETURN(const bool found, scan.Next());
    if (!found) return Status::Ok();
    TARN_RETURN_IF_ERROR(scan.InContext(Decode(scan.value(), &finding)));
    TARN_RETURN_IF_ERROR(visit(finding));
  }
}

// ---- Whether everything is there --------------------------------------------------------------------------

Status RocksGenerationReader::CheckWhole() const {
  TARN_RETURN_IF_ERROR(CheckManifest());
  return CheckTree();
}

Status RocksGenerationReader::CheckManifest() const {
  uint64_t kinds[3] = {};
  TARN_RETURN_IF_ERROR(ForEachManifestRow([&](const ManifestRow& row) {
    ++kinds[static_cast<size_t>(row.kind)];
    return CheckArchive(row);
  }));
  const uint64_t expected[3] = {facts_.archives, facts_.loose_files, facts_.quarantined};
  static constexpr const char* kNames[3] = {"archives", "loose files", "quarantined archives"};
  for (size_t kind = 0; kind < 3; ++kind) {
    if (kinds[kind] != expected[kind]) {
      return Damaged(
          fmt::format("it should have {} {} and has {}", expected[kind], kNames[kind], kinds[kind]));
    }
  }
  return Status::Ok();
}

Status RocksGenerationReader::CheckArchive(const ManifestRow& row) const {
  const std::string shown = fmt::format("'{}' (archive {})", EscapeName(row.path), row.id.ToString());
  if (row.number >= facts_.next_number) {
    return Damaged(
        fmt::format("{} has number {}, but the next free one is {}", shown, row.number, facts_.next_number));
  }
  ArchiveFacts facts;
  TARN_ASSIGN_OR_RETURN(const bool found, GetArchiveFacts(row.id, &facts));
  if (!found) return Damaged(fmt::format("the rows of {} are missing", shown));
  if (row.kind != ManifestKind::kArchive) return Status::Ok();
  if (row.directories != facts.directories) {
    return Damaged(fmt::format("{} has {} directories, but {} numbers for them", shown, facts.directories,
                               row.directories));
  }
  uint32_t owner = 0;
  for (const uint64_t directory : {row.first_directory, row.first_directory + row.directories - 1}) {
    TARN_ASSIGN_OR_RETURN(const bool owned, ArchiveOfDirectory(directory, &owner));
    if (!owned || owner != row.number)
      return Damaged(fmt::format("directory {} is not that of {}", directory, shown));
  }
  return Status::Ok();
}

Status RocksGenerationReader::CheckTree() const {
  for (uint32_t directory = 0; directory < facts_.tree_directories; ++directory) {
    TreeDirectoryRecord record;
    TARN_ASSIGN_OR_RETURN(const bool found, GetTreeDirectory(directory, &record));
    if (!found) return Damaged(fmt::format("tree directory {} is missing", directory));
    const auto cursor = TreeDentries(directory);
    uint32_t entries = 0;
    for (;; ++entries) {
      std::string_view name;
      TreeDentryRecord dentry;
      TARN_ASSIGN_OR_RETURN(const bool more, cursor->Next(&name, &dentry));
      if (!more) break;
      TARN_RETURN_IF_ERROR(CheckTreeDentry(directory, name, dentry));
    }
    if (entries != record.entries) {
      return Damaged(fmt::format("tree directory {} should hold {} names and holds {}", directory,
                                 record.entries, entries));
    }
  }
  return Status::Ok();
}

Status RocksGenerationReader::CheckTreeDentry(uint32_t directory, std::string_view name,
                                              const TreeDentryRecord& record) const {
  bool found = false;
  if (record.kind == TreeDentryKind::kDirectory) {
    found = record.number < facts_.tree_directories;
  } else {
    ManifestRow row;
    TARN_ASSIGN_OR_RETURN(found, GetManifestRow(record.number, &row));
  }
  if (found) return Status::Ok();
  return Damaged(fmt::format("name '{}' in tree directory {} leads to number {}, which is not there",
                             EscapeName(name), directory, record.number));
}

}  // namespace

class BlockCache {
 public:
  std::shared_ptr<rocksdb::Cache> cache;
};

std::shared_ptr<BlockCache> MakeBlockCache(size_t bytes) {
  auto made = std::make_shared<BlockCache>();
  made->cache = NewBlockCache(bytes);
  return made;
}

Result<std::shared_ptr<const GenerationReader>> GenerationReader::Open(const std::string& directory,
                                                                       const ReaderOptions& options) {
  const std::string what = fmt::format("cannot open generation '{}'", directory);
  if (!io::Exists(directory)) return Status(ErrorCode::kNotFound, what + ": it does not exist");
  if (!io::Exists(io::JoinPath(directory, "CURRENT"))) {
    return Status(ErrorCode::kCorrupt, what + ": it has no file 'CURRENT'")
        .WithHint("publish the dataset again with --identity=full; other generations are not concerned");
  }
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened = rocksdb::DB::OpenForReadOnly(
      StoreOptions(options.block_cache == nullptr ? NewBlockCache(options.block_cache_bytes)
                                                  : options.block_cache->cache,
                   options.max_open_files),
      directory, &db);
  TARN_RETURN_IF_ERROR(FromRocksDb(opened, what));
  auto reader = std::make_shared<RocksGenerationReader>(std::unique_ptr<rocksdb::DB>(db), directory);
  TARN_RETURN_IF_ERROR(reader->Start());
  return std::shared_ptr<const GenerationReader>(std::move(reader));
}

}  // namespace tarn::index

// The order of a check: what the root says of itself, every bundle, every dataset with its generations, what
// is unfinished. A table that a generation links is read once, as the bundle it is; what a generation does
// not share (packs, copies, its own rows) is read where it lies.
#include "tarn/index/fsck.h"

#include <fmt/format.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "index/fsck_archive.h"
#include "index/fsck_generation.h"
#include "index/retired.h"
#include "index/rocksdb_options.h"
#include "index/rocksdb_status.h"
#include "index/sst.h"
#include "tarn/base/bytes.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/holds.h"
#include "tarn/index/kept_files.h"
#include "tarn/index/survey.h"
#include "tarn/index/usage.h"
#include "tarn/io/file_facts.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

constexpr size_t kSmallFile = 4096;
constexpr size_t kStoreCacheBytes = size_t{4} << 20;
constexpr int kStoreOpenFiles = 64;
// The end of a table: checksum type, two handles of varints padded to 40 bytes, version, magic number.
constexpr size_t kFooterBytes = 1 + 40 + 4 + 8;

using FileName = std::pair<uint64_t, uint64_t>;  // device and inode

// What a table holds.
struct Table {
  std::unordered_map<ArchiveId, ArchiveFacts> archives;
  std::string first_key;
  std::string last_key;
  uint64_t bytes = 0;
};

// A table of a generation, as its store lists it.
struct LiveTable {
  std::string name;
  bool is_listed = false;  // false: only the name is known
  uint64_t bytes = 0;
  std::string first_key;
  std::string last_key;
};

class Checker final {
 public:
  Checker(const IndexRoot& root, const FsckOptions& options, FsckListener* listener)
      : root_(root), options_(options), sink_(listener, options.problems_per_file) {}

  Result<FsckReport> Run() {
    TARN_RETURN_IF_ERROR(CheckTop());
    TARN_RETURN_IF_ERROR(CheckBundles());
    TARN_RETURN_IF_ERROR(CheckKept());
    TARN_RETURN_IF_ERROR(CheckDatasets());
    TARN_RETURN_IF_ERROR(CheckStaging());
    CheckHolds();
    sink_.EndFile();
    return sink_.report();
  }

 private:
  Status CheckTop();
  Status CheckBundles();
  Status CheckKept();
  Status CheckKeptBytes(const ArchiveId& id, const std::string& path);
  Status CheckDatasets();
  Status CheckDataset(const std::string& dataset, std::map<uint32_t, std::string>* numbers);
  void CheckLatest(const std::string& dataset, const std::vector<uint32_t>& all);
  Status CheckMarkers(const std::string& dataset, const std::vector<uint32_t>& all);
  Status CheckGeneration(const std::string& dataset, std::optional<uint32_t> number, uint32_t generation);
  Status CheckStore(const std::string& directory, GenerationCheck* check);
  Status ListTables(const std::string& directory, std::vector<LiveTable>* tables);
  Status CheckLiveTable(const std::string& directory, const LiveTable& live, GenerationCheck* check,
                        std::unordered_map<ArchiveId, ArchiveFacts>* archives);
  void CheckNumbersStay(const std::string& dataset, const std::vector<ManifestRow>& manifest);
  Status CheckStaging();
  void CheckHolds();

  // Reads all of a table. Rows below the null ArchiveId go to `own`; null: there must be none.
  std::optional<Table> CheckTable(const std::string& path, GenerationCheck* own);
  bool ReadRows(SstScan* scan, Table* table, GenerationCheck* own);
  void CheckFooter(const std::string& path, uint64_t bytes);

  const IndexRoot& root_;
  const FsckOptions& options_;
  FsckSink sink_;
  std::map<FileName, std::optional<Table>> tables_;  // that were read; nothing: damaged
  std::set<ArchiveId> sound_bundles_;
  // Of the dataset that is being checked: whose number it is, for good.
  std::map<uint32_t, std::pair<ArchiveId, bool>> archive_numbers_;
};

// ---- Tables -----------------------------------------------------------------------------------------------

// What a footer pads is covered by no checksum.
void Checker::CheckFooter(const std::string& path, uint64_t bytes) {
  const auto file = io::OpenFile(path);
  if (!file.ok() || bytes < kFooterBytes) return;  // reported by who opens it as a table
  std::string footer(kFooterBytes, '\0');
  const auto got =
      (*file)->ReadAt(bytes - kFooterBytes, std::as_writable_bytes(std::span(footer.data(), footer.size())));
  if (!got.ok()) return sink_.BadFile(got.status().message());
  ByteReader handles(std::string_view(footer).substr(1, 40));
  for (int i = 0; i < 4; ++i) handles.Varint();
  const std::string_view padding = handles.Bytes(handles.remaining());
  if (handles.ok() && padding.find_first_not_of('\0') == std::string_view::npos) return;
  sink_.BadFile("the table's footer is damaged", "zeros behind its handles", ToHex(padding));
}

std::optional<Table> Checker::CheckTable(const std::string& path, GenerationCheck* own) {
  const Result<io::FileFacts> facts = io::LookAt(path);
  if (!facts.ok()) {
    sink_.BadFile(facts.status().message());
    return std::nullopt;
  }
  sink_.report().bytes += facts->bytes;
  const uint64_t before = sink_.report().problems;
  CheckFooter(path, facts->bytes);
  const auto scan = SstScan::Open(path);
  Status status = scan.ok() ? (*scan)->VerifyChecksums() : scan.status();
  if (!status.ok()) {
    sink_.BadFile("the table cannot be read", "", status.message());
    return std::nullopt;
  }
  Table table;
  table.bytes = facts->bytes;
  const bool read = ReadRows(scan->get(), &table, own);
  if (!read || sink_.report().problems != before) return std::nullopt;
  return table;
}

bool Checker::ReadRows(SstScan* scan, Table* table, GenerationCheck* own) {
  std::optional<ArchiveCheck> archive;
  std::string id_bytes;
  std::string previous;
  uint64_t rows = 0;
  const auto end_archive = [&] {
    if (!archive) return;
    const ArchiveId id = ArchiveId::Decode(id_bytes.data());
    if (const auto facts = archive->Finish()) table->archives.emplace(id, *facts);
    archive.reset();
  };
  for (;; ++rows) {
    const Result<bool> more = scan->Next();
    if (!more.ok()) {
      sink_.BadFile("the table cannot be read", "", more.status().message());
      return false;
    }
    if (!*more) break;
    const std::string_view key = scan->key();
    if (key.size() <= ArchiveId::kEncodedBytes) {
      sink_.BadRow(key, "a key that no writer makes");
      continue;
    }
    if (rows == 0) table->first_key = key;
    if (rows != 0 && key <= previous) sink_.BadRow(key, "keys do not rise", "", ToHex(previous));
    previous = key;
    if (key.substr(0, ArchiveId::kEncodedBytes) != id_bytes) {
      end_archive();
      id_bytes = key.substr(0, ArchiveId::kEncodedBytes);
      const ArchiveId id = ArchiveId::Decode(id_bytes.data());
      if (!id.IsNull()) archive.emplace(id, &sink_);
      if (id.IsNull() && own == nullptr) sink_.BadRow(key, "a bundle has a row of a generation");
    }
    if (archive) {
      archive->Row(key, scan->value());
    } else if (own != nullptr) {
      own->Row(key, scan->value());
    }
  }
  end_archive();
  sink_.report().rows += rows;
  table->last_key = previous;
  if (rows != scan->rows()) {
    sink_.BadFile("the table holds another number of rows than it says", std::to_string(scan->rows()),
                  std::to_string(rows));
  }
  return true;
}

// ---- The root and its bundles -----------------------------------------------------------------------------

Status Checker::CheckTop() {
  TARN_RETURN_IF_ERROR(sink_.StartFile(root_.path()));
  static const std::set<std::string> kKnown = {"format",  "numbers",    "bundles", "datasets",
                                               "staging", "lost+found", "holds",   ".snapshot",
                                               "kept",    "watch.lock"};
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(root_.path()));
  for (const std::string& name : names) {
    if (!kKnown.contains(name))
      sink_.Note(fmt::format("'{}/{}' is not Tarn's", root_.path(), EscapeName(name)));
  }
  for (const char* const name : {"numbers", "bundles", "datasets", "staging"}) {
    if (!io::IsDirectory(io::JoinPath(root_.path(), name))) {
      sink_.Problem({io::JoinPath(root_.path(), name), "", "the directory is missing", "", "",
                     "restore it from a backup, or index into a new root"});
    }
  }
  return Status::Ok();
}

Status Checker::CheckBundles() {
  if (!io::IsDirectory(io::JoinPath(root_.path(), "bundles"))) return Status::Ok();
  sink_.set_help(kRemoveBundle);
  std::vector<std::string> foreign;
  TARN_ASSIGN_OR_RETURN(const std::vector<StoredBundle> bundles,
                        ListBundles(root_, [&](const std::string& path) { foreign.push_back(path); }));
  for (const std::string& path : foreign) {
    if (io::BaseName(path).front() == '.') {
      sink_.Note(fmt::format("'{}' is left over", path));
    } else {
      sink_.Problem({path, "", "no bundle has this name in this place", "bundles/3f/<size>-<digest>.sst", "",
                     "remove or move the file"});
    }
  }
  for (const StoredBundle& bundle : bundles) {
    TARN_RETURN_IF_ERROR(sink_.StartFile(bundle.path));
    ++sink_.report().bundles;
    const uint64_t before = sink_.report().problems;
    std::optional<Table> table = CheckTable(bundle.path, nullptr);
    if (table && (table->archives.size() != 1 || !table->archives.contains(bundle.id))) {
      std::string found;
      for (const auto& [id, facts] : table->archives) found += (found.empty() ? "" : ", ") + id.ToString();
      sink_.BadFile("the bundle is not that of its name", bundle.id.ToString(), found);
    }
    if (sink_.report().problems != before) table.reset();
    if (table) sound_bundles_.insert(bundle.id);
    tables_.emplace(FileName{bundle.facts.device, bundle.facts.inode}, std::move(table));
  }
  sink_.EndFile();
  return Status::Ok();
}

Status Checker::CheckKept() {
  std::vector<std::string> foreign;
  TARN_ASSIGN_OR_RETURN(const std::vector<StoredKept> kept,
                        ListKept(root_, [&](const std::string& path) { foreign.push_back(path); }));
  for (const std::string& path : foreign) {
    sink_.Problem({path, "", "no kept file has this name in this place", "kept/3f/<size>-<digest>", "",
                   "remove or move the file"});
  }
  sink_.set_help(kRemoveKept);
  for (const StoredKept& file : kept) {
    TARN_RETURN_IF_ERROR(sink_.StartFile(file.path));
    ++sink_.report().kept_files;
    sink_.report().kept_bytes += file.id.size;
    if (file.facts.bytes != file.id.size) {
      sink_.BadFile("the kept file has another size than its name says",
                    fmt::format("{} bytes", file.id.size), fmt::format("{} bytes", file.facts.bytes));
    } else if (options_.archive_id) {
      TARN_RETURN_IF_ERROR(CheckKeptBytes(file.id, file.path));
    }
  }
  sink_.EndFile();
  return Status::Ok();
}

Status Checker::CheckKeptBytes(const ArchiveId& id, const std::string& path) {
  const Result<ArchiveId> found = options_.archive_id(path);
  if (found.code() == ErrorCode::kCancelled) return found.status();
  if (!found.ok()) {
    sink_.BadFile("the kept file cannot be read", "", found.status().message());
  } else if (*found != id) {
    sink_.BadFile("the kept file does not hold the bytes of its name", id.ToString(), found->ToString());
  }
  return Status::Ok();
}

// ---- Datasets ---------------------------------------------------------------------------------------------

Status Checker::CheckDatasets() {
  if (!io::IsDirectory(io::JoinPath(root_.path(), "datasets"))) return Status::Ok();
  std::map<uint32_t, std::string> numbers;
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> datasets, root_.Datasets());
  for (const std::string& dataset : datasets) TARN_RETURN_IF_ERROR(CheckDataset(dataset, &numbers));
  return Status::Ok();
}

Status Checker::CheckDataset(const std::string& dataset, std::map<uint32_t, std::string>* numbers) {
  TARN_RETURN_IF_ERROR(sink_.StartFile(root_.DatasetPath(dataset)));
  sink_.set_help("restore it from a backup: node ids of every mount depend on it");
  std::optional<uint32_t> number;
  if (const Result<uint32_t> read = root_.DatasetNumber(dataset); read.ok()) {
    number = *read;
    const auto [other, fresh] = numbers->emplace(*read, dataset);
    if (!fresh) sink_.BadFile(fmt::format("dataset '{}' has the number of '{}'", dataset, other->second));
    const std::string taken = fmt::format("{}/numbers/{}", root_.path(), *read);
    if (!io::IsDirectory(taken)) sink_.BadFile("the dataset's number is not taken", "a directory " + taken);
    const auto owner = io::ReadFile(io::JoinPath(taken, "dataset"), kSmallFile);
    if (owner.ok() && *owner != dataset + "\n") {
      sink_.BadFile("the dataset's number is that of another", dataset, EscapeName(*owner));
    }
  } else {
    sink_.BadFile(read.status().message());
  }
  if (const auto quota = ReadQuota(root_, dataset); !quota.ok()) {
    sink_.set_help(quota.status().hint());
    sink_.BadFile(quota.status().message());
  }
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> all, root_.AllGenerations(dataset));
  CheckLatest(dataset, all);
  TARN_RETURN_IF_ERROR(CheckMarkers(dataset, all));
  archive_numbers_.clear();
  for (const uint32_t generation : all) TARN_RETURN_IF_ERROR(CheckGeneration(dataset, number, generation));
  sink_.EndFile();
  return Status::Ok();
}

void Checker::CheckLatest(const std::string& dataset, const std::vector<uint32_t>& all) {
  const std::string path = root_.DatasetPath(dataset) + "/LATEST";
  const Result<std::string> text = io::ReadFile(path, kSmallFile);
  const Result<uint32_t> newest = root_.Latest(dataset);
  sink_.set_help("any publish of the dataset writes it again");
  if (!text.ok() && text.code() != ErrorCode::kNotFound) return sink_.BadFile(text.status().message());
  if (!text.ok()) {
    if (newest.ok()) sink_.Note(fmt::format("'{}' is missing; readers find the newest without it", path));
    return;
  }
  const bool names_one = std::any_of(
      all.begin(), all.end(), [&](uint32_t generation) { return *text == fmt::format("{}\n", generation); });
  if (!names_one) {
    return sink_.Problem({path, "", "it names no generation", newest.ok() ? std::to_string(*newest) : "none",
                          EscapeName(std::string_view(*text).substr(0, 32)),
                          "any publish of the dataset writes it again"});
  }
  std::vector<uint32_t> listed = all;
  std::erase_if(listed, [&](uint32_t generation) { return root_.IsRetired(dataset, generation); });
  // A process that died between its rename and the pointer leaves one that is behind.
  if (!listed.empty() && *text != fmt::format("{}\n", listed.back())) {
    sink_.Note(fmt::format("'{}' is behind: the newest generation is {}", path, listed.back()));
  }
}

Status Checker::CheckMarkers(const std::string& dataset, const std::vector<uint32_t>& all) {
  const std::string directory = io::JoinPath(root_.DatasetPath(dataset), kRetiredDirectory);
  if (!io::IsDirectory(directory)) return Status::Ok();
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(directory));
  for (const std::string& name : names) {
    const auto generation =
        std::find_if(all.begin(), all.end(), [&](uint32_t number) { return name == std::to_string(number); });
    if (generation == all.end()) {
      sink_.Note(fmt::format("'{}/{}' marks no generation that is there", directory, EscapeName(name)));
    } else if (const auto since = root_.RetiredSince(dataset, *generation); !since.ok()) {
      sink_.set_help(since.status().hint());
      sink_.BadFile(since.status().message());
    }
  }
  return Status::Ok();
}

// ---- Generations ------------------------------------------------------------------------------------------

Status Checker::CheckGeneration(const std::string& dataset, std::optional<uint32_t> number,
                                uint32_t generation) {
  const std::string directory = root_.GenerationPath(dataset, generation);
  TARN_RETURN_IF_ERROR(sink_.StartFile(directory));
  sink_.set_help(kRestoreGeneration);
  ++sink_.report().generations;
  GenerationCheck check({.root_uuid = root_.uuid(),
                         .format_version = root_.format_version(),
                         .dataset = dataset,
                         .dataset_number = number,
                         .generation = generation},
                        &sink_);
  TARN_RETURN_IF_ERROR(CheckStore(directory, &check));
  CheckNumbersStay(dataset, check.manifest());
  for (const ManifestRow& row : check.manifest()) {
    const std::string bundle = root_.BundlePath(row.id);
    if (sound_bundles_.contains(row.id) || io::Exists(bundle)) continue;  // a damaged one was reported
    sink_.Problem(
        {bundle, "",
         fmt::format("the bundle of '{}' in {}@{} is missing", EscapeName(row.path), dataset, generation), "",
         "", std::string(kPublishAgain)});
  }
  return Status::Ok();
}

// The tables of a generation as its store lists them. What cannot be opened has no list: then all that lie
// there, so that it is known how much of it is sound.
Status Checker::ListTables(const std::string& directory, std::vector<LiveTable>* tables) {
  rocksdb::DB* opened = nullptr;
  Status status = GenerationReader::Open(directory).status();
  if (status.ok()) {
    status =
        FromRocksDb(rocksdb::DB::OpenForReadOnly(
                        StoreOptions(NewBlockCache(kStoreCacheBytes), kStoreOpenFiles), directory, &opened),
                    directory);
  }
  const std::unique_ptr<rocksdb::DB> db(opened);
  if (status.ok()) {
    std::vector<rocksdb::LiveFileMetaData> live;
    db->GetLiveFilesMetaData(&live);
    for (const auto& file : live) {
      tables->push_back({file.relative_filename, true, file.size, file.smallestkey, file.largestkey});
    }
  } else {
    sink_.BadFile("the generation cannot be opened", "", status.message());
  }
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(directory));
  for (const std::string& name : names) {
    const bool known =
        std::any_of(tables->begin(), tables->end(), [&](const auto& t) { return t.name == name; });
    if (!name.ends_with(".sst") || known) continue;
    if (status.ok())
      sink_.BadFile(fmt::format("the generation does not know its file '{}'", EscapeName(name)));
    if (!status.ok()) tables->push_back({name, false, 0, "", ""});
  }
  return Status::Ok();
}

Status Checker::CheckStore(const std::string& directory, GenerationCheck* check) {
  std::vector<LiveTable> tables;
  TARN_RETURN_IF_ERROR(ListTables(directory, &tables));
  std::unordered_map<ArchiveId, ArchiveFacts> archives;
  for (const LiveTable& table : tables) {
    TARN_RETURN_IF_ERROR(CheckLiveTable(directory, table, check, &archives));
  }
  check->Finish(archives, options_);
  return Status::Ok();
}

Status Checker::CheckLiveTable(const std::string& directory, const LiveTable& live, GenerationCheck* check,
                               std::unordered_map<ArchiveId, ArchiveFacts>* archives) {
  const std::string path = io::JoinPath(directory, live.name);
  TARN_RETURN_IF_ERROR(sink_.listener()->OnFile(path));
  const Result<io::FileFacts> facts = io::LookAt(path);
  if (!facts.ok()) {
    sink_.BadFile(fmt::format("a table is missing: {}", facts.status().message()));
    return Status::Ok();
  }
  const auto shared = tables_.find({facts->device, facts->inode});
  const std::optional<Table> own = shared == tables_.end() ? CheckTable(path, check) : std::nullopt;
  const std::optional<Table>& table = shared == tables_.end() ? own : shared->second;
  if (!table) {
    sink_.BadFile(fmt::format("its table '{}' is damaged", live.name));
    return Status::Ok();
  }
  if (live.is_listed && (table->bytes != live.bytes || table->first_key != live.first_key ||
                         table->last_key != live.last_key)) {
    sink_.BadFile(
        fmt::format("'{}' is not the table that the generation was built of", live.name),
        fmt::format("{} bytes, keys {} to {}", live.bytes, ToHex(live.first_key), ToHex(live.last_key)),
        fmt::format("{} bytes, keys {} to {}", table->bytes, ToHex(table->first_key),
                    ToHex(table->last_key)));
  }
  for (const auto& [id, archive] : table->archives) {
    if (!archives->emplace(id, archive).second) {
      sink_.BadFile(fmt::format("two tables hold the rows of archive {}", id.ToString()));
    }
  }
  return Status::Ok();
}

// A number stands for one content, seen in one way, through all generations: kernels keep pages by it.
void Checker::CheckNumbersStay(const std::string& dataset, const std::vector<ManifestRow>& manifest) {
  for (const ManifestRow& row : manifest) {
    const std::pair<ArchiveId, bool> content{row.id, row.kind == ManifestKind::kLooseFile};
    const auto [known, fresh] = archive_numbers_.emplace(row.number, content);
    if (fresh || known->second == content) continue;
    sink_.BadRow(Key(ArchiveId{}, RowKind::kManifest, row.number),
                 fmt::format("number {} of dataset '{}' stands for something else in another generation",
                             row.number, dataset),
                 known->second.first.ToString(), row.id.ToString());
  }
}

// ---- The rest ---------------------------------------------------------------------------------------------

Status Checker::CheckStaging() {
  if (!io::IsDirectory(root_.staging_path())) return Status::Ok();
  TARN_RETURN_IF_ERROR(sink_.StartFile(root_.staging_path()));
  TARN_ASSIGN_OR_RETURN(const std::vector<IndexRoot::StagingWork> works, root_.ListStaging());
  for (const IndexRoot::StagingWork& work : works) {
    sink_.Note(fmt::format("'{}' is {}", work.path,
                           work.alive ? "being worked in" : "left over; 'tarn-index gc' takes it away"));
  }
  return Status::Ok();
}

void Checker::CheckHolds() {
  if (options_.holds_directory.empty()) return;
  const auto holds = Holds(options_.holds_directory).List(options_.now_seconds);
  if (holds.ok()) return;
  sink_.Problem({options_.holds_directory, "", holds.status().message(), "", "", holds.status().hint()});
}

}  // namespace

std::string FsckProblem::ToString() const {
  std::string text = fmt::format("'{}': {}", path, what);
  if (!expected.empty()) text += fmt::format("; expected {}", expected);
  if (!found.empty()) text += fmt::format("{} found {}", expected.empty() ? ";" : ",", found);
  if (!key.empty()) text += fmt::format(" (row {})", key);
  return text;
}

Result<FsckReport> CheckRoot(const IndexRoot& root, const FsckOptions& options, FsckListener* listener) {
  return Checker(root, options, listener).Run();
}

}  // namespace tarn::index

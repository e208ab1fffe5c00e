// A generation is a RocksDB directory into which files are ingested once: bundles as hard links, packs of
// small bundles, and one file of the generation's own rows. No file overlaps another, so nothing is rewritten
// and nothing is ever compacted; a bundle keeps its bytes and times.
//
// The ingestion moves what it is given, so it is given links of its own ("incoming/"), never the bundles.
#include "tarn/index/generation_writer.h"

#include <fmt/format.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "index/kept_packs.h"
#include "index/key.h"
#include "index/rocksdb_options.h"
#include "index/rocksdb_status.h"
#include "index/sst.h"
#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/random_access_file.h"

namespace tarn::index {
namespace {

// Removes an unfinished generation.
class RemoveUnlessKept {
 public:
  explicit RemoveUnlessKept(std::string path) : path_(std::move(path)) {}
  ~RemoveUnlessKept() {
    if (kept_) return;
    if (const Status status = io::RemoveTree(path_); !status.ok()) Log(LogLevel::kWarning, status.message());
  }
  void Keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

// The bundles of a generation in key order, each once: two files with the same bytes share one.
Result<std::vector<PlacedBundle>> FindBundles(const IndexRoot& root,
                                              const std::vector<ManifestRow>& manifest) {
  std::vector<ArchiveId> ids;
  ids.reserve(manifest.size());
  for (const ManifestRow& row : manifest) ids.push_back(row.id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());

  std::vector<PlacedBundle> bundles;
  bundles.reserve(ids.size());
  for (const ArchiveId& id : ids) {
    std::string path = root.BundlePath(id);
    const auto file = io::OpenFile(path);
    if (!file.ok()) return file.status();
    TARN_ASSIGN_OR_RETURN(const io::FileStat stat, (*file)->Stat());
    bundles.push_back({id, std::move(path), stat.identity.size, stat.identity.ctime_ns});
  }
  return bundles;
}

// Copies the rows of neighbouring bundles into one file.
Status WritePack(const std::vector<PlacedBundle>& bundles, size_t begin, size_t end,
                 const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const auto pack, SstWriter::Create(path));
  for (size_t i = begin; i < end; ++i) {
    TARN_ASSIGN_OR_RETURN(const auto rows, SstScan::Open(bundles[i].path));
    std::string prefix;
    bundles[i].id.AppendTo(&prefix);
    const uint64_t before = pack->rows();
    for (;;) {
      TARN_ASSIGN_OR_RETURN(const bool found, rows->Next());
      if (!found) break;
      if (rows->key().substr(0, prefix.size()) != prefix) {
        return Status(ErrorCode::kCorrupt,
                      fmt::format("bundle '{}' holds rows of another archive", bundles[i].path))
            .WithHint("remove the file; the next publish reads the archive again");
      }
      TARN_RETURN_IF_ERROR(pack->Put(rows->key(), rows->value()));
    }
    if (pack->rows() - before != rows->rows()) {
      return Status(ErrorCode::kCorrupt, fmt::format("bundle '{}' should hold {} rows and holds {}",
                                                     bundles[i].path, rows->rows(), pack->rows() - before));
    }
  }
  return pack->Finish();
}

Status LinkOrCopy(const std::string& from, const std::string& to) {
  Status linked = io::HardLink(from, to);
  if (linked.code() != ErrorCode::kUnsupported) return linked;
  return io::CopyFile(from, to);
}

// Where a run of small bundles ends, beside the places where it would become too large: behind archives whose
// digests say so, one of 4,096. So the packs of two generations are the same but for those in which an
// archive came or went.
bool EndsPack(const ArchiveId& id) {
  constexpr uint64_t kOneOf = 4096;
  return id.digest.low % kOneOf == 0;
}

// The end of the run of small bundles that starts at `begin`; `begin` itself when there is none.
size_t EndOfRun(const std::vector<PlacedBundle>& bundles, size_t begin,
                const GenerationWriteOptions& options) {
  uint64_t bytes = 0;
  size_t end = begin;
  while (end < bundles.size() && bundles[end].bytes < options.pack_below_bytes &&
         bytes < options.pack_bytes) {
    bytes += bundles[end].bytes;
    if (EndsPack(bundles[end++].id)) break;
  }
  return end;
}

// Stages one file for each large bundle and one for each run of small ones; gives their paths. A large bundle
// ends a run: the key ranges of files must not overlap.
Result<std::vector<std::string>> StageBundles(const std::vector<PlacedBundle>& bundles,
                                              const std::string& incoming,
                                              const GenerationWriteOptions& options) {
  const bool pack = bundles.size() > options.pack_above_bundles;
  const KeptPacks kept = pack && !options.previous.empty() ? KeptPacks(options.previous) : KeptPacks();
  std::vector<std::string> files;
  for (size_t begin = 0; begin < bundles.size();) {
    const size_t end = pack ? EndOfRun(bundles, begin, options) : begin;
    files.push_back(fmt::format("{}/{}.sst", incoming, files.size()));
    if (end - begin <= 1) {
      TARN_RETURN_IF_ERROR(LinkOrCopy(bundles[begin].path, files.back()));
      ++begin;
      continue;
    }
    const std::string same = kept.Find(std::span(bundles).subspan(begin, end - begin));
    // A pack that vanishes meanwhile is written.
    if (same.empty() || !LinkOrCopy(same, files.back()).ok()) {
      TARN_RETURN_IF_ERROR(WritePack(bundles, begin, end, files.back()));
    }
    begin = end;
  }
  return files;
}

// The generation's own rows, in key order: facts, tree dentries, manifest, tree directories, ranges.
Status WriteOwnRows(const GenerationRows& rows, const std::string& path) {
  const ArchiveId none;
  TARN_ASSIGN_OR_RETURN(const auto writer, SstWriter::Create(path));
  std::string value;
  const auto put = [&](const std::string& key, const auto& record) {
    value.clear();
    Encode(record, &value);
    return writer->Put(key, value);
  };

  TARN_RETURN_IF_ERROR(put(Key(none, RowKind::kGenerationFacts), rows.facts));
  std::vector<const GenerationRows::TreeDentry*> dentries;
  for (const auto& dentry : rows.dentries) dentries.push_back(&dentry);
  std::sort(dentries.begin(), dentries.end(), [](const auto* a, const auto* b) {
    return std::tie(a->directory, a->name) < std::tie(b->directory, b->name);
  });
  for (const auto* dentry : dentries) {
    TARN_RETURN_IF_ERROR(
        put(Key(none, RowKind::kTreeDentry, dentry->directory, dentry->name), dentry->record));
  }
  for (const ManifestRow& row : rows.manifest) {
    TARN_RETURN_IF_ERROR(put(Key(none, RowKind::kManifest, row.number), row));
  }
  for (uint32_t number = 0; number < rows.directories.size(); ++number) {
    TARN_RETURN_IF_ERROR(put(Key(none, RowKind::kTreeDirectory, number), rows.directories[number]));
  }
  std::vector<const ManifestRow*> ranges;
  for (const ManifestRow& row : rows.manifest) {
    if (row.kind == ManifestKind::kArchive) ranges.push_back(&row);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const auto* a, const auto* b) { return a->first_directory < b->first_directory; });
  for (const ManifestRow* row : ranges) {
    TARN_RETURN_IF_ERROR(
        put(DirectoryRangeKey(row->first_directory), DirectoryRangeRecord{row->number, row->directories}));
  }
  return writer->Finish();
}

Status Ingest(const std::vector<std::string>& files, const std::string& directory) {
  const std::string what = fmt::format("cannot build generation '{}'", directory);
  rocksdb::DB* opened = nullptr;
  TARN_RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::Open(NewStoreOptions(), directory, &opened), what));
  const std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::IngestExternalFileOptions options;
  // RocksDB moves by linking, and goes over to copying only for some of the ways in which file systems say
  // that they have no links: so it is tried here.
  const Status linked = io::HardLink(files.front(), files.front() + ".link");
  if (!linked.ok() && linked.code() != ErrorCode::kUnsupported) return linked;
  options.move_files = linked.ok();
  options.write_global_seqno = false;  // the default writes into the files: into the bundles
  options.allow_global_seqno = false;  // files that overlap are refused
  options.fail_if_not_bottommost_level = true;
  TARN_RETURN_IF_ERROR(FromRocksDb(db->IngestExternalFile(files, options), what));
  return FromRocksDb(db->Close(), what);
}

// Leaves what a reader needs: tables, MANIFEST, CURRENT, IDENTITY. All of it synced.
Status TidyAndSync(const std::string& directory) {
  TARN_RETURN_IF_ERROR(io::RemoveTree(io::JoinPath(directory, "incoming")));
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(directory));
  for (const std::string& name : names) {
    const std::string path = io::JoinPath(directory, name);
    // The log of writes is empty, the lock and the options are of the process that wrote.
    if (name == "LOCK" || name.starts_with("OPTIONS-") || name.ends_with(".log")) {
      TARN_RETURN_IF_ERROR(io::RemoveFile(path));
    } else {
      TARN_RETURN_IF_ERROR(io::SyncFile(path));
    }
  }
  TARN_RETURN_IF_ERROR(io::SyncDirectory(directory));
  const std::string_view parent = io::DirName(directory);
  return io::SyncDirectory(parent.empty() ? "." : std::string(parent));
}

// ---- Reading it back --------------------------------------------------------------------------------------

Status Differs(const std::string& directory, std::string_view what) {
  return Status(ErrorCode::kInternal,
                fmt::format("generation '{}' was written, but reads back otherwise: {}", directory, what));
}

Status CheckWritten(const GenerationRows& rows, const std::string& directory) {
  TARN_ASSIGN_OR_RETURN(const auto reader, GenerationReader::Open(directory));
  if (reader->facts() != rows.facts) return Differs(directory, "facts");
  auto expected = rows.manifest.begin();
  TARN_RETURN_IF_ERROR(reader->ForEachManifestRow([&](const ManifestRow& row) {
    if (expected == rows.manifest.end() || row != *expected) return Differs(directory, "manifest");
    ++expected;
    return Status::Ok();
  }));
  if (expected != rows.manifest.end()) return Differs(directory, "manifest");
  for (const auto& dentry : rows.dentries) {
    TreeDentryRecord record;
    TARN_ASSIGN_OR_RETURN(const bool found, reader->GetTreeDentry(dentry.directory, dentry.name, &record));
    if (!found || record != dentry.record) return Differs(directory, "tree name " + EscapeName(dentry.name));
  }
  for (uint32_t number = 0; number < rows.directories.size(); ++number) {
    TreeDirectoryRecord record;
    TARN_ASSIGN_OR_RETURN(const bool found, reader->GetTreeDirectory(number, &record));
    if (!found || record != rows.directories[number]) {
      return Differs(directory, fmt::format("tree directory {}", number));
    }
  }
  return reader->CheckWhole();
}

}  // namespace

Status WriteGeneration(const IndexRoot& root, const GenerationRows& rows, const std::string& directory,
                       const GenerationWriteOptions& options) {
  TARN_RETURN_IF_ERROR(io::MakeDirectory(directory));
  RemoveUnlessKept unfinished(directory);
  const std::string incoming = io::JoinPath(directory, "incoming");
  TARN_RETURN_IF_ERROR(io::MakeDirectory(incoming));

  TARN_ASSIGN_OR_RETURN(const std::vector<PlacedBundle> bundles, FindBundles(root, rows.manifest));
  TARN_ASSIGN_OR_RETURN(std::vector<std::string> files, StageBundles(bundles, incoming, options));
  files.push_back(io::JoinPath(incoming, "own.sst"));
  TARN_RETURN_IF_ERROR(WriteOwnRows(rows, files.back()));
  TARN_RETURN_IF_ERROR(Ingest(files, directory));
  TARN_RETURN_IF_ERROR(TidyAndSync(directory));
  TARN_RETURN_IF_ERROR(CheckWritten(rows, directory));
  unfinished.Keep();
  return Status::Ok();
}

}  // namespace tarn::index

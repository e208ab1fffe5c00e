#include "tarn/dataset/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "dataset/transfer_blocks.h"
#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/base/version.h"
#include "tarn/dataset/generation_builder.h"
#include "tarn/dataset/predecessor.h"
#include "tarn/index/bundle_builder.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/generation_writer.h"
#include "tarn/index/usage.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {
namespace {

using index::ManifestKind;
using index::ManifestRow;

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr int kCommitAttempts = 100;  // every one lost means that another publisher won

Result<std::vector<ManifestRow>> ReadManifest(const index::GenerationReader& reader) {
  std::vector<ManifestRow> rows;
  TARN_RETURN_IF_ERROR(reader.ForEachManifestRow([&rows](const ManifestRow& row) {
    rows.push_back(row);
    return Status::Ok();
  }));
  return rows;
}

// ---- Export -----------------------------------------------------------------------------------------------

Status WriteBundle(const index::IndexRoot& root, const ArchiveId& id, BlockWriter* out) {
  const std::string path = root.BundlePath(id);
  TARN_RETURN_IF_ERROR(index::ReadBundleFacts(path, id).status());
  TARN_ASSIGN_OR_RETURN(const auto file, io::OpenFile(path));
  TARN_ASSIGN_OR_RETURN(const io::FileStat stat, file->Stat());
  TARN_RETURN_IF_ERROR(out->Begin(BlockKind::kBundle, ArchiveId::kEncodedBytes + stat.identity.size));
  std::string piece;
  id.AppendTo(&piece);
  TARN_RETURN_IF_ERROR(out->Continue(piece));
  piece.resize(kPieceBytes);
  for (uint64_t offset = 0; offset < stat.identity.size;) {
    const size_t want = std::min<uint64_t>(piece.size(), stat.identity.size - offset);
    TARN_ASSIGN_OR_RETURN(const size_t got,
                          file->ReadAt(offset, std::as_writable_bytes(std::span(piece.data(), want))));
    if (got == 0)
      return Status(ErrorCode::kChanged, fmt::format("'{}' became shorter while it was read", path));
    TARN_RETURN_IF_ERROR(out->Continue(std::string_view(piece).substr(0, got)));
    offset += got;
  }
  return out->End();
}

template <typename Record>
Status WriteRecord(BlockKind kind, const Record& record, BlockWriter* out) {
  std::string bytes;
  index::Encode(record, &bytes);
  return out->Write(kind, bytes);
}

}  // namespace

Result<ExportReport> ExportGeneration(const index::IndexRoot& root, const std::string& dataset,
                                      uint32_t generation, const ByteSink& sink) {
  TARN_ASSIGN_OR_RETURN(const auto reader,
                        index::GenerationReader::Open(root.GenerationPath(dataset, generation)));
  const index::GenerationFacts& facts = reader->facts();
  if (!facts.view.empty()) {
    return Status(ErrorCode::kUnsupported,
                  fmt::format("'{}@{}' has a view; generations with views are not exported", dataset,
                              generation))
        .WithHint("export a generation without a view, and publish the view at the other site");
  }
  TARN_ASSIGN_OR_RETURN(const std::vector<ManifestRow> manifest, ReadManifest(*reader));

  BlockWriter out(sink);
  TARN_RETURN_IF_ERROR(out.Start());
  std::string header;
  AppendVarint(&header, kTransferVersion);
  AppendVarint(&header, facts.format_version);
  AppendLengthPrefixed(&header, fmt::format("tarn-index {}", VersionString()));
  TARN_RETURN_IF_ERROR(out.Write(BlockKind::kHeader, header));
  TARN_RETURN_IF_ERROR(WriteRecord(BlockKind::kFacts, facts, &out));
  std::set<ArchiveId> ids;
  for (const ManifestRow& row : manifest) {
    TARN_RETURN_IF_ERROR(WriteRecord(BlockKind::kManifestRow, row, &out));
    ids.insert(row.id);
  }
  for (const ArchiveId& id : ids) TARN_RETURN_IF_ERROR(WriteBundle(root, id, &out));
  TARN_RETURN_IF_ERROR(out.Finish());
  return ExportReport{.dataset = dataset,
                      .generation = generation,
                      .digest = facts.digest,
                      .files = manifest.size(),
                      .bundles = ids.size(),
                      .bytes = out.bytes()};
}

namespace {

// ---- Import -----------------------------------------------------------------------------------------------

// A directory below staging/, gone with this.
class Staging {
 public:
  explicit Staging(std::string path) : path_(std::move(path)) {}
  ~Staging() {
    if (const Status status = io::RemoveTree(path_); !status.ok()) Log(LogLevel::kWarning, status.message());
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// Takes a stream apart, then publishes it.
class Importer {
 public:
  Importer(index::IndexRoot* root, const ImportOptions& options, const ByteSource& source)
      : root_(root), options_(options), in_(source) {}

  Result<ImportReport> Run() {
    TARN_ASSIGN_OR_RETURN(std::string staging, root_->MakeStagingDirectory("import"));
    staging_ = std::make_unique<Staging>(std::move(staging));
    TARN_RETURN_IF_ERROR(in_.Start());
    TARN_RETURN_IF_ERROR(ReadHeader());
    TARN_RETURN_IF_ERROR(ReadBlocks());
    TARN_RETURN_IF_ERROR(CheckManifest());
    TARN_RETURN_IF_ERROR(PlaceBundles());
    TARN_RETURN_IF_ERROR(Publish());
    report_.bytes = in_.bytes();
    return std::move(report_);
  }

 private:
  Status ReadHeader();
  Status ReadBlocks();
  Status ReadBundle();
  Status CheckManifest();
  Status PlaceBundles();
  Result<std::vector<PublishedFile>> Files();
  PreviousNumbers Numbers(const Predecessor& previous) const;
  Status Publish();
  Status Bad(const std::string& what) const {
    return Status(ErrorCode::kCorrupt, "the export is not whole: " + what)
        .WithHint("export it again; nothing was published");
  }
  std::string StagedPath(const ArchiveId& id) const { return io::JoinPath(staging_->path(), id.ToString()); }

  index::IndexRoot* const root_;
  const ImportOptions& options_;
  BlockReader in_;
  std::unique_ptr<Staging> staging_;
  std::optional<index::GenerationFacts> facts_;
  std::vector<ManifestRow> manifest_;
  std::set<ArchiveId> bundles_;  // that were read, and lie in staging_
  ImportReport report_;
};

Status Importer::ReadHeader() {
  TARN_ASSIGN_OR_RETURN(const BlockReader::Block block, in_.Next());
  if (block.kind != BlockKind::kHeader) return Bad("it has no header");
  TARN_ASSIGN_OR_RETURN(const std::string payload, in_.Payload());
  ByteReader header(payload);
  const uint32_t version = header.Varint32();
  const uint32_t format = header.Varint32();
  if (!header.ok()) return Bad("its header says no version");
  if (version > kTransferVersion || format > root_->format_version()) {
    return Status(
               ErrorCode::kUnsupported,
               fmt::format("the export has container version {} and index format {}; this is Tarn {} and a "
                           "root of format {}, which take up to {} and {}",
                           version, format, VersionString(), root_->format_version(), kTransferVersion,
                           root_->format_version()))
        .WithHint("use a newer Tarn; 'tarn-index migrate' raises the format of a root");
  }
  return Status::Ok();
}

Status Importer::ReadBlocks() {
  for (;;) {
    TARN_ASSIGN_OR_RETURN(const BlockReader::Block block, in_.Next());
    if (block.kind == BlockKind::kEnd) return Status::Ok();
    if (block.kind == BlockKind::kBundle) {
      TARN_RETURN_IF_ERROR(ReadBundle());
      continue;
    }
    TARN_ASSIGN_OR_RETURN(const std::string payload, in_.Payload());
    if (block.kind == BlockKind::kFacts && !facts_) {
      TARN_RETURN_IF_ERROR(index::Decode(payload, &facts_.emplace()));
    } else if (block.kind == BlockKind::kManifestRow) {
      TARN_RETURN_IF_ERROR(index::Decode(payload, &manifest_.emplace_back()));
    } else {
      return Bad(fmt::format("a second block of kind {}", static_cast<int>(block.kind)));
    }
  }
}

Status Importer::ReadBundle() {
  std::string piece(ArchiveId::kEncodedBytes, '\0');
  for (size_t have = 0; have < piece.size();) {
    TARN_ASSIGN_OR_RETURN(const size_t got, in_.Piece(std::span(piece).subspan(have)));
    if (got == 0) return Bad("a bundle names no archive");
    have += got;
  }
  const ArchiveId id = ArchiveId::Decode(piece.data());
  if (!bundles_.insert(id).second) return Bad("it holds the bundle of " + id.ToString() + " twice");
  TARN_ASSIGN_OR_RETURN(const auto file, io::AppendFile::Create(StagedPath(id)));
  piece.resize(kPieceBytes);
  for (;;) {
    TARN_ASSIGN_OR_RETURN(const size_t got, in_.Piece(piece));
    if (got == 0) break;
    TARN_RETURN_IF_ERROR(file->Append(std::string_view(piece).substr(0, got)));
  }
  TARN_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

Status Importer::CheckManifest() {
  if (!facts_) return Bad("it has no facts of the generation");
  std::set<ArchiveId> named;
  for (const ManifestRow& row : manifest_) {
    named.insert(row.id);
    if (!bundles_.contains(row.id)) {
      return Bad(fmt::format("the bundle of '{}' ({}) is missing", EscapeName(row.path), row.id.ToString()));
    }
  }
  if (named.size() != bundles_.size())
    return Bad("it holds bundles of archives that its manifest does not have");
  const Digest digest = DatasetDigest(manifest_, facts_->view);
  if (digest != facts_->digest) {
    return Bad(fmt::format("expected dataset digest {}, found {}", facts_->digest.ToHex(), digest.ToHex()));
  }
  report_.dataset = options_.name.value_or(facts_->dataset);
  report_.digest = digest;
  report_.files = manifest_.size();
  return index::IsDatasetName(report_.dataset) ? Status::Ok()
                                               : index::DatasetReference::Parse(report_.dataset).status();
}

Status Importer::PlaceBundles() {
  for (const ArchiveId& id : bundles_) {
    TARN_ASSIGN_OR_RETURN(const index::ArchiveFacts ours, index::ReadBundleFacts(StagedPath(id), id));
    if (!root_->HasBundle(id)) {
      ++report_.bundles_added;
      TARN_RETURN_IF_ERROR(root_->AddBundle(id, StagedPath(id)));
      continue;
    }
    const Result<index::ArchiveFacts> theirs = index::VerifyBundle(root_->BundlePath(id), id);
    if (!theirs.ok() || (ours.is_tar && !theirs->is_tar)) {
      // It is damaged; or here it was a loose file only: that bundle holds less.
      ++report_.bundles_added;
      TARN_RETURN_IF_ERROR(root_->ReplaceBundle(id, StagedPath(id)));
      continue;
    }
    ++report_.bundles_known;
  }
  return Status::Ok();
}

Result<std::vector<PublishedFile>> Importer::Files() {
  std::vector<PublishedFile> files;
  files.reserve(manifest_.size());
  for (const ManifestRow& row : manifest_) {
    TARN_ASSIGN_OR_RETURN(index::ArchiveFacts facts,
                          index::ReadBundleFacts(root_->BundlePath(row.id), row.id));
    files.push_back({row.path, row.kind, row.id, row.hint, row.access, std::move(facts)});
  }
  return files;
}

// What numbers go on from: those of the newest generation here, and those of the export that were never used
// here, for files that are new here.
PreviousNumbers Importer::Numbers(const Predecessor& previous) const {
  PreviousNumbers numbers = previous.numbers;
  std::set<std::pair<ArchiveId, bool>> known;
  for (const ManifestRow& row : numbers.rows) known.emplace(row.id, row.kind == ManifestKind::kLooseFile);
  const uint32_t first_free = numbers.next_number;
  for (const ManifestRow& row : manifest_) {
    if (row.number < first_free || known.contains({row.id, row.kind == ManifestKind::kLooseFile})) continue;
    numbers.rows.push_back(row);
    numbers.next_number = std::max(numbers.next_number, row.number + 1);
  }
  if (previous.next_generation == 1) numbers.next_number = std::max(numbers.next_number, facts_->next_number);
  return numbers;
}

Status Importer::Publish() {
  TARN_ASSIGN_OR_RETURN(const std::vector<PublishedFile> files, Files());
  TARN_ASSIGN_OR_RETURN(const uint32_t dataset_number, root_->DatasetNumberOrCreate(report_.dataset));
  for (int attempt = 0; attempt < kCommitAttempts; ++attempt) {
    TARN_ASSIGN_OR_RETURN(const Predecessor previous, FindPredecessor(*root_, report_.dataset, Look::kRows));
    const auto& newest = previous.whole;
    const GenerationPlan plan{.dataset = report_.dataset,
                              .dataset_number = dataset_number,
                              .generation = previous.next_generation,
                              .root_uuid = root_->uuid(),
                              .source_path = options_.source_path.value_or(facts_->source_path),
                              .writer = options_.writer,
                              .created = options_.created};
    if (newest && !previous.damaged && newest->facts().digest == report_.digest &&
        newest->facts().source_path == plan.source_path &&
        !root_->IsRetired(report_.dataset, newest->facts().generation)) {
      report_.generation = newest->facts().generation;
      return Status::Ok();
    }
    report_.warnings = previous.warnings;
    const PreviousNumbers numbers = Numbers(previous);
    TARN_ASSIGN_OR_RETURN(const BuiltGeneration built, BuildGeneration(plan, files, numbers));
    if (built.rows.facts.digest != report_.digest) {
      return Status(ErrorCode::kInternal, "the imported generation has another digest than the exported one");
    }
    const std::string staged = io::JoinPath(staging_->path(), fmt::format("generation-{}", attempt));
    TARN_RETURN_IF_ERROR(index::WriteGeneration(*root_, built.rows, staged));
    TARN_RETURN_IF_ERROR(index::CheckQuotaWith(*root_, report_.dataset, staged,
                                               std::vector<ArchiveId>(bundles_.begin(), bundles_.end())));
    const Status published = root_->PublishGeneration(report_.dataset, plan.generation, staged);
    if (published.code() == ErrorCode::kAlreadyExists) continue;
    TARN_RETURN_IF_ERROR(published);
    report_.published = true;
    report_.generation = plan.generation;
    std::map<std::string_view, uint32_t> exported;
    for (const ManifestRow& row : manifest_) exported.emplace(row.path, row.number);
    for (const ManifestRow& row : built.rows.manifest) {
      if (exported[row.path] == row.number) ++report_.numbers_kept;
    }
    return Status::Ok();
  }
  return Status(ErrorCode::kBusy, fmt::format("other publishers of '{}' were faster {} times",
                                              report_.dataset, kCommitAttempts))
      .WithHint("run the command again when they are done");
}

}  // namespace

Result<ImportReport> ImportGeneration(index::IndexRoot* root, const ImportOptions& options,
                                      const ByteSource& source) {
  return Importer(root, options, source).Run();
}

}  // namespace tarn::dataset

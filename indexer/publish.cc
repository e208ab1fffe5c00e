// A publish is a list of passes; each leaves something behind that is frozen from there on:
//
//     resolve   where is what; nothing was written yet
//     open      the index root, a staging directory, the journal, the newest generation
//     scan      the files of the dataset; none is added after this point
//     match     those that are known by their hints are done
//     read      the others: digests and bundles; waits for those that are being written
//     judge     damaged archives are quarantined, refused or let through
//     commit    rows, generation, rename; or nothing changed
//     report    what the generation holds
#include "indexer/publish.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "indexer/journal.h"
#include "indexer/kill_point.h"
#include "indexer/known_files.h"
#include "indexer/pipeline.h"
#include "indexer/places.h"
#include "indexer/stop_signal.h"
#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/base/version.h"
#include "tarn/index/generation_writer.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kLeastMemory = size_t{1} << 20;  // of a job
constexpr int kCommitAttempts = 1000;             // every one lost means that another publisher won
constexpr size_t kNamedInErrors = 3;

using GenerationReaderPtr = std::shared_ptr<const index::GenerationReader>;

// A directory of this publish below staging/, gone with it.
class Staging {
 public:
  explicit Staging(std::string path) : path_(std::move(path)) {}
  ~Staging() {
    if (const Status status = io::RemoveTree(path_); !status.ok()) {
      Log(LogLevel::kWarning, status.message());  // the next CleanStaging takes it away
    }
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

class Publisher {
 public:
  Publisher(const PublishOptions& options, Progress* progress) : options_(options), progress_(progress) {}

  Result<PublishReport> Run() {
    const auto started = std::chrono::steady_clock::now();
    Status status = RunPasses();
    report_.bytes_read = progress_->bytes();
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (status.code() == ErrorCode::kNoSpace) return ExplainNoSpace(std::move(status));
    if (!status.ok()) return status;
    return std::move(report_);
  }

 private:
  Status RunPasses() {
    TARN_RETURN_IF_ERROR(Resolve());
    TARN_RETURN_IF_ERROR(Open());
    KillPoint("root-opened");
    TARN_RETURN_IF_ERROR(ScanFiles());
    TARN_RETURN_IF_ERROR(MatchKnown());
    TARN_RETURN_IF_ERROR(ReadUnknown());
    Judge();
    if (report_.refusal.ok()) TARN_RETURN_IF_ERROR(Commit());
    if (report_.refusal.ok()) TARN_RETURN_IF_ERROR(Report());
    return Status::Ok();
  }

  Status Resolve() {
    report_.dataset = options_.name;
    report_.index = options_.index;
    if (!index::IsDatasetName(options_.name)) {
      return Status(ErrorCode::kInvalidArgument, "'" + EscapeName(options_.name) + "' cannot name a dataset")
          .WithHint(
              "--name takes letters, digits, '.', '_' and '-', the first a letter or a digit; generations "
              "are numbered by Tarn");
    }
    TARN_ASSIGN_OR_RETURN(places_, ResolvePlaces(options_.directory, options_.relative_to, options_.index));
    report_.source_path = places_.source_path;
    return Status::Ok();
  }

  Status Open() {
    progress_->SetPhase("opening");
    TARN_ASSIGN_OR_RETURN(source_, io::OpenSource(places_.base));
    TARN_ASSIGN_OR_RETURN(root_, index::IndexRoot::OpenOrCreate(options_.index));
    TARN_RETURN_IF_ERROR(root_->CleanStaging());
    TARN_ASSIGN_OR_RETURN(std::string staging, root_->MakeStagingDirectory("publish-" + options_.name));
    staging_ = std::make_unique<Staging>(std::move(staging));
    TARN_ASSIGN_OR_RETURN(const ServerClock clock, ServerClock::Ask(staging_->path()));
    clock_ = std::make_unique<ServerClock>(clock);
    TARN_ASSIGN_OR_RETURN(journal_, Journal::Open(root_->JournalPath(options_.name),
                                                  std::string(io::BaseName(staging_->path()))));
    TARN_ASSIGN_OR_RETURN(newest_, OpenNewest());
    return Status::Ok();
  }

  // The newest generation, also a retired one: numbers go on from it. Null when there is none.
  Result<GenerationReaderPtr> OpenNewest() const {
    const Result<std::vector<uint32_t>> all = root_->AllGenerations(options_.name);
    if (all.code() == ErrorCode::kNotFound) return GenerationReaderPtr();
    TARN_RETURN_IF_ERROR(all.status());
    if (all->empty()) return GenerationReaderPtr();
    return index::GenerationReader::Open(root_->GenerationPath(options_.name, all->back()));
  }

  Status ScanFiles() {
    progress_->SetPhase("scanning");
    TARN_ASSIGN_OR_RETURN(Scan scan, ScanDataset(*source_, places_.source_path, options_.selection));
    unread_ = std::move(scan.files);
    report_.left_out = std::move(scan.left_out);
    report_.notes = std::move(scan.notes);
    for (const LeftOut& left_out : report_.left_out) {
      progress_->Say(fmt::format("left out: {}: {}", EscapeName(left_out.path), left_out.reason.message()));
    }
    if (!unread_.empty() || !report_.left_out.empty()) return Status::Ok();
    const bool selected = !options_.selection.include.empty() || !options_.selection.exclude.empty();
    return Status(ErrorCode::kNotFound, fmt::format("dataset directory '{}' holds no archives and no files{}",
                                                    places_.directory, selected ? " that are selected" : ""))
        .WithHint(selected
                      ? "check --include and --exclude: patterns with '/' are held against the whole path"
                      : "check the path, and that its volume is mounted");
  }

  // Takes out of unread_ what needs no reading.
  Status MatchKnown() {
    if (options_.identity == IdentityMode::kFull) return Status::Ok();
    progress_->SetPhase("matching");
    TARN_ASSIGN_OR_RETURN(const KnownFiles known, KnownFiles::Load({.root = root_.get(),
                                                                    .newest = newest_.get(),
                                                                    .journal = journal_.get(),
                                                                    .source = source_.get(),
                                                                    .dataset = places_.source_path,
                                                                    .selection = &options_.selection}));
    std::vector<ScannedFile> unknown;
    for (ScannedFile& scanned : unread_) {
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      TARN_ASSIGN_OR_RETURN(std::optional<KnownFiles::Match> match, known.Find(scanned));
      if (!match) {
        unknown.push_back(std::move(scanned));
        continue;
      }
      ++report_.files_unchanged;
      KeepFindings(match->file, std::move(match->findings));
      files_.push_back(std::move(match->file));
    }
    unread_ = std::move(unknown);
    return Status::Ok();
  }

  Status ReadUnknown() {
    progress_->SetPhase("reading");
    uint64_t bytes = 0;
    for (const ScannedFile& scanned : unread_) bytes += scanned.stat.identity.size;
    progress_->SetTotals(unread_.size(), bytes);
    FilePassContext context{.source = source_.get(),
                            .dataset = places_.source_path,
                            .selection = &options_.selection,
                            .root = root_.get(),
                            .journal = journal_.get(),
                            .clock = clock_.get(),
                            .progress = progress_,
                            .options = {}};
    const auto jobs =
        static_cast<unsigned>(std::clamp<size_t>(unread_.size(), 1, std::max(options_.jobs, 1U)));
    context.options = {.read_bytes = options_.read_bytes,
                       .depth = options_.depth,
                       .memory_bytes = std::max(options_.memory_bytes / jobs, kLeastMemory),
                       .settle_ns = options_.settle_seconds * kSecond};
    const PipelineOptions pipeline{.jobs = jobs,
                                   .scratch = staging_->path(),
                                   .settle_ns = options_.settle_seconds * kSecond,
                                   .settle_timeout_ns = options_.settle_timeout_seconds * kSecond};
    TARN_ASSIGN_OR_RETURN(PipelineResult result, ReadFiles(context, pipeline, std::move(unread_)));
    for (FilePassResult& read : result.read) {
      ++report_.files_read;
      report_.bundles_reused += read.bundle_reused ? 1 : 0;
      KeepFindings(read.file, std::move(read.findings));
      files_.push_back(std::move(read.file));
    }
    report_.left_out.insert(report_.left_out.end(), std::make_move_iterator(result.left_out.begin()),
                            std::make_move_iterator(result.left_out.end()));
    std::sort(report_.left_out.begin(), report_.left_out.end(),
              [](const LeftOut& a, const LeftOut& b) { return a.path < b.path; });
    return Status::Ok();
  }

  // Findings of archives come from their bundles in the end, those of loose files from here; and what was
  // seen now explains a refusal.
  void KeepFindings(const dataset::PublishedFile& file, std::vector<tar::Finding> findings) {
    for (tar::Finding& finding : findings) {
      FoundIn found{file.path, std::move(finding)};
      if (file.kind == index::ManifestKind::kLooseFile) {
        report_.warnings++;
        report_.findings.push_back(std::move(found));
      } else if (found.finding.severity == tar::Severity::kError) {
        errors_seen_.push_back(std::move(found));
      }
    }
  }

  // Decides what becomes of damaged archives, and whether anything is left to publish.
  void Judge() {
    std::vector<std::string> damaged;
    for (dataset::PublishedFile& file : files_) {
      if (file.kind != index::ManifestKind::kArchive || file.facts.errors == 0) continue;
      damaged.push_back(file.path);
      if (options_.on_damage == OnDamage::kQuarantine) file.kind = index::ManifestKind::kQuarantined;
    }
    if (options_.on_damage == OnDamage::kFail && !damaged.empty()) {
      RefuseDamaged(damaged);
    } else if (files_.empty()) {
      report_.refusal = Status(ErrorCode::kNotFound,
                               fmt::format("nothing is left to publish: all {} files of '{}' were left out",
                                           report_.left_out.size(), places_.directory))
                            .WithHint("the reasons stand above, one for each file");
    }
  }

  void RefuseDamaged(const std::vector<std::string>& damaged) {
    std::string message = fmt::format("{} of {} files are damaged and --on-damage=fail was given",
                                      damaged.size(), files_.size());
    for (size_t i = 0; i < std::min(damaged.size(), kNamedInErrors); ++i) {
      message += fmt::format("{} '{}'", i == 0 ? ":" : ",", EscapeName(damaged[i]));
      const auto seen = std::find_if(errors_seen_.begin(), errors_seen_.end(),
                                     [&](const FoundIn& found) { return found.path == damaged[i]; });
      if (seen != errors_seen_.end()) {
        message +=
            fmt::format(" ({} at offset {})", tar::FindingCodeName(seen->finding.code), seen->finding.offset);
      }
    }
    if (damaged.size() > kNamedInErrors)
      message += fmt::format(" and {} more", damaged.size() - kNamedInErrors);
    report_.refusal = Status(ErrorCode::kCorrupt, std::move(message))
                          .WithHint(
                              "'tarn walk ARCHIVE' shows every finding; --on-damage=quarantine publishes the "
                              "others");
    report_.quarantined = damaged;
  }

  // Publishes the files as the next generation, unless the newest says the same. Whoever loses a race against
  // another publisher looks again at what that one published.
  Status Commit() {
    progress_->SetPhase("publishing");
    TARN_ASSIGN_OR_RETURN(const uint32_t number, root_->DatasetNumberOrCreate(options_.name));
    for (int attempt = 0; attempt < kCommitAttempts; ++attempt) {
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      TARN_ASSIGN_OR_RETURN(newest_, OpenNewest());
      const dataset::GenerationPlan plan{.dataset = options_.name,
                                         .dataset_number = number,
                                         .generation = newest_ ? newest_->facts().generation + 1 : 1,
                                         .root_uuid = root_->uuid(),
                                         .source_path = places_.source_path,
                                         .writer = "tarn-index " + std::string(VersionString()),
                                         .created = clock_->Now() / kSecond};
      TARN_ASSIGN_OR_RETURN(dataset::BuiltGeneration built,
                            dataset::BuildGeneration(plan, files_, newest_.get()));
      KillPoint("rows-built");
      TARN_ASSIGN_OR_RETURN(const bool same, SaysTheSame(built.rows));
      if (same) return EndUnchanged(std::move(built));

      const std::string staged = io::JoinPath(staging_->path(), fmt::format("generation-{}", attempt));
      TARN_RETURN_IF_ERROR(index::WriteGeneration(*root_, built.rows, staged));
      KillPoint("generation-written");
      const Status published = root_->PublishGeneration(options_.name, plan.generation, staged);
      if (published.code() == ErrorCode::kAlreadyExists) continue;
      TARN_RETURN_IF_ERROR(published);
      KillPoint("generation-published");
      report_.published = true;
      for (std::string& note : built.notes) report_.notes.push_back(std::move(note));
      return journal_->Compact({});
    }
    return Status(ErrorCode::kBusy, fmt::format("other publishers of '{}' were faster {} times",
                                                options_.name, kCommitAttempts))
        .WithHint("run the command again when they are done");
  }

  // Whether the newest generation shows the same files in the same way. ctime and inode only save a reader
  // work; they do not make a new generation.
  Result<bool> SaysTheSame(const index::GenerationRows& rows) const {
    if (!newest_ || root_->IsRetired(options_.name, newest_->facts().generation) ||
        newest_->facts().digest != rows.facts.digest ||
        newest_->facts().source_path != rows.facts.source_path || newest_->facts().view != rows.facts.view) {
      return false;
    }
    std::vector<index::ManifestRow> theirs;
    TARN_RETURN_IF_ERROR(newest_->ForEachManifestRow([&theirs](const index::ManifestRow& row) {
      theirs.push_back(row);
      return Status::Ok();
    }));
    return std::equal(rows.manifest.begin(), rows.manifest.end(), theirs.begin(), theirs.end(),
                      [](const index::ManifestRow& a, index::ManifestRow b) {
                        b.hint.ctime_ns = a.hint.ctime_ns;
                        b.hint.inode = a.hint.inode;
                        return a == b;
                      });
  }

  Status EndUnchanged(dataset::BuiltGeneration built) {
    TARN_RETURN_IF_ERROR(root_->RepairLatest(options_.name));
    for (std::string& note : built.notes) report_.notes.push_back(std::move(note));
    // Hints that the newest generation does not have stay in the journal, so that the next publish reads
    // nothing again.
    std::vector<JournalLine> lines;
    for (const index::ManifestRow& row : built.rows.manifest) {
      if (row.hint.ctime_ns == 0) continue;
      index::ManifestRow theirs;
      TARN_ASSIGN_OR_RETURN(const bool some, newest_->GetManifestRow(row.number, &theirs));
      if (!some || !(theirs.hint == row.hint)) lines.push_back({row.path, row.hint, row.id});
    }
    return journal_->Compact(lines);
  }

  Status Report() {
    TARN_ASSIGN_OR_RETURN(const GenerationReaderPtr reader, OpenReported());
    const index::GenerationFacts& facts = reader->facts();
    report_.generation = facts.generation;
    report_.digest = facts.digest.ToHex();
    report_.archives = facts.archives;
    report_.loose_files = facts.loose_files;
    report_.members = facts.members;
    report_.bytes = facts.bytes;
    TARN_RETURN_IF_ERROR(reader->ForEachManifestRow([&](const index::ManifestRow& row) {
      if (row.kind == index::ManifestKind::kQuarantined) report_.quarantined.push_back(row.path);
      report_.warnings += row.warnings;
      report_.errors += row.errors;
      if (row.warnings + row.errors == 0) return Status::Ok();
      return reader->ForEachFinding(row.id, [&](const tar::Finding& finding) {
        report_.findings.push_back({row.path, finding});
        return Status::Ok();
      });
    }));
    std::sort(report_.quarantined.begin(), report_.quarantined.end());
    std::stable_sort(report_.findings.begin(), report_.findings.end(),
                     [](const FoundIn& a, const FoundIn& b) { return a.path < b.path; });
    return Status::Ok();
  }

  // The generation that the report is about: the one we published, or the newest when nothing changed.
  Result<GenerationReaderPtr> OpenReported() const {
    if (!report_.published) return newest_;
    const uint32_t generation = newest_ ? newest_->facts().generation + 1 : 1;
    return index::GenerationReader::Open(root_->GenerationPath(options_.name, generation));
  }

  Status ExplainNoSpace(Status status) const {
    std::string what = "is over quota";  // what is free on the file system is then no help
    if (status.error_number() != EDQUOT) {
      const Result<uint64_t> free_bytes = io::FreeBytes(options_.index);
      what = free_bytes.ok() ? "is full (" + HumanBytes(*free_bytes) + " are free)" : "is full";
    }
    return std::move(status)
        .WithContext(fmt::format("index root '{}' {}", options_.index, what))
        .WithHint(
            "what was published before is whole, and archives that were indexed are kept: free space or "
            "raise the quota, and run the same command again");
  }

  const PublishOptions& options_;
  Progress* const progress_;
  Places places_;
  std::shared_ptr<io::Source> source_;
  std::unique_ptr<index::IndexRoot> root_;
  std::unique_ptr<Staging> staging_;  // gone before root_, which holds its lock
  std::unique_ptr<ServerClock> clock_;
  std::unique_ptr<Journal> journal_;
  GenerationReaderPtr newest_;                 // null when there is none
  std::vector<ScannedFile> unread_;            // from the scan to the end of reading
  std::vector<dataset::PublishedFile> files_;  // known or read
  std::vector<FoundIn> errors_seen_;
  PublishReport report_;
};

}  // namespace

Result<PublishReport> Publish(const PublishOptions& options, Progress* progress) {
  return Publisher(options, progress).Run();
}

}  // namespace tarn::indexer

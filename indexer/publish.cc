// A publish is a list of passes; each leaves something behind that is frozen from there on:
//
//     resolve   where is what; nothing was written yet
//     open      the index root, a staging directory, the journal, the newest generation
//     scan      the files of the dataset; none is added after this point
//     match     those that are known by their hints are done
//     space     what the others will need is there, and allowed
//     read      the others: digests and bundles; waits for those that are being written
//     judge     damaged archives are quarantined, refused or let through
//     keep      chosen files are copied into the index root
//     commit    rows, generation, rename; or nothing changed; and what the generation holds
#include "indexer/publish.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "indexer/dataset_passes.h"
#include "indexer/generation_commit.h"
#include "indexer/journal.h"
#include "indexer/keep_pass.h"
#include "indexer/kill_point.h"
#include "indexer/known_files.h"
#include "indexer/own_staging.h"
#include "indexer/places.h"
#include "indexer/space.h"
#include "indexer/stop_signal.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

class Publisher {
 public:
  Publisher(const PublishOptions& options, Progress* progress) : options_(options), progress_(progress) {}

  Result<PublishReport> Run() {
    const auto started = std::chrono::steady_clock::now();
    Status status = RunPasses();
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    if (status.code() == ErrorCode::kNoSpace) return ExplainNoSpace(options_.index, std::move(status));
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
    TARN_RETURN_IF_ERROR(CheckSpaceForUnknown());
    TARN_RETURN_IF_ERROR(ReadUnknown());
    JudgeFiles(options_.on_damage, places_.directory, errors_seen_, &files_, &report_);
    if (!report_.refusal.ok()) return Status::Ok();
    TARN_RETURN_IF_ERROR(KeepChosen());
    return Commit();
  }

  Status Resolve() {
    report_.dataset = options_.name;
    report_.index = options_.index;
    TARN_RETURN_IF_ERROR(CheckDatasetName(options_.name));
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
    staging_ = std::make_unique<OwnStaging>(std::move(staging));
    TARN_ASSIGN_OR_RETURN(const ServerClock clock, ServerClock::Ask(staging_->path()));
    clock_ = std::make_unique<ServerClock>(clock);
    TARN_ASSIGN_OR_RETURN(journal_, Journal::Open(root_->JournalPath(options_.name),
                                                  std::string(io::BaseName(staging_->path()))));
    TARN_ASSIGN_OR_RETURN(predecessor_, dataset::FindPredecessor(*root_, options_.name, LookAtNewest()));
    for (const std::string& warning : predecessor_.warnings) progress_->Say("warning: " + warning);
    return Status::Ok();
  }

  // Who has every byte of the data read wants every byte of its index checked too.
  dataset::Look LookAtNewest() const {
    return options_.identity == IdentityMode::kFull ? dataset::Look::kTables : dataset::Look::kRows;
  }

  Status ScanFiles() {
    TARN_ASSIGN_OR_RETURN(Scan scan, ScanPlaces(*source_, places_, options_.selection, progress_));
    unread_ = std::move(scan.files);
    report_.left_out = std::move(scan.left_out);
    report_.notes = std::move(scan.notes);
    return Status::Ok();
  }

  // Takes out of unread_ what needs no reading.
  Status MatchKnown() {
    if (options_.identity == IdentityMode::kFull) return Status::Ok();
    progress_->SetPhase("matching");
    TARN_ASSIGN_OR_RETURN(
        const KnownFiles known,
        KnownFiles::Load({.root = root_.get(),
                          .newest = predecessor_.whole.get(),
                          .salvaged = predecessor_.damaged ? &predecessor_.numbers.rows : nullptr,
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

  Status CheckSpaceForUnknown() {
    SpaceNeed need = EstimateSpace(
        {.unread = &unread_,
         .known = &files_,
         .newest = predecessor_.whole && !predecessor_.damaged ? &predecessor_.whole->facts() : nullptr,
         .selection = &options_.selection});
    TARN_ASSIGN_OR_RETURN(const KeepForecast forecast, ForecastKept(options_, root_.get(), unread_, files_));
    need.files_to_keep = forecast.files_to_copy;
    need.bytes_to_keep = forecast.bytes_to_copy;
    return CheckSpace(*root_, options_.name, need);
  }

  Status ReadUnknown() {
    const FilePassContext context{.source = source_.get(),
                                  .dataset = places_.source_path,
                                  .selection = &options_.selection,
                                  .root = root_.get(),
                                  .journal = journal_.get(),
                                  .clock = clock_.get(),
                                  .progress = progress_,
                                  .options = {}};
    TARN_ASSIGN_OR_RETURN(PipelineResult result,
                          ReadUnknownFiles(options_, context, staging_->path(), std::move(unread_)));
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
    report_.bytes_read = progress_->bytes();
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

  Status KeepChosen() {
    const KeepContext context{.root = root_.get(),
                              .source = source_.get(),
                              .source_path = places_.source_path,
                              .staging = staging_->path(),
                              .progress = progress_};
    return KeepFiles(context, options_, files_, &report_);
  }

  Status Commit() {
    const CommitContext context{.root = root_.get(),
                                .dataset = options_.name,
                                .source_path = places_.source_path,
                                .staging = staging_->path(),
                                .clock = clock_.get(),
                                .journal = journal_.get(),
                                .progress = progress_,
                                .look = LookAtNewest(),
                                .predecessor = &predecessor_};
    return CommitGeneration(context, files_, &report_);
  }

  const PublishOptions& options_;
  Progress* const progress_;
  Places places_;
  std::shared_ptr<io::Source> source_;
  std::unique_ptr<index::IndexRoot> root_;
  std::unique_ptr<OwnStaging> staging_;  // gone before root_, which holds its lock
  std::unique_ptr<ServerClock> clock_;
  std::unique_ptr<Journal> journal_;
  dataset::Predecessor predecessor_;
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

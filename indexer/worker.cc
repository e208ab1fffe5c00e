#include "indexer/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "indexer/dataset_passes.h"
#include "indexer/generation_commit.h"
#include "indexer/kill_point.h"
#include "indexer/known_files.h"
#include "indexer/left_out_json.h"
#include "indexer/plan_store.h"
#include "indexer/stop_signal.h"
#include "indexer/workplace.h"
#include "tarn/base/bytes.h"
#include "tarn/dataset/predecessor.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/thread_pool.h"

namespace tarn::indexer {
namespace {

// Looking at a file is a round trip to a file server: several at once hide it.
constexpr unsigned kLookers = 8;

class Worker {
 public:
  Worker(const WorkerOptions& options, Progress* progress) : options_(options), progress_(progress) {}

  Result<WorkerReport> Run() {
    const auto started = std::chrono::steady_clock::now();
    if (Status status = RunPasses(started); !status.ok()) {
      return status.code() == ErrorCode::kNoSpace ? ExplainNoSpace(options_.publish.index, std::move(status))
                                                  : status;
    }
    return std::move(report_);
  }

 private:
  Status RunPasses(std::chrono::steady_clock::time_point started) {
    progress_->SetPhase("opening");
    const std::string& name = options_.publish.name;
    TARN_RETURN_IF_ERROR(CheckDatasetName(name));
    TARN_ASSIGN_OR_RETURN(std::unique_ptr<index::IndexRoot> root,
                          index::IndexRoot::Open(options_.publish.index));
    const PlanStore store(root.get(), name);
    TARN_ASSIGN_OR_RETURN(result().plan, store.Resolve(options_.plan));
    report_.dataset = name;
    report_.index = options_.publish.index;
    TARN_ASSIGN_OR_RETURN(const bool committed, IsCommitted(store));
    if (committed) return Status::Ok();
    TARN_ASSIGN_OR_RETURN(plan_, store.Read(result().plan));
    TARN_ASSIGN_OR_RETURN(const ShareChoice choice,
                          ChooseShare(options_.share, options_.environment, plan_.shares));
    report_.shares = plan_.shares;
    report_.origin = choice.origin;
    result().share = choice.share;
    TARN_ASSIGN_OR_RETURN(places_, PlacesOfPlan(plan_, options_.publish.relative_to, options_.publish.index));
    TARN_ASSIGN_OR_RETURN(Workplace workplace,
                          Workplace::Open(std::move(root), places_, fmt::format("worker-{}", name)));
    KillPoint("root-opened");
    TARN_RETURN_IF_ERROR(LookAtShare(workplace.source()));
    TARN_RETURN_IF_ERROR(Match(&workplace, store));
    TARN_RETURN_IF_ERROR(ReadRest(&workplace));
    std::sort(result().files.begin(), result().files.end(),
              [](const ShareFile& a, const ShareFile& b) { return a.path < b.path; });
    std::sort(result().left_out.begin(), result().left_out.end(),
              [](const LeftOut& a, const LeftOut& b) { return a.path < b.path; });
    result().bytes_read = progress_->bytes();
    result().seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    const Status written = store.WriteShare(result());
    if (written.code() == ErrorCode::kNotFound) {
      TARN_ASSIGN_OR_RETURN(const bool meanwhile, IsCommitted(store));
      if (meanwhile) return Status::Ok();
    }
    TARN_RETURN_IF_ERROR(written);
    KillPoint("share-recorded");
    return Status::Ok();
  }

  // Another worker of the same share may have been faster, and the commit behind it.
  Result<bool> IsCommitted(const PlanStore& store) {
    TARN_ASSIGN_OR_RETURN(const std::optional<CommittedPlan> committed, store.FindCommitted(result().plan));
    if (committed) report_.committed = committed->generation;
    return committed.has_value();
  }

  void LeaveOut(std::string path, Status reason) {
    progress_->Say(fmt::format("left out: {}: {}", EscapeName(path), reason.message()));
    result().left_out.push_back({std::move(path), std::move(reason)});
  }

  // The files of the share as they are now; the plan may be old.
  Status LookAtShare(const io::Source& source) {
    progress_->SetPhase("scanning");
    std::vector<PlannedFile> share = plan_.Share(result().share);
    std::vector<std::optional<Result<io::FileStat>>> stats(share.size());
    {
      io::ThreadPool pool(kLookers);
      for (size_t i = 0; i < share.size(); ++i) {
        pool.Submit([&, i] {
          if (StopSignal::Received() != 0) return;
          stats[i] = source.Stat(io::JoinPath(places_.source_path, share[i].path));
        });
      }
    }
    TARN_RETURN_IF_ERROR(StopSignal::Check());
    for (size_t i = 0; i < share.size(); ++i) {
      const Result<io::FileStat>& stat = *stats[i];
      if (!stat.ok()) {
        LeaveOut(std::move(share[i].path), stat.status());
      } else if (stat->type != io::FileType::kRegular) {
        LeaveOut(std::move(share[i].path),
                 Status(ErrorCode::kChanged, "it is no regular file any more: it was one when it was planned")
                     .WithHint("plan again with 'tarn-index plan'"));
      } else {
        unread_.push_back({std::move(share[i].path), *stat});
      }
    }
    return Status::Ok();
  }

  // Takes out of unread_ what an earlier run of this share read, or any publish.
  Status Match(Workplace* workplace, const PlanStore& store) {
    progress_->SetPhase("matching");
    const bool full = plan_.identity == IdentityMode::kFull;
    // With --identity=full nothing counts but what was read for this very plan.
    TARN_RETURN_IF_ERROR(workplace->OpenJournal(
        full ? store.JournalPath(result().plan) : workplace->root()->JournalPath(options_.publish.name)));
    dataset::Predecessor predecessor;
    if (!full) {
      TARN_ASSIGN_OR_RETURN(predecessor, dataset::FindPredecessor(*workplace->root(), options_.publish.name,
                                                                  dataset::Look::kRows));
    }
    TARN_ASSIGN_OR_RETURN(
        const KnownFiles known,
        KnownFiles::Load({.root = workplace->root(),
                          .newest = predecessor.whole.get(),
                          .salvaged = predecessor.damaged ? &predecessor.numbers.rows : nullptr,
                          .journal = workplace->journal(),
                          .source = &workplace->source(),
                          .dataset = places_.source_path,
                          .selection = &plan_.selection}));
    std::vector<ScannedFile> unknown;
    for (ScannedFile& file : unread_) {
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      TARN_ASSIGN_OR_RETURN(std::optional<KnownFiles::Match> match, known.Find(file));
      if (!match) {
        unknown.push_back(std::move(file));
        continue;
      }
      ++result().files_unchanged;
      result().files.push_back(MakeShareFile(file.stat.identity, match->file, std::move(match->findings)));
    }
    unread_ = std::move(unknown);
    return Status::Ok();
  }

  Status ReadRest(Workplace* workplace) {
    const FilePassContext context{.source = &workplace->source(),
                                  .dataset = places_.source_path,
                                  .selection = &plan_.selection,
                                  .root = workplace->root(),
                                  .journal = workplace->journal(),
                                  .clock = &workplace->clock(),
                                  .progress = progress_,
                                  .options = {}};
    TARN_ASSIGN_OR_RETURN(PipelineResult read, ReadUnknownFiles(options_.publish, context,
                                                                workplace->staging(), std::move(unread_)));
    result().files_read = read.read.size();
    for (FilePassResult& pass : read.read) {
      result().bundles_reused += pass.bundle_reused ? 1 : 0;
      result().files.push_back(MakeShareFile(pass.identity, pass.file, std::move(pass.findings)));
    }
    result().left_out.insert(result().left_out.end(), std::make_move_iterator(read.left_out.begin()),
                             std::make_move_iterator(read.left_out.end()));
    return Status::Ok();
  }

  ShareResult& result() { return report_.result; }

  const WorkerOptions& options_;
  Progress* const progress_;
  Plan plan_;
  Places places_;
  std::vector<ScannedFile> unread_;
  WorkerReport report_;
};

}  // namespace

Result<WorkerReport> RunShare(const WorkerOptions& options, Progress* progress) {
  return Worker(options, progress).Run();
}

void PrintWorker(const WorkerReport& report, std::ostream& out) {
  const ShareResult& result = report.result;
  if (report.committed) {
    out << fmt::format("plan {} of {} is committed, as {}@{}: nothing is left to do\n", result.plan,
                       report.dataset, report.dataset, *report.committed);
    out.flush();
    return;
  }
  out << fmt::format("share {}/{} of plan {} of {} is done ({})\n", result.share, report.shares, result.plan,
                     report.dataset, report.origin);
  out << fmt::format("  read        {} files, {} in {:.1f} s", result.files_read,
                     HumanBytes(result.bytes_read), result.seconds);
  if (result.bytes_read > 0 && result.seconds > 0) {
    out << fmt::format(" ({:.0f} MB/s)", static_cast<double>(result.bytes_read) / result.seconds / 1e6);
  }
  out << fmt::format("\n  unchanged   {} files, not read\n", result.files_unchanged);
  for (const LeftOut& left_out : result.left_out) {
    out << fmt::format("  left out    {}: {}\n", EscapeName(left_out.path), left_out.reason.ToString());
  }
  out.flush();
}

void PrintWorkerJson(const WorkerReport& report, std::ostream& out) {
  const ShareResult& result = report.result;
  nlohmann::ordered_json object = {{"dataset", report.dataset},
                                   {"index", EscapeName(report.index)},
                                   {"plan", result.plan},
                                   {"share", result.share},
                                   {"shares", report.shares},
                                   {"share_from", report.origin},
                                   {"files", result.files.size()},
                                   {"bytes_read", result.bytes_read},
                                   {"files_read", result.files_read},
                                   {"files_unchanged", result.files_unchanged},
                                   {"bundles_reused", result.bundles_reused},
                                   {"seconds", result.seconds},
                                   {"left_out", LeftOutJson(result.left_out)}};
  if (report.committed) object["committed"] = fmt::format("{}@{}", report.dataset, *report.committed);
  out << object.dump() << '\n' << std::flush;
}

}  // namespace tarn::indexer

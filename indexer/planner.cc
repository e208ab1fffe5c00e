#include "indexer/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "indexer/dataset_passes.h"
#include "indexer/generation_commit.h"
#include "indexer/known_files.h"
#include "indexer/left_out_json.h"
#include "indexer/plan.h"
#include "indexer/plan_store.h"
#include "indexer/space.h"
#include "indexer/stop_signal.h"
#include "indexer/workplace.h"
#include "tarn/base/bytes.h"
#include "tarn/dataset/predecessor.h"
#include "tarn/digest/archive_digester.h"

namespace tarn::indexer {
namespace {

class Planner {
 public:
  Planner(const PlanOptions& options, Progress* progress) : options_(options), progress_(progress) {}

  Result<PlanReport> Run() {
    const auto started = std::chrono::steady_clock::now();
    if (Status status = RunPasses(); !status.ok()) {
      return status.code() == ErrorCode::kNoSpace ? ExplainNoSpace(options_.publish.index, std::move(status))
                                                  : status;
    }
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return std::move(report_);
  }

 private:
  Status RunPasses() {
    const PublishOptions& publish = options_.publish;
    TARN_RETURN_IF_ERROR(CheckDatasetName(publish.name));
    TARN_ASSIGN_OR_RETURN(places_, ResolvePlaces(publish.directory, publish.relative_to, publish.index));
    progress_->SetPhase("opening");
    TARN_ASSIGN_OR_RETURN(std::unique_ptr<index::IndexRoot> root,
                          index::IndexRoot::OpenOrCreate(publish.index));
    TARN_ASSIGN_OR_RETURN(Workplace workplace,
                          Workplace::Open(std::move(root), places_, "plan-" + publish.name));
    TARN_ASSIGN_OR_RETURN(Scan scan, ScanPlaces(workplace.source(), places_, publish.selection, progress_));
    report_.left_out = std::move(scan.left_out);
    report_.notes = std::move(scan.notes);
    TARN_RETURN_IF_ERROR(Match(&workplace, std::move(scan.files)));
    return Leave(&workplace);
  }

  // Parts what has to be read from what is known.
  Status Match(Workplace* workplace, std::vector<ScannedFile> scanned) {
    const bool full = options_.publish.identity == IdentityMode::kFull;
    TARN_ASSIGN_OR_RETURN(const dataset::Predecessor predecessor,
                          dataset::FindPredecessor(*workplace->root(), options_.publish.name,
                                                   full ? dataset::Look::kTables : dataset::Look::kRows));
    for (const std::string& warning : predecessor.warnings) progress_->Say("warning: " + warning);
    std::vector<dataset::PublishedFile> known_files;
    if (full) {
      unread_ = std::move(scanned);
    } else {
      progress_->SetPhase("matching");
      TARN_ASSIGN_OR_RETURN(const std::unique_ptr<Journal> journal,
                            Journal::Look(workplace->root()->JournalPath(options_.publish.name)));
      TARN_ASSIGN_OR_RETURN(
          const KnownFiles known,
          KnownFiles::Load({.root = workplace->root(),
                            .newest = predecessor.whole.get(),
                            .salvaged = predecessor.damaged ? &predecessor.numbers.rows : nullptr,
                            .journal = journal.get(),
                            .source = &workplace->source(),
                            .dataset = places_.source_path,
                            .selection = &options_.publish.selection}));
      for (ScannedFile& file : scanned) {
        TARN_RETURN_IF_ERROR(StopSignal::Check());
        TARN_ASSIGN_OR_RETURN(std::optional<KnownFiles::Match> match, known.Find(file));
        if (match) {
          known_.files.push_back(MakeShareFile(file.stat.identity, match->file, std::move(match->findings)));
          known_files.push_back(std::move(match->file));
        } else {
          unread_.push_back(std::move(file));
        }
      }
    }
    const SpaceNeed need = EstimateSpace(
        {.unread = &unread_,
         .known = &known_files,
         .newest = predecessor.whole && !predecessor.damaged ? &predecessor.whole->facts() : nullptr,
         .selection = &options_.publish.selection});
    report_.space_bytes = need.total();
    return CheckSpace(*workplace->root(), options_.publish.name, need);
  }

  uint32_t NumberOfShares(uint64_t bytes) const {
    if (options_.shares) return *options_.shares;
    const uint64_t by_bytes = (bytes + options_.share_bytes - 1) / options_.share_bytes;
    const uint64_t most = std::min<uint64_t>(kMaxShares, std::max<size_t>(unread_.size(), 1));
    return static_cast<uint32_t>(std::clamp<uint64_t>(by_bytes, 1, most));
  }

  Status Leave(Workplace* workplace) {
    Plan plan{.dataset = options_.publish.name,
              .root_uuid = workplace->root()->uuid(),
              .base = places_.base,
              .source_path = places_.source_path,
              .selection = options_.publish.selection,
              .identity = options_.publish.identity,
              .known = {},
              .files = {}};
    for (ScannedFile& file : unread_) plan.files.push_back({std::move(file.path), file.stat.identity, 0});
    known_.files_unchanged = known_.files.size();
    plan.known = digest::DigestOf(EncodeShare(known_));
    plan.shares = NumberOfShares(plan.Bytes());
    Balance(plan.shares, &plan.files);

    const PlanStore store(workplace->root(), plan.dataset);
    TARN_ASSIGN_OR_RETURN(const io::FileLock lock, store.Lock());
    TARN_ASSIGN_OR_RETURN(report_.id, store.Install(plan, known_, workplace->staging()));
    return FillIn(plan, store);
  }

  Status FillIn(const Plan& plan, const PlanStore& store) {
    report_.dataset = plan.dataset;
    report_.index = options_.publish.index;
    report_.source_path = plan.source_path;
    report_.files = plan.files.size();
    report_.bytes = plan.Bytes();
    report_.files_unchanged = known_.files.size();
    report_.shares.resize(plan.shares);
    for (const PlannedFile& file : plan.files) {
      PlanReport::Share& share = report_.shares[file.share - 1];
      ++share.files;
      share.bytes += file.identity.size;
    }
    for (uint32_t number = 1; number <= plan.shares; ++number) {
      PlanReport::Share& share = report_.shares[number - 1];
      TARN_ASSIGN_OR_RETURN(const std::optional<ShareResult> result, store.ReadShare(report_.id, number));
      share.done = share.files == 0 || result.has_value();
    }
    return Status::Ok();
  }

  const PlanOptions& options_;
  Progress* const progress_;
  Places places_;
  std::vector<ScannedFile> unread_;
  ShareResult known_;
  PlanReport report_;
};

}  // namespace

Result<PlanReport> MakePlan(const PlanOptions& options, Progress* progress) {
  return Planner(options, progress).Run();
}

void PrintPlan(const PlanReport& report, std::ostream& out) {
  out << fmt::format("plan {} of {}: {} files to read, {} ({}), in {} shares\n", report.id, report.dataset,
                     report.files, report.bytes, HumanBytes(report.bytes), report.shares.size());
  out << fmt::format("  unchanged   {} files, not to be read\n", report.files_unchanged);
  const auto [least, most] =
      std::minmax_element(report.shares.begin(), report.shares.end(),
                          [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  out << fmt::format("  a share     {} to {}\n", HumanBytes(least->bytes), HumanBytes(most->bytes));
  out << fmt::format("  space       about {} in the index root\n", HumanBytes(report.space_bytes));
  const auto done = std::count_if(report.shares.begin(), report.shares.end(),
                                  [](const PlanReport::Share& share) { return share.done; });
  if (done > 0) out << fmt::format("  done        {} shares: nothing is to be read for them\n", done);
  for (const LeftOut& left_out : report.left_out) {
    out << fmt::format("  left out    {}: {}\n", EscapeName(left_out.path), left_out.reason.ToString());
  }
  for (const std::string& note : report.notes) out << "  note        " << note << '\n';
  const size_t shares = report.shares.size();
  out << "next:\n";
  if (static_cast<size_t>(done) < shares) {
    out << fmt::format(
        "  for every I from 1 to {}, on any machines:\n    {}\n  and then:\n", shares,
        WorkerCommand(report.dataset, report.index, report.id, "I", static_cast<uint32_t>(shares)));
  }
  out << "    " << CommitCommand(report.dataset, report.index, report.id) << '\n';
  out.flush();
}

void PrintPlanJson(const PlanReport& report, std::ostream& out) {
  nlohmann::ordered_json object = {{"dataset", report.dataset},
                                   {"index", EscapeName(report.index)},
                                   {"source_path", EscapeName(report.source_path)},
                                   {"plan", report.id},
                                   {"shares", report.shares.size()},
                                   {"files", report.files},
                                   {"bytes", report.bytes},
                                   {"files_unchanged", report.files_unchanged},
                                   {"space_bytes", report.space_bytes},
                                   {"seconds", report.seconds},
                                   {"share_list", nlohmann::ordered_json::array()},
                                   {"left_out", LeftOutJson(report.left_out)},
                                   {"notes", report.notes}};
  for (const PlanReport::Share& share : report.shares) {
    object["share_list"].push_back({{"files", share.files}, {"bytes", share.bytes}, {"done", share.done}});
  }
  out << object.dump() << '\n' << std::flush;
}

}  // namespace tarn::indexer

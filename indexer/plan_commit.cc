#include "indexer/plan_commit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "indexer/dataset_passes.h"
#include "indexer/generation_commit.h"
#include "indexer/keep_pass.h"
#include "indexer/kill_point.h"
#include "indexer/plan.h"
#include "indexer/plan_store.h"
#include "indexer/stop_signal.h"
#include "indexer/workplace.h"
#include "tarn/base/bytes.h"
#include "tarn/index/bundle_builder.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

constexpr size_t kNamedInErrors = 3;
constexpr size_t kNamedShares = 20;

// "3", "3 and 7", "1, 2, 3 and 12 more".
std::string NameShares(const std::vector<uint32_t>& shares) {
  std::string text;
  for (size_t i = 0; i < std::min(shares.size(), kNamedShares); ++i) {
    const bool last = i > 0 && i + 1 == shares.size();
    text += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", shares[i]);
  }
  if (shares.size() > kNamedShares) text += fmt::format(" and {} more", shares.size() - kNamedShares);
  return text;
}

// What changed about a file, as a person would say it.
std::string Compare(const io::FileIdentity& then, const io::FileIdentity& now) {
  if (then.size != now.size) return fmt::format("it had {} bytes and has {}", then.size, now.size);
  if (then.inode != now.inode) return "another file has its name";
  if (then.mtime_ns != now.mtime_ns) return "it was written since";
  return "it was touched since (its ctime)";
}

class Committer {
 public:
  Committer(const CommitOptions& options, Progress* progress) : options_(options), progress_(progress) {}

  Result<PublishReport> Run() {
    if (Status status = RunPasses(); !status.ok()) {
      return status.code() == ErrorCode::kNoSpace ? ExplainNoSpace(options_.publish.index, std::move(status))
                                                  : status;
    }
    return std::move(report_);
  }

 private:
  Status RunPasses() {
    progress_->SetPhase("opening");
    const PublishOptions& publish = options_.publish;
    report_.dataset = publish.name;
    report_.index = publish.index;
    TARN_RETURN_IF_ERROR(CheckDatasetName(publish.name));
    TARN_ASSIGN_OR_RETURN(std::unique_ptr<index::IndexRoot> root, index::IndexRoot::Open(publish.index));
    const PlanStore store(root.get(), publish.name);
    TARN_ASSIGN_OR_RETURN(id_, store.Resolve(options_.plan));
    TARN_ASSIGN_OR_RETURN(const io::FileLock lock, store.Lock());
    TARN_ASSIGN_OR_RETURN(const std::optional<CommittedPlan> committed, store.FindCommitted(id_));
    if (committed) return Repeat(*root, *committed);

    TARN_ASSIGN_OR_RETURN(plan_, store.Read(id_));
    report_.source_path = plan_.source_path;
    report_.plan = PlanFacts{.id = id_, .shares = plan_.shares};
    TARN_ASSIGN_OR_RETURN(places_, PlacesOfPlan(plan_, publish.relative_to, publish.index));
    TARN_ASSIGN_OR_RETURN(Workplace workplace,
                          Workplace::Open(std::move(root), places_, "commit-" + publish.name));
    KillPoint("root-opened");
    TARN_RETURN_IF_ERROR(GatherShares(store));
    if (!report_.refusal.ok()) return Status::Ok();
    TARN_RETURN_IF_ERROR(HoldAgainstFiles(workplace));
    if (!report_.refusal.ok()) return Status::Ok();
    JudgeFiles(publish.on_damage, places_.directory, errors_seen_, &files_, &report_);
    if (!report_.refusal.ok()) return Status::Ok();
    const KeepContext keep{.root = workplace.root(),
                           .source = &workplace.source(),
                           .source_path = places_.source_path,
                           .staging = workplace.staging(),
                           .progress = progress_};
    TARN_RETURN_IF_ERROR(KeepFiles(keep, publish, files_, &report_));
    return Commit(&workplace, store);
  }

  // What was committed is said again from the generation and what was written down.
  Status Repeat(const index::IndexRoot& root, const CommittedPlan& committed) {
    const std::string path = root.GenerationPath(report_.dataset, committed.generation);
    const Result<GenerationReaderPtr> reader = index::GenerationReader::Open(path);
    if (!reader.ok()) {
      return Status(reader.status())
          .WithContext(
              fmt::format("plan {} was committed as {}@{}", id_, report_.dataset, committed.generation))
          .WithHint("to publish the dataset again, plan again with 'tarn-index plan'");
    }
    report_.source_path = (*reader)->facts().source_path;
    report_.plan = PlanFacts{.id = id_, .shares = committed.totals.share};
    AddTotals(committed.totals);
    report_.left_out = committed.totals.left_out;
    for (const ShareFile& file : committed.totals.files) KeepFindings(file);
    report_.notes.push_back(
        fmt::format("plan {} was committed before, as {}@{}", id_, report_.dataset, committed.generation));
    return ReportGeneration(**reader, &report_);
  }

  void AddTotals(const ShareResult& share) {
    report_.bytes_read += share.bytes_read;
    report_.files_read += share.files_read;
    report_.files_unchanged += share.files_unchanged;
    report_.bundles_reused += share.bundles_reused;
    report_.seconds += share.seconds;
  }

  // Findings of archives come from their bundles in the end; see Publisher.
  void KeepFindings(const ShareFile& file) {
    for (const tar::Finding& finding : file.findings) {
      if (file.is_archive) {
        errors_seen_.push_back({file.path, finding});
      } else {
        report_.warnings++;
        report_.findings.push_back({file.path, finding});
      }
    }
  }

  Status GatherShares(const PlanStore& store) {
    progress_->SetPhase("gathering");
    std::set<uint32_t> needed = {0};
    for (const PlannedFile& file : plan_.files) needed.insert(file.share);
    for (const uint32_t number : needed) {
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      TARN_ASSIGN_OR_RETURN(std::optional<ShareResult> share, store.ReadShare(id_, number));
      if (!share) {
        report_.plan->missing.push_back(number);
        continue;
      }
      AddTotals(*share);
      for (ShareFile& file : share->files) {
        KeepFindings(file);
        found_.push_back({std::move(file), number});
      }
      report_.left_out.insert(report_.left_out.end(), std::make_move_iterator(share->left_out.begin()),
                              std::make_move_iterator(share->left_out.end()));
    }
    if (!report_.plan->missing.empty()) Refuse("missing", report_.plan->missing);
    return Status::Ok();
  }

  // Nothing is published, because `shares` are `what`.
  void Refuse(std::string_view what, const std::vector<uint32_t>& shares, std::string_view why = {}) {
    std::string hint;
    if (shares.front() == 0) {
      hint = "plan again with 'tarn-index plan': only what changed is read again";
    } else {
      hint = fmt::format(
          "run {}, and commit again",
          WorkerCommand(report_.dataset, report_.index, id_, std::to_string(shares.front()), plan_.shares));
      if (shares.size() > 1) hint += "; the same for each of the others";
    }
    const bool only_known = shares.size() == 1 && shares.front() == 0;
    const bool one = shares.size() == 1;
    std::string message =
        only_known
            ? fmt::format("plan {} of '{}': files that were known when it was made are {}", id_,
                          report_.dataset, what)
            : fmt::format("share{} {} of {} of plan {} of '{}' {} {}", one ? "" : "s", NameShares(shares),
                          plan_.shares, id_, report_.dataset, one ? "is" : "are", what);
    if (!why.empty()) message += fmt::format(" ({})", why);
    report_.refusal = Status(ErrorCode::kNotFound, std::move(message)).WithHint(std::move(hint));
  }

  // Every file has to be what its share says: the same to look at, its bundle in place.
  Status HoldAgainstFiles(const Workplace& workplace) {
    TARN_ASSIGN_OR_RETURN(const Scan scan,
                          ScanPlaces(workplace.source(), places_, plan_.selection, progress_));
    for (const std::string& note : scan.notes) report_.notes.push_back(note);
    std::unordered_map<std::string_view, const io::FileStat*> now;
    for (const ScannedFile& file : scan.files) now.emplace(file.path, &file.stat);
    progress_->SetPhase("checking");
    for (Found& found : found_) {
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      const auto stat = now.find(found.file.path);
      if (stat == now.end()) {
        AddChanged(found, "it is gone, or cannot be looked at");
      } else if (!(stat->second->identity == found.file.identity)) {
        AddChanged(found, Compare(found.file.identity, stat->second->identity));
      } else {
        Accept(*workplace.root(), found, stat->second->access);
      }
      now.erase(found.file.path);
    }
    NoteNewFiles(now, scan.left_out);
    if (!changed_.empty()) RefuseChanged();
    return Status::Ok();
  }

  struct Found {
    ShareFile file;
    uint32_t share = 0;
  };

  void AddChanged(const Found& found, std::string why) {
    report_.plan->changed.push_back({found.file.path, found.share, why});
    changed_.insert(found.share);
  }

  void Accept(const index::IndexRoot& root, const Found& found, const io::FileAccess& access) {
    const ShareFile& file = found.file;
    dataset::PublishedFile published{
        .path = file.path,
        .kind = file.is_archive ? index::ManifestKind::kArchive : index::ManifestKind::kLooseFile,
        .id = file.id,
        .hint = file.identity,
        .access = access,
        .facts = {}};
    if (!file.trusted) published.hint.ctime_ns = 0;
    if (!root.HasBundle(file.id)) return AddChanged(found, "its bundle is gone from the index root");
    if (file.is_archive) {
      Result<index::ArchiveFacts> facts = index::ReadBundleFacts(root.BundlePath(file.id), file.id);
      if (!facts.ok()) return AddChanged(found, facts.status().message());
      if (!facts->is_tar) return AddChanged(found, "its bundle has no members");
      published.facts = *std::move(facts);
    } else {
      published.facts.is_tar = false;
    }
    files_.push_back(std::move(published));
  }

  // What lies there and nobody planned. What was left out is named already.
  void NoteNewFiles(const std::unordered_map<std::string_view, const io::FileStat*>& rest,
                    const std::vector<LeftOut>& scan_left_out) {
    std::unordered_set<std::string> named;
    for (const LeftOut& left_out : report_.left_out) named.insert(left_out.path);
    for (const LeftOut& left_out : scan_left_out) {
      if (named.insert(left_out.path).second) report_.left_out.push_back(left_out);
    }
    std::vector<std::string_view> fresh;
    for (const auto& [path, stat] : rest) {
      if (!named.contains(std::string(path))) fresh.push_back(path);
    }
    std::sort(fresh.begin(), fresh.end());
    std::sort(report_.left_out.begin(), report_.left_out.end(),
              [](const LeftOut& a, const LeftOut& b) { return a.path < b.path; });
    if (fresh.empty()) return;
    std::string note =
        fmt::format("{} files came after the plan was made and are not part of it:", fresh.size());
    for (size_t i = 0; i < std::min(fresh.size(), kNamedInErrors); ++i) {
      note += fmt::format("{} '{}'", i == 0 ? "" : ",", EscapeName(fresh[i]));
    }
    if (fresh.size() > kNamedInErrors) note += " ...";
    report_.notes.push_back(note + "; the next plan or publish takes them");
  }

  void RefuseChanged() {
    const std::vector<ChangedSince>& changed = report_.plan->changed;
    std::string why = fmt::format("{} files:", changed.size());
    for (size_t i = 0; i < std::min(changed.size(), kNamedInErrors); ++i) {
      why += fmt::format("{} '{}': {}", i == 0 ? "" : ",", EscapeName(changed[i].path), changed[i].why);
    }
    if (changed.size() > kNamedInErrors) why += " ...";
    Refuse("not what was read any more", {changed_.begin(), changed_.end()}, why);
  }

  Status Commit(Workplace* workplace, const PlanStore& store) {
    TARN_RETURN_IF_ERROR(workplace->OpenJournal(workplace->root()->JournalPath(report_.dataset)));
    const CommitContext context{.root = workplace->root(),
                                .dataset = report_.dataset,
                                .source_path = plan_.source_path,
                                .staging = workplace->staging(),
                                .clock = &workplace->clock(),
                                .journal = workplace->journal(),
                                .progress = progress_};
    CommittedPlan committed{.totals = {.plan = id_,
                                       .share = plan_.shares,
                                       .files = {},
                                       .left_out = report_.left_out,
                                       .bytes_read = report_.bytes_read,
                                       .files_read = report_.files_read,
                                       .files_unchanged = report_.files_unchanged,
                                       .bundles_reused = report_.bundles_reused,
                                       .seconds = report_.seconds}};
    for (Found& found : found_) {
      if (!found.file.findings.empty()) committed.totals.files.push_back(std::move(found.file));
    }
    TARN_RETURN_IF_ERROR(CommitGeneration(context, files_, &report_));
    committed.generation = report_.generation;
    return store.Commit(id_, committed);
  }

  const CommitOptions& options_;
  Progress* const progress_;
  std::string id_;
  Plan plan_;
  Places places_;
  std::vector<Found> found_;
  std::set<uint32_t> changed_;  // shares with files that are not what was read
  std::vector<dataset::PublishedFile> files_;
  std::vector<FoundIn> errors_seen_;
  PublishReport report_;
};

}  // namespace

Result<PublishReport> CommitPlan(const CommitOptions& options, Progress* progress) {
  return Committer(options, progress).Run();
}

}  // namespace tarn::indexer

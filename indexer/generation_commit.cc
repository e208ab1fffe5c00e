#include "indexer/generation_commit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "indexer/kill_point.h"
#include "indexer/stop_signal.h"
#include "tarn/base/bytes.h"
#include "tarn/base/version.h"
#include "tarn/index/generation_writer.h"
#include "tarn/index/usage.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int kCommitAttempts = 1000;  // every one lost means that another publisher won
constexpr size_t kNamedInErrors = 3;

Status DamageRefused(const std::vector<std::string>& damaged, size_t files,
                     const std::vector<FoundIn>& errors_seen) {
  std::string message =
      fmt::format("{} of {} files are damaged and --on-damage=fail was given", damaged.size(), files);
  for (size_t i = 0; i < std::min(damaged.size(), kNamedInErrors); ++i) {
    message += fmt::format("{} '{}'", i == 0 ? ":" : ",", EscapeName(damaged[i]));
    const auto seen = std::find_if(errors_seen.begin(), errors_seen.end(),
                                   [&](const FoundIn& found) { return found.path == damaged[i]; });
    if (seen != errors_seen.end()) {
      message +=
          fmt::format(" ({} at offset {})", tar::FindingCodeName(seen->finding.code), seen->finding.offset);
    }
  }
  if (damaged.size() > kNamedInErrors) {
    message += fmt::format(" and {} more", damaged.size() - kNamedInErrors);
  }
  return Status(ErrorCode::kCorrupt, std::move(message))
      .WithHint(
          "'tarn walk ARCHIVE' shows every finding; --on-damage=quarantine publishes the "
          "others");
}

class GenerationCommit {
 public:
  GenerationCommit(const CommitContext& context, const std::vector<dataset::PublishedFile>& files,
                   PublishReport* report)
      : context_(context), files_(files), report_(*report) {}

  Status Run() {
    context_.progress->SetPhase("publishing");
    TARN_RETURN_IF_ERROR(Commit());
    for (const std::string& warning : predecessor_.warnings) report_.notes.push_back(warning);
    TARN_ASSIGN_OR_RETURN(const GenerationReaderPtr reader, OpenReported());
    return ReportGeneration(*reader, &report_);
  }

 private:
  Status Commit() {
    TARN_ASSIGN_OR_RETURN(const uint32_t number, context_.root->DatasetNumberOrCreate(context_.dataset));
    for (int attempt = 0; attempt < kCommitAttempts; ++attempt) {
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      TARN_RETURN_IF_ERROR(FindPredecessor(attempt));
      const dataset::GenerationPlan plan{.dataset = context_.dataset,
                                         .dataset_number = number,
                                         .generation = predecessor_.next_generation,
                                         .root_uuid = context_.root->uuid(),
                                         .source_path = context_.source_path,
                                         .writer = "tarn-index " + std::string(VersionString()),
                                         .created = context_.clock->Now() / kSecond};
      TARN_ASSIGN_OR_RETURN(dataset::BuiltGeneration built,
                            dataset::BuildGeneration(plan, files_, predecessor_.numbers));
      KillPoint("rows-built");
      TARN_ASSIGN_OR_RETURN(const bool same, SaysTheSame(built.rows));
      if (same) return EndUnchanged(std::move(built));

      const std::string staged = io::JoinPath(context_.staging, fmt::format("generation-{}", attempt));
      TARN_RETURN_IF_ERROR(
          index::WriteGeneration(*context_.root, built.rows, staged, {.previous = PreviousDirectory()}));
      KillPoint("generation-written");
      TARN_RETURN_IF_ERROR(CheckQuota(built.rows, staged));
      const Status published = context_.root->PublishGeneration(context_.dataset, plan.generation, staged);
      if (published.code() == ErrorCode::kAlreadyExists) continue;
      TARN_RETURN_IF_ERROR(published);
      KillPoint("generation-published");
      report_.published = true;
      report_.generation = plan.generation;
      for (std::string& note : built.notes) report_.notes.push_back(std::move(note));
      return context_.journal->Compact({});
    }
    return Status(ErrorCode::kBusy, fmt::format("other publishers of '{}' were faster {} times",
                                                context_.dataset, kCommitAttempts))
        .WithHint("run the command again when they are done");
  }

  // Whose packs may be linked; empty: nobody's.
  std::string PreviousDirectory() const {
    const auto& newest = predecessor_.whole;
    if (!newest || predecessor_.damaged) return "";
    return context_.root->GenerationPath(context_.dataset, newest->facts().generation);
  }

  // Looks at what there is now: at the first attempt that is mostly what the caller saw.
  Status FindPredecessor(int attempt) {
    if (attempt == 0 && context_.predecessor != nullptr) {
      const Result<std::vector<uint32_t>> all = context_.root->AllGenerations(context_.dataset);
      TARN_RETURN_IF_ERROR(all.status());
      if ((all->empty() ? 1 : all->back() + 1) == context_.predecessor->next_generation) {
        predecessor_ = *context_.predecessor;
        return Status::Ok();
      }
    }
    TARN_ASSIGN_OR_RETURN(predecessor_,
                          dataset::FindPredecessor(*context_.root, context_.dataset, context_.look));
    return Status::Ok();
  }

  Status CheckQuota(const index::GenerationRows& rows, const std::string& staged) const {
    std::vector<ArchiveId> names;
    names.reserve(rows.manifest.size());
    for (const index::ManifestRow& row : rows.manifest) names.push_back(row.id);
    return index::CheckQuotaWith(*context_.root, context_.dataset, staged, names);
  }

  // Whether the newest generation shows the same files in the same way. ctime and inode only save a reader
  // work; they do not make a new generation.
  Result<bool> SaysTheSame(const index::GenerationRows& rows) const {
    const auto& newest = predecessor_.whole;
    if (!newest || predecessor_.damaged ||
        context_.root->IsRetired(context_.dataset, predecessor_.whole->facts().generation) ||
        predecessor_.whole->facts().digest != rows.facts.digest ||
        predecessor_.whole->facts().source_path != rows.facts.source_path ||
        predecessor_.whole->facts().view != rows.facts.view) {
      return false;
    }
    std::vector<index::ManifestRow> theirs;
    TARN_RETURN_IF_ERROR(predecessor_.whole->ForEachManifestRow([&theirs](const index::ManifestRow& row) {
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
    TARN_RETURN_IF_ERROR(context_.root->RepairLatest(context_.dataset));
    for (std::string& note : built.notes) report_.notes.push_back(std::move(note));
    // Hints that the newest generation does not have stay in the journal, so that the next publish reads
    // nothing again.
    std::vector<JournalLine> lines;
    for (const index::ManifestRow& row : built.rows.manifest) {
      if (row.hint.ctime_ns == 0) continue;
      index::ManifestRow theirs;
      TARN_ASSIGN_OR_RETURN(const bool some, predecessor_.whole->GetManifestRow(row.number, &theirs));
      if (!some || !(theirs.hint == row.hint)) lines.push_back({row.path, row.hint, row.id});
    }
    return context_.journal->Compact(lines);
  }

  // The generation that the report is about: the one we published, or the newest when nothing changed.
  Result<GenerationReaderPtr> OpenReported() const {
    if (!report_.published) return predecessor_.whole;
    return index::GenerationReader::Open(context_.root->GenerationPath(context_.dataset, report_.generation));
  }

  const CommitContext& context_;
  const std::vector<dataset::PublishedFile>& files_;
  PublishReport& report_;
  dataset::Predecessor predecessor_;
};

}  // namespace

void JudgeFiles(OnDamage on_damage, const std::string& directory, const std::vector<FoundIn>& errors_seen,
                std::vector<dataset::PublishedFile>* files, PublishReport* report) {
  std::vector<std::string> damaged;
  for (dataset::PublishedFile& file : *files) {
    if (file.kind != index::ManifestKind::kArchive || file.facts.errors == 0) continue;
    damaged.push_back(file.path);
    if (on_damage == OnDamage::kQuarantine) file.kind = index::ManifestKind::kQuarantined;
  }
  if (on_damage == OnDamage::kFail && !damaged.empty()) {
    report->refusal = DamageRefused(damaged, files->size(), errors_seen);
    report->quarantined = std::move(damaged);
  } else if (files->empty()) {
    report->refusal = Status(ErrorCode::kNotFound,
                             fmt::format("nothing is left to publish: all {} files of '{}' were left out",
                                         report->left_out.size(), directory))
                          .WithHint("the reasons stand above, one for each file");
  }
}

Status CommitGeneration(const CommitContext& context, const std::vector<dataset::PublishedFile>& files,
                        PublishReport* report) {
  return GenerationCommit(context, files, report).Run();
}

Status ReportGeneration(const index::GenerationReader& generation, PublishReport* report) {
  const index::GenerationFacts& facts = generation.facts();
  report->generation = facts.generation;
  report->digest = facts.digest.ToHex();
  report->archives = facts.archives;
  report->loose_files = facts.loose_files;
  report->members = facts.members;
  report->bytes = facts.bytes;
  TARN_RETURN_IF_ERROR(generation.ForEachManifestRow([&](const index::ManifestRow& row) {
    if (row.kind == index::ManifestKind::kQuarantined) report->quarantined.push_back(row.path);
    report->warnings += row.warnings;
    report->errors += row.errors;
    if (row.warnings + row.errors == 0) return Status::Ok();
    return generation.ForEachFinding(row.id, [&](const tar::Finding& finding) {
      report->findings.push_back({row.path, finding});
      return Status::Ok();
    });
  }));
  std::sort(report->quarantined.begin(), report->quarantined.end());
  std::stable_sort(report->findings.begin(), report->findings.end(),
                   [](const FoundIn& a, const FoundIn& b) { return a.path < b.path; });
  return Status::Ok();
}

Status ExplainNoSpace(const std::string& index, Status status) {
  if (!status.hint().empty()) return status;  // a quota of ours, or an estimate: it says all there is to say
  std::string what = "is over quota";         // what is free on the file system is then no help
  if (status.error_number() != EDQUOT) {
    const Result<uint64_t> free_bytes = io::FreeBytes(index);
    what = free_bytes.ok() ? "is full (" + HumanBytes(*free_bytes) + " are free)" : "is full";
  }
  return std::move(status)
      .WithContext(fmt::format("index root '{}' {}", index, what))
      .WithHint(
          "what was published before is whole, and archives that were indexed are kept: free space or "
          "raise the quota, and run the same command again");
}

}  // namespace tarn::indexer

#include "indexer/plan_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "indexer/journal.h"
#include "indexer/kill_point.h"
#include "indexer/stop_signal.h"
#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/io/file_facts.h"

namespace tarn::indexer {
namespace {

constexpr std::string_view kCurrent = "current";
constexpr std::string_view kLock = "lock";
constexpr std::string_view kCommittedSuffix = ".committed";
constexpr size_t kMaxPlanBytes = size_t{4} << 30;
constexpr size_t kSmallFile = 4096;
constexpr std::chrono::milliseconds kLookForSignals{100};
constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

bool IsPlanId(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string EncodeCommitted(const CommittedPlan& committed) {
  std::string bytes;
  AppendBigEndian32(&bytes, committed.generation);
  return bytes + EncodeShare(committed.totals);
}

Result<CommittedPlan> DecodeCommitted(std::string_view bytes, const std::string& where) {
  CommittedPlan committed;
  constexpr size_t kNumber = sizeof(uint32_t);
  if (bytes.size() < kNumber) return Status(ErrorCode::kCorrupt, "'" + where + "' is cut off");
  committed.generation = ReadBigEndian32(bytes.data());
  TARN_ASSIGN_OR_RETURN(committed.totals, DecodeShare(bytes.substr(kNumber), where));
  return committed;
}

// The text of a file that may not be there.
Result<std::optional<std::string>> ReadIfThere(const std::string& path, size_t limit) {
  Result<std::string> text = io::ReadFile(path, limit);
  if (text.code() == ErrorCode::kNotFound) return std::optional<std::string>();
  if (!text.ok()) return std::move(text).status();
  return std::optional<std::string>(*std::move(text));
}

}  // namespace

PlanStore::PlanStore(const index::IndexRoot* root, std::string dataset)
    : root_(root), dataset_(std::move(dataset)), directory_(io::JoinPath(root->PlansPath(), dataset_)) {}

std::string PlanStore::PathOf(const std::string& id) const {
  return io::JoinPath(directory_, id);
}

std::string PlanStore::SharePath(const std::string& id, uint32_t share) const {
  return fmt::format("{}/share-{}", PathOf(id), share);
}

std::string PlanStore::JournalPath(const std::string& id) const {
  return io::JoinPath(PathOf(id), "journals");
}

Result<io::FileLock> PlanStore::Lock() const {
  for (;;) {
    TARN_RETURN_IF_ERROR(io::MakeDirectories(directory_));
    TARN_ASSIGN_OR_RETURN(std::optional<io::FileLock> lock,
                          io::FileLock::TryAcquire(io::JoinPath(directory_, kLock)));
    if (lock) return *std::move(lock);
    TARN_RETURN_IF_ERROR(StopSignal::Check());
    std::this_thread::sleep_for(kLookForSignals);
  }
}

Result<std::string> PlanStore::Install(const Plan& plan, const ShareResult& known,
                                       const std::string& staging) const {
  const std::string bytes = EncodePlan(plan);
  const std::string id = PlanId(bytes);
  const std::string aside = io::JoinPath(staging, "plan");
  TARN_RETURN_IF_ERROR(io::MakeDirectory(aside));
  TARN_RETURN_IF_ERROR(io::WriteFileAtomically(io::JoinPath(aside, "share-0"), EncodeShare(known)));
  TARN_RETURN_IF_ERROR(io::WriteFileAtomically(io::JoinPath(aside, "plan"), bytes));
  // What an earlier commit of the same plan said does not count for this one.
  TARN_RETURN_IF_ERROR(io::RemoveFile(PathOf(id) + std::string(kCommittedSuffix)));
  const Status renamed = io::RenameNoReplace(aside, PathOf(id));
  if (!renamed.ok() && renamed.code() != ErrorCode::kAlreadyExists) return renamed;
  KillPoint("plan-in-place");
  TARN_RETURN_IF_ERROR(io::WriteFileAtomically(io::JoinPath(directory_, kCurrent), id + "\n"));
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(directory_));
  for (const std::string& name : names) {
    if (name == id || name == kCurrent || name == kLock) continue;
    TARN_RETURN_IF_ERROR(io::RemoveTree(io::JoinPath(directory_, name)));
  }
  return id;
}

Result<std::string> PlanStore::Resolve(const std::optional<std::string>& wanted) const {
  if (wanted) {
    if (IsPlanId(*wanted)) return *wanted;
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is no id of a plan: 16 of 0-9 and a-f", EscapeName(*wanted)))
        .WithHint("'tarn-index plan' prints it; without --plan the current plan of the dataset is taken");
  }
  const std::string path = io::JoinPath(directory_, kCurrent);
  TARN_ASSIGN_OR_RETURN(std::optional<std::string> id, ReadIfThere(path, kSmallFile));
  if (!id) {
    return Status(ErrorCode::kNotFound,
                  fmt::format("dataset '{}' has no plan in index root '{}'", dataset_, root_->path()))
        .WithHint(fmt::format("make one: tarn-index plan DIR --name {} --index {}", dataset_, root_->path()));
  }
  if (id->ends_with('\n')) id->pop_back();
  if (IsPlanId(*id)) return *std::move(id);
  return Status(ErrorCode::kCorrupt, fmt::format("'{}' should hold the id of a plan, and holds '{}'", path,
                                                 EscapeName(id->substr(0, 32))))
      .WithHint("plan again with 'tarn-index plan': what was read already is not read again");
}

Result<std::optional<CommittedPlan>> PlanStore::FindCommitted(const std::string& id) const {
  const std::string path = PathOf(id) + std::string(kCommittedSuffix);
  TARN_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, ReadIfThere(path, kMaxPlanBytes));
  if (!bytes) return std::optional<CommittedPlan>();
  TARN_ASSIGN_OR_RETURN(CommittedPlan committed, DecodeCommitted(*bytes, path));
  return std::optional<CommittedPlan>(std::move(committed));
}

Status PlanStore::Gone(const std::string& id) const {
  TARN_ASSIGN_OR_RETURN(const std::optional<CommittedPlan> committed, FindCommitted(id));
  if (committed) {
    return Status(ErrorCode::kNotFound, fmt::format("plan {} of '{}' is done: it was committed as {}@{}", id,
                                                    dataset_, dataset_, committed->generation))
        .WithHint("to look at the dataset again, plan again with 'tarn-index plan'");
  }
  const Result<std::string> current = Resolve(std::nullopt);
  const std::string now =
      current.ok() && *current != id ? fmt::format(": the current one is {}", *current) : std::string();
  return Status(ErrorCode::kNotFound, fmt::format("dataset '{}' has no plan {} any more in index root '{}'{}",
                                                  dataset_, id, root_->path(), now))
      .WithHint("what was read for it is not read again: go on with the current plan, or plan again");
}

Result<Plan> PlanStore::Read(const std::string& id) const {
  const std::string path = io::JoinPath(PathOf(id), "plan");
  TARN_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, ReadIfThere(path, kMaxPlanBytes));
  if (!bytes) return Gone(id);
  TARN_ASSIGN_OR_RETURN(Plan plan, DecodePlan(*bytes, path));
  if (plan.root_uuid == root_->uuid()) return plan;
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("plan '{}' was made for index root {}, this one is {}", path, plan.root_uuid,
                            root_->uuid()))
      .WithHint("the root was made anew since: plan again with 'tarn-index plan'");
}

Result<std::optional<ShareResult>> PlanStore::ReadShare(const std::string& id, uint32_t share) const {
  const std::string path = SharePath(id, share);
  TARN_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, ReadIfThere(path, kMaxPlanBytes));
  if (!bytes) return std::optional<ShareResult>();
  TARN_ASSIGN_OR_RETURN(ShareResult result, DecodeShare(*bytes, path));
  if (result.share == share && (share == 0 || result.plan == id)) {
    return std::optional<ShareResult>(std::move(result));
  }
  return Status(ErrorCode::kCorrupt,
                fmt::format("'{}' holds share {} of plan {}", path, result.share, EscapeName(result.plan)))
      .WithHint("plan again with 'tarn-index plan': what was read already is not read again");
}

Status PlanStore::WriteShare(const ShareResult& result) const {
  Status written = io::WriteFileAtomically(SharePath(result.plan, result.share), EncodeShare(result));
  return written.code() == ErrorCode::kNotFound ? Gone(result.plan) : written;
}

Status PlanStore::Commit(const std::string& id, const CommittedPlan& committed) const {
  TARN_RETURN_IF_ERROR(
      io::WriteFileAtomically(PathOf(id) + std::string(kCommittedSuffix), EncodeCommitted(committed)));
  KillPoint("commit-recorded");
  // A second worker of a share may be writing there still; what is left goes with the next plan, or by gc.
  if (const Status removed = io::RemoveTree(PathOf(id)); !removed.ok()) {
    Log(LogLevel::kWarning, removed.message());
  }
  return Status::Ok();
}

namespace {

// When something below `path` was written last, in seconds, and how many bytes there are.
struct Touched {
  int64_t seconds = 0;
  uint64_t bytes = 0;
};

Result<Touched> LookBelow(const std::string& path) {
  Touched touched;
  TARN_RETURN_IF_ERROR(io::WalkFiles(path, [&](const std::string&, const io::FileFacts& facts) {
    touched.seconds = std::max(touched.seconds, facts.mtime_ns / kNanosecondsPerSecond);
    touched.bytes += facts.bytes;
    return Status::Ok();
  }));
  return touched;
}

Status AddNamed(const std::string& directory, std::set<ArchiveId>* named) {
  return io::WalkFiles(directory, [&](const std::string& path, const io::FileFacts&) {
    if (!io::BaseName(path).starts_with("share-")) return Status::Ok();
    TARN_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, ReadIfThere(path, kMaxPlanBytes));
    if (!bytes) return Status::Ok();  // committed meanwhile
    const Result<ShareResult> share = DecodeShare(*bytes, path);
    if (!share.ok()) return Status::Ok();  // nobody can use it: its share is run again
    for (const ShareFile& file : share->files) named->insert(file.id);
    return Status::Ok();
  });
}

}  // namespace

Result<std::set<ArchiveId>> NamedByPlans(const index::IndexRoot& root) {
  std::set<ArchiveId> named;
  if (io::IsDirectory(root.PlansPath())) TARN_RETURN_IF_ERROR(AddNamed(root.PlansPath(), &named));
  return named;
}

Result<StalePlans> RemoveStalePlans(const index::IndexRoot& root, int64_t now_seconds, int64_t grace_seconds,
                                    bool dry_run) {
  StalePlans stale;
  if (!io::IsDirectory(root.PlansPath())) return stale;
  TARN_ASSIGN_OR_RETURN(const std::vector<index::IndexRoot::StagingWork> works, root.ListStaging());
  if (std::any_of(works.begin(), works.end(), [](const auto& work) { return work.alive; })) return stale;
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> datasets, io::ListDirectory(root.PlansPath()));
  for (const std::string& dataset : datasets) {
    const std::string directory = io::JoinPath(root.PlansPath(), dataset);
    TARN_ASSIGN_OR_RETURN(const Touched touched, LookBelow(directory));
    if (now_seconds - touched.seconds < grace_seconds) continue;
    ++stale.plans;
    stale.bytes += touched.bytes;
    if (dry_run) continue;
    TARN_ASSIGN_OR_RETURN(const std::optional<io::FileLock> lock,
                          io::FileLock::TryAcquire(io::JoinPath(directory, kLock)));
    if (lock) TARN_RETURN_IF_ERROR(io::RemoveTree(directory));
  }
  return stale;
}

}  // namespace tarn::indexer

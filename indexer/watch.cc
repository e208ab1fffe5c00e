#include "indexer/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "indexer/server_clock.h"
#include "indexer/stop_signal.h"
#include "indexer/unpublished.h"
#include "indexer/watch_publish.h"
#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/base/token_bucket.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

using dataset::ArchivePatrol;
using dataset::ArchiveVerdict;
using dataset::LiveGeneration;
using std::chrono::nanoseconds;

constexpr nanoseconds kLongestSleep = std::chrono::milliseconds(100);  // then signals are looked for
constexpr nanoseconds kFollowInterval = std::chrono::seconds(10);      // listing an index root is cheap
constexpr nanoseconds kWriteInterval = std::chrono::seconds(1);
constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

nanoseconds Now() {
  return nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
}

void Sleep(nanoseconds time) {
  for (const nanoseconds until = Now() + time; StopSignal::Received() == 0 && Now() < until;) {
    std::this_thread::sleep_for(std::min(until - Now(), kLongestSleep));
  }
}

// Lets so many requests a second through, from any thread.
class RequestLimit {
 public:
  explicit RequestLimit(uint64_t per_second) { bucket_.SetRate(per_second, Now()); }
  void Wait() {
    nanoseconds wait;
    {
      const std::lock_guard guard(mutex_);
      wait = bucket_.Take(1, Now());
    }
    Sleep(wait);
  }

 private:
  std::mutex mutex_;
  TokenBucket bucket_;  // guarded by mutex_
};

class Watcher {
 public:
  Watcher(const WatchOptions& options, bool scrub_once, bool once, WatchLog log, bool quiet)
      : options_(options),
        once_(once),
        log_(log),
        quiet_(quiet),
        limit_(options.stats_per_second),
        patrol_options_(PatrolOptionsFor(scrub_once)) {}

  Status Open() {
    TARN_ASSIGN_OR_RETURN(const auto root, index::IndexRoot::Open(options_.index));
    uuid_ = root->uuid();
    TARN_ASSIGN_OR_RETURN(lock_, io::FileLock::TryAcquire(io::JoinPath(root->path(), "watch.lock")));
    if (!lock_) {
      return Status(ErrorCode::kBusy, fmt::format("another 'tarn-index watch' watches '{}'", options_.index))
          .WithHint("one is enough for all nodes; end it first, or read what it writes into STATES");
    }
    // A name that is not there is a slip of the keyboard now; later it is a dataset that was retired.
    for (const std::string& name : options_.datasets) {
      TARN_RETURN_IF_ERROR(root->Latest(name).status());
    }
    patrol_.emplace(patrol_options_, uuid_);
    return Follow();
  }

  Status Run() {
    nanoseconds followed = Now();
    nanoseconds written = followed;
    bool told_too_long = false;
    while (StopSignal::Received() == 0) {
      if (Now() - followed >= std::min<nanoseconds>(kFollowInterval, options_.interval)) {
        TARN_RETURN_IF_ERROR(Follow());
        followed = Now();
      }
      const dataset::PatrolStep step = patrol_->Step();
      if (!step.problem.ok()) Problem("", step.problem);
      if (!std::exchange(told_too_long, told_too_long || patrol_->RoundTooLong().has_value()) &&
          patrol_->RoundTooLong()) {
        log_.Note(TooLong());
      }
      if (step.look_round_ended) {
        LookForUnpublished();
        for (const std::string& name : patrol_->Datasets()) changed_.insert(name);
      }
      TakePublished();
      if (!changed_.empty() && Now() - written >= kWriteInterval) {
        WriteChanged();
        written = Now();
      }
      Sleep(std::min(step.wait, kWriteInterval));
    }
    // Where the scrub is.
    for (const std::string& name : patrol_->Datasets()) changed_.insert(name);
    WriteChanged();
    return Status::Ok();
  }

  Result<WatchReport> RunOnce(bool scrub) {
    if (scrub) patrol_->BeginScrub();
    for (bool looked = false; !looked || (scrub && !patrol_->ScrubDone());) {
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      const dataset::PatrolStep step = patrol_->Step();
      if (!step.problem.ok()) Problem("", step.problem);
      looked = looked || step.look_round_ended;
      Sleep(step.wait);
    }
    LookForUnpublished();
    while (publisher_.busy()) {
      Finish(publisher_.Wait());
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      TARN_RETURN_IF_ERROR(Follow());
      LookForUnpublished();
    }
    WatchReport report;
    for (const std::string& name : patrol_->Datasets()) {
      changed_.insert(name);
      report.datasets.push_back(
          {.totals = patrol_->Totals(name), .states = StatesOf(name), .published = published_[name]});
    }
    WriteChanged();
    report.scrubbed = scrub;
    report.problems = problems_;
    return report;
  }

 private:
  dataset::PatrolOptions PatrolOptionsFor(bool scrub_once) {
    dataset::PatrolOptions patrol;
    patrol.sources = options_.sources;
    patrol.interval = options_.interval;
    patrol.stats_per_second = options_.stats_per_second;
    patrol.scrub_period = options_.scrub_period;
    if (once_ && !scrub_once) patrol.scrub_period = std::chrono::seconds(0);
    if (scrub_once) patrol.scrub_period = std::max(patrol.scrub_period, std::chrono::seconds(86400));
    patrol.scrub_bytes_per_second = options_.scrub_bytes_per_second;
    patrol.scrub_paced = !scrub_once;
    patrol.open = [this](const LiveGeneration& name) { return OpenGeneration(name); };
    patrol.report = [this](const dataset::PatrolEvent& event) {
      changed_.insert(event.dataset);
      if (!quiet_) log_.Archive(event);
    };
    return patrol;
  }

  Result<std::shared_ptr<const index::GenerationReader>> OpenGeneration(const LiveGeneration& name) const {
    TARN_ASSIGN_OR_RETURN(const auto root, index::IndexRoot::Open(options_.index));
    return index::GenerationReader::Open(root->GenerationPath(name.dataset, name.number));
  }

  void Problem(const std::string& dataset, const Status& status) {
    problems_.push_back(dataset.empty() ? status.ToString() : dataset + ": " + status.ToString());
    if (!quiet_) log_.Problem(dataset, status);
  }
  // The same trouble of the same thing is said once, until it is over.
  void ProblemOnce(const std::string& about, const std::string& dataset, const Status& status) {
    std::string& told = told_[about];
    if (std::exchange(told, status.message()) != status.message()) Problem(dataset, status);
  }

  std::string TooLong() const {
    return fmt::format(
        "a round of looks takes {} s at {} a second, longer than the interval of {} s; give a larger "
        "--max-stats or --interval",
        patrol_->RoundTooLong()->count(), options_.stats_per_second, options_.interval.count());
  }

  // ---- Generations

  // Takes up and leaves what was published and retired. An index root that does not answer is waited for.
  Status Follow() {
    auto live = ListLive();
    if (live.code() == ErrorCode::kChanged) return live.status();
    if (!live.ok()) {
      ProblemOnce("root", "", live.status());
      return Status::Ok();
    }
    told_.erase("root");
    const std::vector<LiveGeneration> followed = patrol_->Followed();
    // New ones first: a file that both have keeps its verdict.
    std::vector<LiveGeneration> fresh;
    std::set_difference(live->begin(), live->end(), followed.begin(), followed.end(),
                        std::back_inserter(fresh));
    for (const LiveGeneration& name : fresh) {
      const Status added = patrol_->Add(name);
      // kNotFound: retired and collected since it was listed.
      if (!added.ok() && added.code() != ErrorCode::kNotFound) {
        ProblemOnce(fmt::format("{}@{}", name.dataset, name.number), name.dataset, added);
      }
      if (added.ok()) TARN_RETURN_IF_ERROR(RestoreOnce(name.dataset));
    }
    std::vector<LiveGeneration> gone;
    std::set_difference(followed.begin(), followed.end(), live->begin(), live->end(),
                        std::back_inserter(gone));
    for (const LiveGeneration& name : gone) patrol_->Drop(name);
    return Status::Ok();
  }

  Result<std::vector<LiveGeneration>> ListLive() const {
    TARN_ASSIGN_OR_RETURN(const auto root, index::IndexRoot::Open(options_.index));
    if (root->uuid() != uuid_) {
      return Status(ErrorCode::kChanged, fmt::format("'{}' is another index root now: expected {}, found {}",
                                                     options_.index, uuid_, root->uuid()))
          .WithHint("start the watch again");
    }
    std::vector<std::string> names = options_.datasets;
    if (names.empty()) {
      TARN_ASSIGN_OR_RETURN(names, root->Datasets());
    }
    std::vector<LiveGeneration> live;
    for (const std::string& name : names) {
      TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> numbers, root->Generations(name));
      for (const uint32_t number : numbers) live.push_back({name, number});
    }
    std::sort(live.begin(), live.end());
    return live;
  }

  // Goes on from what an earlier watch left. What a newer Tarn wrote is not overwritten.
  Status RestoreOnce(const std::string& name) {
    if (!restored_.insert(name).second) return Status::Ok();
    const auto states = dataset::ReadStates(options_.index, name);
    if (states.ok()) patrol_->Restore(*states);
    if (states.code() == ErrorCode::kUnsupported) return states.status();
    if (!states.ok() && states.code() != ErrorCode::kNotFound) Problem(name, states.status());
    return Status::Ok();
  }

  // ---- What is not published

  void LookForUnpublished() {
    std::vector<std::string> names = patrol_->Datasets();
    // One is published at a time: the one that was tried last comes last, so that no other waits for it.
    std::rotate(names.begin(), std::upper_bound(names.begin(), names.end(), tried_last_), names.end());
    for (const std::string& name : names) {
      if (StopSignal::Received() != 0) return;
      const Status status = LookForUnpublished(name);
      if (status.code() == ErrorCode::kCancelled) return;
      if (status.ok()) {
        told_.erase("scan " + name);
      } else {
        unpublished_.erase(name);
        ProblemOnce("scan " + name, name, status);
      }
    }
  }

  Status LookForUnpublished(const std::string& name) {
    TARN_ASSIGN_OR_RETURN(const auto newest, OpenGeneration(Newest(name)));
    const std::string& directory = newest->facts().source_path;
    Status nowhere(ErrorCode::kNotFound,
                   fmt::format("its directory '{}' is below no source", EscapeName(directory)));
    for (const auto& source : options_.sources) {
      auto found = FindUnpublished(
          *source, directory, options_.selection,
          [this, &name](const std::string& path) { return patrol_->Holds(name, path); },
          [this] { limit_.Wait(); });
      if (found.code() == ErrorCode::kNotFound) continue;
      if (!found.ok()) return found.status();
      Keep(name, found->archives);
      if (!options_.publish || found->archives.count == 0 || publisher_.busy()) return Status::Ok();
      return PublishIfSettled(name, *newest, *source, *found);
    }
    return std::move(nowhere).WithHint("check --source, and that it is mounted");
  }

  void Keep(const std::string& name, const dataset::UnpublishedArchives& archives) {
    std::optional<dataset::UnpublishedArchives>& known = unpublished_[name];
    const bool news = known ? *known != archives : archives.count > 0;
    known = archives;
    if (news) changed_.insert(name);
    if (news && !quiet_) log_.Unpublished(name, archives);
  }

  LiveGeneration Newest(const std::string& name) const {
    LiveGeneration newest{name, 0};
    for (const LiveGeneration& followed : patrol_->Followed()) {
      if (followed.dataset == name) newest = std::max(newest, followed);
    }
    return newest;
  }

  // ---- Publishing

  // A publish takes a directory as it is: what is missing now would be missing in the new generation too. So
  // nothing is published by itself while an archive of the newest one is not there.
  Status CheckWhole(const std::string& name, const index::GenerationReader& newest) const {
    std::set<std::pair<std::string, ArchiveId>> troubled;
    for (const ArchiveVerdict& verdict : patrol_->States(name).verdicts) {
      if (verdict.state != ArchiveVerdict::State::kVerified) troubled.insert({verdict.path, verdict.id});
    }
    std::string first;
    uint64_t count = 0;
    TARN_RETURN_IF_ERROR(newest.ForEachManifestRow([&](const index::ManifestRow& row) {
      if (!troubled.contains({row.path, row.id})) return Status::Ok();
      if (count++ == 0) first = row.path;
      return Status::Ok();
    }));
    if (count == 0) return Status::Ok();
    return Status(
               ErrorCode::kChanged,
               fmt::format("not published: {} archives of the newest generation are not as published, '{}' "
                           "among them",
                           count, EscapeName(first)))
        .WithHint("restore them, or run 'tarn-index publish' if they are meant to be gone");
  }

  Status PublishIfSettled(const std::string& name, const index::GenerationReader& newest,
                          const io::Source& source, const UnpublishedScan& found) {
    if (once_ && tried_.contains(name)) return Status::Ok();  // it was tried, and these were left out
    TARN_ASSIGN_OR_RETURN(const ServerClock clock, ServerClock::Ask(io::JoinPath(options_.index, "staging")));
    if (clock.Now() - found.youngest_ns < options_.settle_seconds * kNanosecondsPerSecond) {
      return Status::Ok();  // in a later round
    }
    TARN_RETURN_IF_ERROR(CheckWhole(name, newest));
    tried_.insert(name);
    tried_last_ = name;
    PublishOptions publish;
    publish.directory = io::JoinPath(source.name(), newest.facts().source_path);
    publish.relative_to = source.name();
    publish.name = name;
    publish.index = options_.index;
    publish.selection = options_.selection;
    publish.jobs = options_.jobs;
    publish.settle_seconds = options_.settle_seconds;
    publish.settle_timeout_seconds = 0;  // what is being written is taken in a later round
    publisher_.Start(std::move(publish));
    return Status::Ok();
  }

  void TakePublished() {
    if (auto finished = publisher_.Take()) Finish(*finished);
  }

  void Finish(const WatchPublisher::Finished& finished) {
    const std::string& name = finished.dataset;
    if (!finished.report.ok()) {
      if (finished.report.code() != ErrorCode::kCancelled) Problem(name, finished.report.status());
      return;
    }
    const PublishReport& report = *finished.report;
    if (!report.refusal.ok()) Problem(name, report.refusal);
    for (const LeftOut& left_out : report.left_out) {
      ProblemOnce(
          "left out " + name + "/" + left_out.path, name,
          Status(left_out.reason).WithContext(fmt::format("'{}' is left out", EscapeName(left_out.path))));
    }
    if (!report.published) return;
    published_[name].push_back(report.generation);
    if (!quiet_) log_.Published(name, report.generation);
  }

  // ---- STATES

  dataset::DatasetStates StatesOf(const std::string& name) const {
    dataset::DatasetStates states = patrol_->States(name);
    if (const auto known = unpublished_.find(name); known != unpublished_.end()) {
      states.unpublished = known->second;
    }
    return states;
  }

  void WriteChanged() {
    const std::vector<std::string> names = patrol_->Datasets();
    for (const std::string& name : std::exchange(changed_, {})) {
      if (!std::binary_search(names.begin(), names.end(), name)) continue;  // all retired
      const Status written = dataset::WriteStates(options_.index, StatesOf(name));
      if (written.ok()) {
        told_.erase("write " + name);
        continue;
      }
      changed_.insert(name);
      ProblemOnce("write " + name, name, written);
    }
  }

  const WatchOptions& options_;
  const bool once_;
  const WatchLog log_;
  const bool quiet_;
  RequestLimit limit_;
  const dataset::PatrolOptions patrol_options_;
  std::optional<io::FileLock> lock_;
  std::string uuid_;
  std::optional<ArchivePatrol> patrol_;
  std::set<std::string> restored_;
  std::set<std::string> changed_;  // datasets whose STATES are behind
  std::map<std::string, std::optional<dataset::UnpublishedArchives>> unpublished_;
  std::map<std::string, std::string> told_;  // troubles that last
  std::vector<std::string> problems_;
  std::set<std::string> tried_;  // publishes that were started
  std::string tried_last_;
  std::map<std::string, std::vector<uint32_t>> published_;
  WatchPublisher publisher_;  // ends first
};

}  // namespace

Status Watch(const WatchOptions& options, std::ostream* out) {
  Watcher watcher(options, false, false, WatchLog(options.json, out), false);
  TARN_RETURN_IF_ERROR(watcher.Open());
  return watcher.Run();
}

Result<WatchReport> WatchOnce(const WatchOptions& options, bool scrub) {
  Watcher watcher(options, scrub, true, WatchLog(options.json, nullptr), true);
  TARN_RETURN_IF_ERROR(watcher.Open());
  return watcher.RunOnce(scrub);
}

}  // namespace tarn::indexer

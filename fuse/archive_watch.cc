#include "fuse/archive_watch.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/io/file_facts.h"
#include "tarn/io/filesystem.h"

namespace tarn::fuse {
namespace {

using dataset::ArchiveVerdict;
using dataset::DatasetStates;
using dataset::LiveGeneration;

constexpr std::chrono::milliseconds kReadEvery{10'000};
constexpr std::chrono::seconds kFollowEvery{2};
constexpr std::chrono::milliseconds kLongestPause{1000};

// What a mount spends on looking for itself: 100,000 archives in 500 s, 9 TiB in a week.
constexpr std::chrono::seconds kInterval{300};
constexpr uint64_t kStatsPerSecond = 200;
constexpr unsigned kLookers = 2;
constexpr uint64_t kScrubBytesPerSecond = uint64_t{16} << 20;

bool IsOutOfSight(const ArchiveVerdict& verdict) {
  return verdict.state == ArchiveVerdict::State::kMissing ||
         verdict.state == ArchiveVerdict::State::kUnreadable;
}

}  // namespace

ArchiveWatch::ArchiveWatch(Options options) : options_(std::move(options)) {
  if (options_.mode != WatchMode::kLocal) return;
  dataset::PatrolOptions patrol;
  patrol.sources = options_.sources;
  patrol.interval = kInterval;
  patrol.stats_per_second = kStatsPerSecond;
  patrol.lookers = kLookers;
  patrol.scrub_bytes_per_second = kScrubBytesPerSecond;
  patrol.open = [this](const LiveGeneration& generation) { return Open(generation); };
  patrol.report = [this](const dataset::PatrolEvent& event) { seen_.push_back(event.dataset); };
  patrol_ = std::make_unique<dataset::ArchivePatrol>(std::move(patrol), options_.root_uuid);
}

std::chrono::milliseconds ArchiveWatch::Step() {
  return options_.mode == WatchMode::kLocal ? LookForMyself() : ReadShared();
}

std::map<std::string, DatasetStates> ArchiveWatch::States() const {
  const std::lock_guard lock(mutex_);
  return states_;
}

std::chrono::milliseconds ArchiveWatch::ReadShared() {
  std::set<std::string> datasets;
  for (const LiveGeneration& generation : options_.generations()) datasets.insert(generation.dataset);
  for (const std::string& dataset : datasets) {
    const Status status = ReadOne(dataset);
    if (!status.ok() && status.message() != said_[dataset]) {
      Log(LogLevel::kWarning,
          "what the watch saw of dataset '" + dataset + "' cannot be read: " + status.ToString());
    }
    said_[dataset] = status.message();
  }
  return kReadEvery;
}

Status ArchiveWatch::ReadOne(const std::string& dataset) {
  const auto facts = io::LookAt(io::JoinPath(options_.index_root, dataset::StatesPath(dataset)));
  if (facts.code() == ErrorCode::kNotFound) {
    // Nobody watches, or nobody does any more: what was told before holds no longer.
    if (read_.erase(dataset) == 0) return Status::Ok();
    DatasetStates nothing;
    nothing.dataset = dataset;
    nothing.root_uuid = options_.root_uuid;
    Take(std::move(nothing));
    return Status::Ok();
  }
  TARN_RETURN_IF_ERROR(facts.status());
  std::string looks = std::to_string(facts->inode) + " " + std::to_string(facts->mtime_ns) + " " +
                      std::to_string(facts->bytes);
  if (read_[dataset] == looks) return Status::Ok();
  TARN_ASSIGN_OR_RETURN(DatasetStates states, dataset::ReadStates(options_.index_root, dataset));
  read_[dataset] = std::move(looks);
  if (states.root_uuid == options_.root_uuid) Take(std::move(states));
  return Status::Ok();
}

std::chrono::milliseconds ArchiveWatch::LookForMyself() {
  FollowGenerations();
  const dataset::PatrolStep step = patrol_->Step();
  if (!step.problem.ok()) Log(LogLevel::kWarning, step.problem.ToString());
  if (step.look_round_ended) seen_ = patrol_->Datasets();
  std::sort(seen_.begin(), seen_.end());
  seen_.erase(std::unique(seen_.begin(), seen_.end()), seen_.end());
  for (const std::string& dataset : std::exchange(seen_, {})) Take(patrol_->States(dataset));
  return std::min(std::chrono::ceil<std::chrono::milliseconds>(step.wait), kLongestPause);
}

void ArchiveWatch::FollowGenerations() {
  const auto now = std::chrono::steady_clock::now();
  if (followed_at_ && now - *followed_at_ < kFollowEvery) return;
  followed_at_ = now;
  std::vector<LiveGeneration> mounted = options_.generations();
  std::sort(mounted.begin(), mounted.end());
  for (const LiveGeneration& followed : patrol_->Followed()) {
    if (!std::binary_search(mounted.begin(), mounted.end(), followed)) patrol_->Drop(followed);
  }
  const std::vector<LiveGeneration> followed = patrol_->Followed();
  for (const LiveGeneration& generation : mounted) {
    if (std::binary_search(followed.begin(), followed.end(), generation)) continue;
    const Status added = patrol_->Add(generation);
    std::string& said = said_[generation.dataset];
    if (!added.ok() && added.message() != said) Log(LogLevel::kWarning, added.ToString());
    said = added.message();
  }
}

void ArchiveWatch::Take(DatasetStates states) {
  const std::string dataset = states.dataset;
  std::vector<ArchiveVerdict> before;
  {
    const std::lock_guard lock(mutex_);
    const auto known = states_.find(dataset);
    if (known != states_.end()) before = known->second.verdicts;
  }
  // Changed ones are said by whoever serves them.
  for (const ArchiveVerdict& verdict : states.verdicts) {
    if (!IsOutOfSight(verdict)) continue;
    const bool said = std::any_of(before.begin(), before.end(), [&](const ArchiveVerdict& old) {
      return old.path == verdict.path && old.id == verdict.id && old.state == verdict.state;
    });
    if (!said) {
      Log(LogLevel::kWarning, "dataset '" + dataset + "': '" + EscapeName(verdict.path) + "' is " +
                                  std::string(dataset::VerdictName(verdict.state)) +
                                  ", as the watch saw: " + verdict.message);
    }
  }
  options_.bytes->Learn(dataset, states.verdicts,
                        [&]() -> Result<std::shared_ptr<const index::GenerationReader>> {
                          LiveGeneration newest{.dataset = dataset, .number = 0};
                          for (const LiveGeneration& mounted : options_.generations()) {
                            if (mounted.dataset == dataset) newest = std::max(newest, mounted);
                          }
                          return Open(newest);
                        });
  const std::lock_guard lock(mutex_);
  states_[dataset] = std::move(states);
}

Result<std::shared_ptr<const index::GenerationReader>> ArchiveWatch::Open(
    const LiveGeneration& generation) const {
  TARN_ASSIGN_OR_RETURN(const auto root, index::IndexRoot::Open(options_.index_root));
  return index::GenerationReader::Open(root->GenerationPath(generation.dataset, generation.number));
}

}  // namespace tarn::fuse

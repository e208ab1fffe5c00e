#include "tarn/dataset/archive_patrol.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "dataset/file_scrub.h"
#include "dataset/patrol_rules.h"
#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/base/token_bucket.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/thread_pool.h"

namespace tarn::dataset {
namespace {

using std::chrono::nanoseconds;
using State = ArchiveVerdict::State;

constexpr size_t kMostLooks = 64;      // of one step
constexpr double kBatchSeconds = 0.1;  // what is due in this time is one step
constexpr size_t kMostElsewhere = 16;  // other rows with the same ArchiveId that are asked about
constexpr int kMostAgain = 3;          // scrubs of a file that changes meanwhile, between two looks
constexpr nanoseconds kNever = nanoseconds::max();

nanoseconds FromSeconds(double seconds) {
  return std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>(seconds));
}

double Seconds(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// A generation that is followed; its files point to it.
struct Generation {
  LiveGeneration name;
  std::string source_path;  // of the dataset, below a source
};

struct Publication {
  std::shared_ptr<const Generation> generation;
  io::FileIdentity hint;
};

// A path with one ArchiveId, of all generations that have it.
struct File {
  std::vector<Publication> publications;
  bool quarantined = false;  // in all of them: not served, so not looked at
  std::optional<ArchiveVerdict> verdict;
  bool seen = false;
  std::optional<io::FileIdentity> touched;  // seen so, and nobody knows its bytes
  uint64_t failed_at = 0;                   // where it could not be read last
  int again = 0;
};

using FileKey = std::pair<std::string, ArchiveId>;
using Files = std::map<FileKey, File>;

struct ScrubJob {
  FileKey key;
  Sight sight;
  std::unique_ptr<FileScrub> scrub;
};

struct Dataset {
  Files files;
  std::map<uint32_t, std::shared_ptr<const Generation>> generations;
  uint64_t total_files = 0;  // that are looked at
  uint64_t total_bytes = 0;
  int64_t looked_at = 0;
  ScrubProgress scrub;
  std::unique_ptr<ScrubJob> job;  // of the round
};

struct Place {
  size_t source = 0;
  std::string path;
  std::vector<io::FileIdentity> hints;
};

// A file by where it stands: for cursors and queues that outlive what they point to.
struct FileName {
  std::string dataset;
  FileKey key;
  auto operator<=>(const FileName&) const = default;
};

}  // namespace

class ArchivePatrol::Impl {
 public:
  Impl(PatrolOptions options, std::string root_uuid)
      : options_(std::move(options)), root_uuid_(std::move(root_uuid)) {
    if (!options_.now) {
      options_.now = [] { return nanoseconds(std::chrono::steady_clock::now().time_since_epoch()); };
    }
    if (!options_.seconds_now) options_.seconds_now = SecondsNow;
    stats_.SetRate(options_.stats_per_second, options_.now());
    bytes_.SetRate(options_.scrub_bytes_per_second, options_.now());
  }

  Status Add(const LiveGeneration& name);
  void Drop(const LiveGeneration& name);
  void Restore(const DatasetStates& states);
  void BeginScrub();
  PatrolStep Step();
  DatasetStates States(const std::string& name) const;
  PatrolTotals TotalsOf(const Dataset& dataset) const;
  bool ScrubDone() const;
  std::optional<std::chrono::seconds> RoundTooLong() const;

  const std::map<std::string, Dataset>& datasets() const { return datasets_; }

 private:
  using ById = std::unordered_multimap<ArchiveId, const Files::value_type*>;

  void AddRow(Dataset* dataset, const std::shared_ptr<const Generation>& generation,
              const index::ManifestRow& row);
  void Forget(Dataset* dataset, Files::iterator file);

  // ---- Looks
  uint64_t FilesOfAll() const;
  nanoseconds LookWait(nanoseconds now);
  void LookAtSome(nanoseconds now, PatrolStep* step);
  void EndLookRound();
  size_t BatchSize() const;
  std::vector<Place> PlacesOf(const Files::value_type& file) const;
  Sight LookAtPlaces(const std::vector<Place>& places, const ArchiveId& id, uint64_t* stats) const;
  // The best of its own places, else of those where other rows have the same ArchiveId. From any thread.
  Sight LookAt(const Files::value_type& file, uint64_t* stats) const;
  std::string PublishedSince(const Dataset& dataset, const FileKey& key, const io::FileIdentity& found) const;

  // ---- Verdicts
  void Enact(const std::string& name, Files::value_type* file, const Sight& sight, const Ruling& ruling);
  void Set(const std::string& name, Files::value_type* file, const Sight& sight, State state);
  void Clear(const std::string& name, Files::value_type* file, const Sight& sight, bool touched, bool scrub);
  void Report(PatrolEvent::Kind kind, const std::string& name, ArchiveVerdict verdict, bool scrub) const;

  // ---- Scrub
  bool BeingScrubbed(const std::string& name, const FileKey& key) const;
  bool scrubs() const { return options_.scrub_period.count() > 0; }
  nanoseconds ScrubWait(nanoseconds now);
  void ScrubSome(nanoseconds now, PatrolStep* step);
  ScrubPace PaceOf(const Dataset& dataset) const;
  Files::const_iterator NextOfRound(const Dataset& dataset) const;
  void BeginRoundIfDue(Dataset* dataset, int64_t now) const;
  // Opens what `job` names; false: there is nothing to be read.
  bool Begin(const std::string& name, Files::value_type* file, ScrubJob* job, PatrolStep* step);
  // One block; true when the job is over.
  bool Advance(const std::string& name, Dataset* dataset, ScrubJob* job, nanoseconds now, PatrolStep* step);
  bool AdvanceOpened(const std::string& name, Files::value_type* file, ScrubJob* job, nanoseconds now,
                     PatrolStep* step);
  void FinishFile(const std::string& name, Files::value_type* file, const ScrubJob& job, const Status& bad);
  bool LookAgain(const std::string& name, Files::value_type* file);
  Result<std::shared_ptr<const index::GenerationReader>> Reader(const File& file);

  PatrolOptions options_;
  const std::string root_uuid_;
  std::map<std::string, Dataset> datasets_;
  ById by_id_;
  std::unique_ptr<io::ThreadPool> lookers_;
  bool looked_last_ = false;  // looks and scrub take turns when both are due

  TokenBucket stats_;
  nanoseconds looks_from_{0};          // not before
  std::optional<FileName> looked_to_;  // of the running round
  bool looking_ = false;
  bool first_round_ = true;
  nanoseconds round_started_{0};
  uint64_t looked_ = 0;       // files of this round
  uint64_t round_stats_ = 0;  // it took so far
  uint64_t last_round_stats_ = 0;

  TokenBucket bytes_;
  nanoseconds scrub_from_{0};
  std::set<FileName> urgent_;
  std::optional<std::pair<std::string, ScrubJob>> urgent_job_;  // with its dataset
  std::optional<std::pair<LiveGeneration, std::shared_ptr<const index::GenerationReader>>> reader_;
};

// ---- What is followed -------------------------------------------------------------------------------------

Status ArchivePatrol::Impl::Add(const LiveGeneration& name) {
  if (const auto known = datasets_.find(name.dataset);
      known != datasets_.end() && known->second.generations.contains(name.number)) {
    return Status::Ok();
  }
  TARN_ASSIGN_OR_RETURN(const auto reader, options_.open(name));
  std::vector<index::ManifestRow> rows;
  TARN_RETURN_IF_ERROR(reader->ForEachManifestRow([&rows](const index::ManifestRow& row) {
    rows.push_back(row);
    return Status::Ok();
  }));
  const auto generation = std::make_shared<const Generation>(Generation{name, reader->facts().source_path});
  Dataset& dataset = datasets_[name.dataset];
  dataset.generations.emplace(name.number, generation);
  for (const index::ManifestRow& row : rows) AddRow(&dataset, generation, row);
  return Status::Ok();
}

void ArchivePatrol::Impl::AddRow(Dataset* dataset, const std::shared_ptr<const Generation>& generation,
                                 const index::ManifestRow& row) {
  const bool quarantined = row.kind == index::ManifestKind::kQuarantined;
  const auto [file, fresh] = dataset->files.try_emplace({row.path, row.id});
  file->second.publications.push_back({generation, row.hint});
  if (fresh) {
    file->second.quarantined = true;
    by_id_.emplace(row.id, &*file);
  }
  if (file->second.quarantined && !quarantined) {
    file->second.quarantined = false;
    dataset->total_files += 1;
    dataset->total_bytes += row.id.size;
  }
}

void ArchivePatrol::Impl::Drop(const LiveGeneration& name) {
  const auto found = datasets_.find(name.dataset);
  if (found == datasets_.end() || found->second.generations.erase(name.number) == 0) return;
  if (reader_ && reader_->first == name) reader_.reset();
  Dataset& dataset = found->second;
  for (auto file = dataset.files.begin(); file != dataset.files.end();) {
    const auto next = std::next(file);
    auto& publications = file->second.publications;
    std::erase_if(publications, [&](const Publication& p) { return p.generation->name == name; });
    if (publications.empty()) Forget(&dataset, file);
    file = next;
  }
  if (dataset.generations.empty()) datasets_.erase(found);
}

void ArchivePatrol::Impl::Forget(Dataset* dataset, Files::iterator file) {
  const auto [first, last] = by_id_.equal_range(file->first.second);
  by_id_.erase(std::find_if(first, last, [&](const auto& known) { return known.second == &*file; }));
  if (!file->second.quarantined) {
    dataset->total_files -= 1;
    dataset->total_bytes -= file->first.second.size;
  }
  dataset->files.erase(file);
}

void ArchivePatrol::Impl::Restore(const DatasetStates& states) {
  const auto found = datasets_.find(states.dataset);
  if (found == datasets_.end() || states.root_uuid != root_uuid_) return;
  Dataset& dataset = found->second;
  dataset.looked_at = states.looked_at;
  dataset.scrub = states.scrub;
  for (const ArchiveVerdict& verdict : states.verdicts) {
    const auto file = dataset.files.find({verdict.path, verdict.id});
    if (file != dataset.files.end() && !file->second.quarantined) file->second.verdict = verdict;
  }
}

DatasetStates ArchivePatrol::Impl::States(const std::string& name) const {
  DatasetStates states;
  states.dataset = name;
  states.root_uuid = root_uuid_;
  const auto found = datasets_.find(name);
  if (found == datasets_.end()) return states;
  const Dataset& dataset = found->second;
  states.looked_at = dataset.looked_at;
  states.scrub = dataset.scrub;
  states.scrub.total_files = dataset.total_files;
  states.scrub.total_bytes = dataset.total_bytes;
  for (const auto& [key, file] : dataset.files) {
    if (file.verdict) states.verdicts.push_back(*file.verdict);
  }
  return states;
}

PatrolTotals ArchivePatrol::Impl::TotalsOf(const Dataset& dataset) const {
  PatrolTotals totals;
  for (const auto& [key, file] : dataset.files) {
    if (file.quarantined) continue;
    ++totals.files;
    if (!file.verdict) {
      ++(file.touched ? totals.touched : file.seen ? totals.as_published : totals.unseen);
      continue;
    }
    switch (file.verdict->state) {
      case State::kVerified:
        ++totals.verified;
        break;
      case State::kChanged:
        ++totals.changed;
        break;
      case State::kMissing:
        ++totals.missing;
        break;
      case State::kUnreadable:
        ++totals.unreadable;
        break;
    }
  }
  return totals;
}

// ---- Looks ------------------------------------------------------------------------------------------------

std::vector<Place> ArchivePatrol::Impl::PlacesOf(const Files::value_type& file) const {
  const std::string& path = file.first.first;
  std::vector<Place> places;
  for (const Publication& publication : file.second.publications) {
    for (size_t source = 0; source < options_.sources.size(); ++source) {
      for (std::string below : {io::JoinPath(publication.generation->source_path, path), path}) {
        auto place = std::find_if(places.begin(), places.end(), [&](const Place& known) {
          return known.source == source && known.path == below;
        });
        if (place == places.end()) place = places.insert(place, {source, std::move(below), {}});
        place->hints.push_back(publication.hint);
      }
    }
  }
  // Places of one source behind another, whichever generation has them.
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.source < b.source; });
  return places;
}

Sight ArchivePatrol::Impl::LookAtPlaces(const std::vector<Place>& places, const ArchiveId& id,
                                        uint64_t* stats) const {
  Sight best;
  for (const Place& place : places) {
    const io::Source& source = *options_.sources[place.source];
    const auto found = source.Stat(place.path);
    ++*stats;
    const Standing standing = JudgeStat(found, id, place.hints);
    if (standing >= best.standing) continue;
    const std::string name = EscapeName(io::JoinPath(source.name(), place.path));
    best = {
        .standing = standing, .source = place.source, .found_at = place.path, .identity = {}, .found = {}};
    if (standing == Standing::kUnreadable) best.found = found.status().message();
    if (!found.ok()) continue;
    if (found->type == io::FileType::kRegular) {
      best.identity = found->identity;
      best.found = fmt::format("found {} bytes at '{}', modified {}", found->identity.size, name,
                               FormatTimestamp(found->identity.mtime_ns / 1'000'000'000));
    } else {
      best.found = fmt::format("found no regular file at '{}'", name);
    }
    if (standing == Standing::kAsPublished) break;
  }
  if (best.standing == Standing::kMissing) {
    best.found =
        places.empty()
            ? "there is no source"
            : fmt::format(
                  "found nothing at '{}'{}",
                  EscapeName(io::JoinPath(options_.sources[places[0].source]->name(), places[0].path)),
                  places.size() > 1 ? fmt::format(" and {} other places", places.size() - 1) : "");
  }
  return best;
}

Sight ArchivePatrol::Impl::LookAt(const Files::value_type& file, uint64_t* stats) const {
  const ArchiveId& id = file.first.second;
  Sight own = LookAtPlaces(PlacesOf(file), id, stats);
  // Files of no bytes are all alike: none is the other one moved.
  if (own.standing <= Standing::kTouched || id.size == 0) return own;
  const auto [first, last] = by_id_.equal_range(id);
  size_t asked = 0;
  for (auto other = first; other != last && asked < kMostElsewhere; ++other) {
    if (other->second == &file) continue;
    ++asked;
    Sight there = LookAtPlaces(PlacesOf(*other->second), id, stats);
    if (there.standing > Standing::kTouched) continue;
    there.standing = Standing::kTouched;  // published there as another file: its bytes are looked at first
    return there;
  }
  return own;
}

// "; that is what img@2 published": an archive that was replaced and published anew is news to nobody.
std::string ArchivePatrol::Impl::PublishedSince(const Dataset& dataset, const FileKey& key,
                                                const io::FileIdentity& found) const {
  for (auto file = dataset.files.lower_bound({key.first, ArchiveId{}});
       file != dataset.files.end() && file->first.first == key.first; ++file) {
    if (file->first.second == key.second || file->first.second.size != found.size) continue;
    for (const Publication& publication : file->second.publications) {
      if (publication.hint.mtime_ns != found.mtime_ns) continue;
      const LiveGeneration& name = publication.generation->name;
      return fmt::format("; that is what {}@{} published here", name.dataset, name.number);
    }
  }
  return "";
}

uint64_t ArchivePatrol::Impl::FilesOfAll() const {
  uint64_t files = 0;
  for (const auto& [name, dataset] : datasets_) files += dataset.files.size();
  return files;
}

// Files of one step: what is due in a tenth of a second.
size_t ArchivePatrol::Impl::BatchSize() const {
  const uint64_t files = FilesOfAll();
  double most = static_cast<double>(kMostLooks);
  if (options_.stats_per_second > 0) {
    most = std::min(most, static_cast<double>(options_.stats_per_second) * kBatchSeconds);
  }
  if (!first_round_ && options_.interval.count() > 0) {
    const double due = static_cast<double>(files) / static_cast<double>(options_.interval.count());
    most = std::min(most, due * kBatchSeconds);
  }
  return std::max<size_t>(static_cast<size_t>(most), 1);
}

nanoseconds ArchivePatrol::Impl::LookWait(nanoseconds now) {
  const nanoseconds interval = options_.interval;
  if (!looking_) {
    if (!first_round_ && now < round_started_ + interval) return round_started_ + interval - now;
    looking_ = true;
    looked_to_.reset();
    looked_ = 0;
    round_stats_ = 0;
    round_started_ = now;
  }
  nanoseconds from = looks_from_;
  const uint64_t files = FilesOfAll();
  // The first round is as fast as the limit lets it; those behind it go evenly over the interval.
  if (!first_round_ && files > 0) {
    const double part = static_cast<double>(looked_) / static_cast<double>(files);
    from = std::max(from, round_started_ + FromSeconds(part * Seconds(interval)));
  }
  return std::max(from - now, nanoseconds(0));
}

void ArchivePatrol::Impl::LookAtSome(nanoseconds now, PatrolStep* step) {
  struct Look {
    const std::string* dataset;
    Files::value_type* file;
    Sight sight;
    uint64_t stats = 0;
  };
  std::vector<Look> looks;
  const size_t most = BatchSize();
  for (auto& [name, dataset] : datasets_) {
    if (looked_to_ && name < looked_to_->dataset) continue;
    const bool begun = looked_to_ && name == looked_to_->dataset;
    for (auto file = begun ? dataset.files.upper_bound(looked_to_->key) : dataset.files.begin();
         file != dataset.files.end() && looks.size() < most; ++file) {
      ++looked_;
      looked_to_ = FileName{name, file->first};
      if (!file->second.quarantined) looks.push_back({.dataset = &name, .file = &*file, .sight = {}});
    }
    if (looks.size() == most) break;
  }
  if (looks.empty()) {
    EndLookRound();
    step->look_round_ended = true;
    return;
  }
  step->looked = true;
  const auto look_at = [this](Look* look) { look->sight = LookAt(*look->file, &look->stats); };
  if (looks.size() == 1 || options_.lookers <= 1) {
    for (Look& look : looks) look_at(&look);
  } else {
    if (lookers_ == nullptr) lookers_ = std::make_unique<io::ThreadPool>(options_.lookers);
    for (Look& look : looks) lookers_->Submit([&look_at, &look] { look_at(&look); });
    lookers_->Wait();
  }
  uint64_t stats = 0;
  for (Look& look : looks) {
    stats += look.stats;
    Enact(*look.dataset, look.file, look.sight,
          Rule(look.file->second.verdict, look.file->first.second, look.sight));
    look.file->second.again = 0;
  }
  round_stats_ += stats;
  looks_from_ = now + stats_.Take(stats, now);
}

void ArchivePatrol::Impl::EndLookRound() {
  looking_ = false;
  first_round_ = false;
  last_round_stats_ = round_stats_;
  const int64_t seconds = options_.seconds_now();
  for (auto& [name, dataset] : datasets_) dataset.looked_at = seconds;
}

std::optional<std::chrono::seconds> ArchivePatrol::Impl::RoundTooLong() const {
  if (options_.stats_per_second == 0) return std::nullopt;
  const uint64_t stats = std::max(last_round_stats_, FilesOfAll());
  const auto needed = std::chrono::seconds(stats / options_.stats_per_second);
  return needed > options_.interval ? std::optional(needed) : std::nullopt;
}

// ---- Verdicts ---------------------------------------------------------------------------------------------

void ArchivePatrol::Impl::Report(PatrolEvent::Kind kind, const std::string& name, ArchiveVerdict verdict,
                                 bool scrub) const {
  if (!options_.report) return;
  options_.report({.kind = kind, .dataset = name, .verdict = std::move(verdict), .will_be_scrubbed = scrub});
}

void ArchivePatrol::Impl::Set(const std::string& name, Files::value_type* file, const Sight& sight,
                              State state) {
  const ArchiveId& id = file->first.second;
  std::string found = sight.found;
  if (state == State::kChanged) {
    found += PublishedSince(datasets_.at(name), file->first, sight.identity);
  }
  ArchiveVerdict verdict{.path = file->first.first,
                         .id = id,
                         .state = state,
                         .found_at = state == State::kMissing ? "" : sight.found_at,
                         .identity = sight.identity,
                         .since = options_.seconds_now(),
                         .message = fmt::format("expected {}, {}", id.ToString(), found)};
  std::optional<ArchiveVerdict>& before = file->second.verdict;
  if (before && before->state == state) verdict.since = before->since;
  file->second.touched.reset();
  if (before == verdict) return;
  before = verdict;
  Report(PatrolEvent::Kind::kVerdict, name, std::move(verdict), false);
}

void ArchivePatrol::Impl::Clear(const std::string& name, Files::value_type* file, const Sight& sight,
                                bool touched, bool scrub) {
  ArchiveVerdict seen{.path = file->first.first,
                      .id = file->first.second,
                      .state = State::kVerified,
                      .found_at = sight.found_at,
                      .identity = sight.identity,
                      .since = options_.seconds_now(),
                      .message = fmt::format("expected {}, {}", file->first.second.ToString(), sight.found)};
  const bool had_verdict = file->second.verdict.has_value() || file->second.touched.has_value();
  file->second.verdict.reset();
  if (touched) {
    if (std::exchange(file->second.touched, sight.identity) == sight.identity) return;
    Report(PatrolEvent::Kind::kTouched, name, std::move(seen), scrub);
    return;
  }
  file->second.touched.reset();
  if (had_verdict) Report(PatrolEvent::Kind::kAsPublished, name, std::move(seen), scrub);
}

void ArchivePatrol::Impl::Enact(const std::string& name, Files::value_type* file, const Sight& sight,
                                const Ruling& ruling) {
  file->second.seen = true;
  const bool scrub = ruling.scrub && scrubs();
  if (scrub && !BeingScrubbed(name, file->first)) {
    // The round may be at this very file, at the pace of a week.
    auto& job = datasets_.at(name).job;
    if (job != nullptr && job->key == file->first) job.reset();
    urgent_.insert({name, file->first});
  }
  switch (ruling.verdict) {
    case Ruling::Verdict::kKeep:
      break;
    case Ruling::Verdict::kSet:
      Set(name, file, sight, ruling.state);
      break;
    case Ruling::Verdict::kClear:
      Clear(name, file, sight, ruling.touched, scrub);
      break;
  }
}

// ---- Scrub ------------------------------------------------------------------------------------------------

bool ArchivePatrol::Impl::BeingScrubbed(const std::string& name, const FileKey& key) const {
  return urgent_job_ && urgent_job_->first == name && urgent_job_->second.key == key;
}

ScrubPace ArchivePatrol::Impl::PaceOf(const Dataset& dataset) const {
  const uint64_t in_file = dataset.job != nullptr && dataset.job->scrub ? dataset.job->scrub->offset() : 0;
  return {.round_started = dataset.scrub.round_started,
          .period = options_.scrub_paced ? options_.scrub_period.count() : 0,
          .done = dataset.scrub.bytes + dataset.scrub.files + in_file,
          .total = dataset.total_bytes + dataset.total_files};
}

Files::const_iterator ArchivePatrol::Impl::NextOfRound(const Dataset& dataset) const {
  const bool begun = !dataset.scrub.done_path.empty();
  auto file = begun ? dataset.files.upper_bound({dataset.scrub.done_path, dataset.scrub.done_id})
                    : dataset.files.begin();
  while (file != dataset.files.end() && file->second.quarantined) ++file;
  return file;
}

void ArchivePatrol::Impl::BeginRoundIfDue(Dataset* dataset, int64_t now) const {
  if (dataset->job != nullptr) return;
  ScrubProgress& scrub = dataset->scrub;
  const int64_t period = options_.scrub_period.count();
  const bool over = NextOfRound(*dataset) == dataset->files.end();
  if (scrub.round_started != 0 && (!over || now < scrub.round_started + period)) return;
  scrub = {};
  scrub.round_started = now;
}

nanoseconds ArchivePatrol::Impl::ScrubWait(nanoseconds now) {
  if (!scrubs()) return kNever;
  const nanoseconds limit = std::max(scrub_from_ - now, nanoseconds(0));
  if (urgent_job_ || !urgent_.empty()) return limit;
  const int64_t seconds = options_.seconds_now();
  nanoseconds wait = kNever;
  for (auto& [name, dataset] : datasets_) {
    BeginRoundIfDue(&dataset, seconds);
    if (dataset.job == nullptr && NextOfRound(dataset) == dataset.files.end()) {
      const int64_t next = dataset.scrub.round_started + options_.scrub_period.count() - seconds;
      wait = std::min<nanoseconds>(wait, std::chrono::seconds(std::max<int64_t>(next, 1)));
    } else if (!options_.scrub_paced) {
      wait = nanoseconds(0);
    } else {
      wait = std::min(wait, FromSeconds(SecondsUntilDue(PaceOf(dataset), seconds)));
    }
  }
  return std::max(wait, limit);
}

Result<std::shared_ptr<const index::GenerationReader>> ArchivePatrol::Impl::Reader(const File& file) {
  const LiveGeneration& name = file.publications.back().generation->name;
  if (!reader_ || reader_->first != name) {
    reader_.reset();
    TARN_ASSIGN_OR_RETURN(auto reader, options_.open(name));
    reader_.emplace(name, std::move(reader));
  }
  return reader_->second;
}

bool ArchivePatrol::Impl::Begin(const std::string& name, Files::value_type* file, ScrubJob* job,
                                PatrolStep* step) {
  uint64_t stats = 0;
  job->sight = LookAt(*file, &stats);
  Ruling ruling = Rule(file->second.verdict, file->first.second, job->sight);
  ruling.scrub = false;  // that is what begins
  Enact(name, file, job->sight, ruling);
  if (job->sight.standing > Standing::kTouched) return false;
  auto reader = Reader(file->second);
  if (!reader.ok()) {
    step->problem = std::move(reader).status();
    return false;
  }
  auto scrub = FileScrub::Open(*options_.sources[job->sight.source], job->sight.found_at, file->first.second,
                               std::move(reader).value());
  if (scrub.code() == ErrorCode::kNotFound)
    return false;  // gone since it was looked at: the next look says so
  if (!scrub.ok()) {
    FinishFile(name, file, *job, scrub.status());
    return false;
  }
  if ((*scrub)->identity() != job->sight.identity) {
    LookAgain(name, file);
    return false;
  }
  job->scrub = std::move(scrub).value();
  const auto& verdict = file->second.verdict;
  const bool failed_before = verdict && verdict->state == State::kUnreadable && file->second.failed_at > 0;
  return !failed_before || job->scrub->Probe(file->second.failed_at).ok();
}

// It is not what was looked at any more: the scrub comes back to it. False: that goes on and on; the next
// round of looks takes it up.
bool ArchivePatrol::Impl::LookAgain(const std::string& name, Files::value_type* file) {
  if (++file->second.again > kMostAgain) return false;
  urgent_.insert({name, file->first});
  return true;
}

void ArchivePatrol::Impl::FinishFile(const std::string& name, Files::value_type* file, const ScrubJob& job,
                                     const Status& bad) {
  Sight sight = job.sight;
  const std::string place = EscapeName(io::JoinPath(options_.sources[sight.source]->name(), sight.found_at));
  if (!bad.ok()) {
    sight.found = bad.message();
  } else if (sight.standing == Standing::kTouched) {
    sight.found = fmt::format("found the same bytes at '{}', modified {}", place,
                              FormatTimestamp(sight.identity.mtime_ns / 1'000'000'000));
  }
  file->second.failed_at = !bad.ok() && job.scrub != nullptr ? job.scrub->offset() : 0;
  Enact(name, file, sight, RuleOnBytes(sight.standing, bad));
}

bool ArchivePatrol::Impl::AdvanceOpened(const std::string& name, Files::value_type* file, ScrubJob* job,
                                        nanoseconds now, PatrolStep* step) {
  const FileScrub::Block block = job->scrub->Next();
  step->scrubbed = true;
  scrub_from_ = now + bytes_.Take(block.bytes, now);
  if (!block.index.ok()) {
    step->problem = block.index;
    return true;
  }
  if (block.file.ok() && !block.last) return false;
  const auto stat = job->scrub->Stat();
  const bool same = stat.ok() && stat->identity == job->sight.identity;
  if (same) {
    FinishFile(name, file, *job, block.file);
  } else if (!LookAgain(name, file) && !stat.ok()) {
    FinishFile(name, file, *job, stat.status());
  }
  return true;
}

bool ArchivePatrol::Impl::Advance(const std::string& name, Dataset* dataset, ScrubJob* job, nanoseconds now,
                                  PatrolStep* step) {
  const auto file = dataset->files.find(job->key);
  if (file == dataset->files.end()) return true;  // left meanwhile
  if (job->scrub == nullptr && !Begin(name, &*file, job, step)) return true;
  return AdvanceOpened(name, &*file, job, now, step);
}

void ArchivePatrol::Impl::ScrubSome(nanoseconds now, PatrolStep* step) {
  if (!urgent_job_ && !urgent_.empty()) {
    const FileName first = std::move(urgent_.extract(urgent_.begin()).value());
    urgent_job_.emplace(first.dataset, ScrubJob{.key = first.key, .sight = {}, .scrub = {}});
  }
  if (urgent_job_) {
    const auto dataset = datasets_.find(urgent_job_->first);
    if (dataset == datasets_.end() ||
        Advance(dataset->first, &dataset->second, &urgent_job_->second, now, step)) {
      urgent_job_.reset();
    }
    return;
  }
  // The dataset that is most behind.
  const int64_t seconds = options_.seconds_now();
  std::pair<const std::string, Dataset>* next = nullptr;
  double most = -std::numeric_limits<double>::infinity();
  for (auto& named : datasets_) {
    const bool open = named.second.job != nullptr || NextOfRound(named.second) != named.second.files.end();
    const double behind = BytesBehind(PaceOf(named.second), seconds);
    if (!open || behind <= most) continue;
    next = &named;
    most = behind;
  }
  if (next == nullptr) return;
  auto& [name, dataset] = *next;
  if (dataset.job == nullptr) {
    dataset.job = std::make_unique<ScrubJob>();
    dataset.job->key = NextOfRound(dataset)->first;
  }
  if (!Advance(name, &dataset, dataset.job.get(), now, step)) return;
  const std::unique_ptr<ScrubJob> done = std::move(dataset.job);
  dataset.scrub.files += 1;
  dataset.scrub.bytes += done->key.second.size;
  std::tie(dataset.scrub.done_path, dataset.scrub.done_id) = done->key;
  step->scrub_round_ended = NextOfRound(dataset) == dataset.files.end();
}

void ArchivePatrol::Impl::BeginScrub() {
  for (auto& [name, dataset] : datasets_) {
    dataset.scrub = {};
    dataset.job.reset();
  }
}

bool ArchivePatrol::Impl::ScrubDone() const {
  if (urgent_job_ || !urgent_.empty()) return false;
  return std::all_of(datasets_.begin(), datasets_.end(), [this](const auto& named) {
    const Dataset& dataset = named.second;
    const bool begun = dataset.scrub.round_started != 0 || dataset.total_files == 0;
    return begun && dataset.job == nullptr && NextOfRound(dataset) == dataset.files.end();
  });
}

PatrolStep ArchivePatrol::Impl::Step() {
  PatrolStep step;
  const nanoseconds now = options_.now();
  const nanoseconds look_wait = LookWait(now);
  const nanoseconds scrub_wait = ScrubWait(now);
  const bool look = look_wait.count() <= 0;
  const bool scrub = scrub_wait.count() <= 0;
  if (look && !(scrub && looked_last_)) {
    LookAtSome(now, &step);
    looked_last_ = true;
  } else if (scrub) {
    ScrubSome(now, &step);
    looked_last_ = false;
  } else {
    step.wait = std::min(look_wait, scrub_wait);
  }
  return step;
}

// ---- ArchivePatrol ----------------------------------------------------------------------------------------

ArchivePatrol::ArchivePatrol(PatrolOptions options, std::string root_uuid)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(root_uuid))) {}

ArchivePatrol::~ArchivePatrol() = default;
ArchivePatrol::ArchivePatrol(ArchivePatrol&&) noexcept = default;
ArchivePatrol& ArchivePatrol::operator=(ArchivePatrol&&) noexcept = default;

Status ArchivePatrol::Add(const LiveGeneration& generation) {
  return impl_->Add(generation);
}

void ArchivePatrol::Drop(const LiveGeneration& generation) {
  impl_->Drop(generation);
}

std::vector<LiveGeneration> ArchivePatrol::Followed() const {
  std::vector<LiveGeneration> followed;
  for (const auto& [name, dataset] : impl_->datasets()) {
    for (const auto& [number, generation] : dataset.generations) followed.push_back(generation->name);
  }
  return followed;
}

void ArchivePatrol::Restore(const DatasetStates& states) {
  impl_->Restore(states);
}

void ArchivePatrol::BeginScrub() {
  impl_->BeginScrub();
}

PatrolStep ArchivePatrol::Step() {
  return impl_->Step();
}

std::vector<std::string> ArchivePatrol::Datasets() const {
  std::vector<std::string> names;
  for (const auto& [name, dataset] : impl_->datasets()) names.push_back(name);
  return names;
}

DatasetStates ArchivePatrol::States(const std::string& dataset) const {
  return impl_->States(dataset);
}

PatrolTotals ArchivePatrol::Totals() const {
  PatrolTotals sum;
  for (const auto& [name, dataset] : impl_->datasets()) {
    const PatrolTotals totals = impl_->TotalsOf(dataset);
    sum.files += totals.files;
    sum.unseen += totals.unseen;
    sum.as_published += totals.as_published;
    sum.touched += totals.touched;
    sum.verified += totals.verified;
    sum.changed += totals.changed;
    sum.missing += totals.missing;
    sum.unreadable += totals.unreadable;
  }
  return sum;
}

PatrolTotals ArchivePatrol::Totals(const std::string& dataset) const {
  const auto found = impl_->datasets().find(dataset);
  return found == impl_->datasets().end() ? PatrolTotals() : impl_->TotalsOf(found->second);
}

bool ArchivePatrol::Holds(const std::string& dataset, const std::string& path) const {
  const auto found = impl_->datasets().find(dataset);
  if (found == impl_->datasets().end()) return false;
  const auto file = found->second.files.lower_bound({path, ArchiveId{}});
  return file != found->second.files.end() && file->first.first == path;
}

std::optional<std::chrono::seconds> ArchivePatrol::RoundTooLong() const {
  return impl_->RoundTooLong();
}

bool ArchivePatrol::ScrubDone() const {
  return impl_->ScrubDone();
}

}  // namespace tarn::dataset

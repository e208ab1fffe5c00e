#include "indexer/dry_run.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "indexer/classify.h"
#include "indexer/dataset_passes.h"
#include "indexer/journal.h"
#include "indexer/known_files.h"
#include "indexer/places.h"
#include "indexer/stop_signal.h"
#include "tarn/dataset/predecessor.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/forward_reader.h"

namespace tarn::indexer {
namespace {

constexpr uint64_t kAssumedRate = 200'000'000;  // bytes a second, of a file server that others use too
constexpr uint64_t kLeastMeasured = uint64_t{1} << 20;
constexpr uint64_t kMostMeasured = uint64_t{256} << 20;
constexpr std::chrono::seconds kLongestMeasured{1};
constexpr double kSecondsAFile = 0.001;  // to open, look at and index one, whatever its size

// The directory whose file system an index root at `path` lies on, or would.
std::string NearestDirectory(std::string path) {
  while (!path.empty() && !io::IsDirectory(path)) path = std::string(io::DirName(path));
  return path.empty() ? "." : path;
}

class DryRunner {
 public:
  DryRunner(const PublishOptions& options, Progress* progress) : options_(options), progress_(progress) {}

  Result<DryRunReport> Run() {
    TARN_RETURN_IF_ERROR(Open());
    TARN_ASSIGN_OR_RETURN(Scan scan, ScanPlaces(*source_, places_, options_.selection, progress_));
    report_.left_out = std::move(scan.left_out);
    report_.notes = std::move(scan.notes);
    TARN_RETURN_IF_ERROR(Sort(std::move(scan.files)));
    TARN_RETURN_IF_ERROR(EstimateNeed());
    TARN_RETURN_IF_ERROR(EstimateTime());
    return std::move(report_);
  }

 private:
  Status Open() {
    report_.dataset = options_.name;
    report_.index = options_.index;
    TARN_RETURN_IF_ERROR(CheckDatasetName(options_.name));
    TARN_ASSIGN_OR_RETURN(places_, ResolvePlaces(options_.directory, options_.relative_to, options_.index));
    report_.source_path = places_.source_path;
    TARN_ASSIGN_OR_RETURN(source_, io::OpenSource(places_.base));
    auto root = index::IndexRoot::Open(options_.index);
    if (root.ok()) {
      root_ = *std::move(root);
      report_.index_exists = true;
      TARN_ASSIGN_OR_RETURN(predecessor_,
                            dataset::FindPredecessor(*root_, options_.name, dataset::Look::kRows));
      for (const std::string& warning : predecessor_.warnings) report_.notes.push_back(warning);
      TARN_ASSIGN_OR_RETURN(journal_, Journal::Look(root_->JournalPath(options_.name)));
    } else if (const auto names = io::ListDirectory(options_.index);
               root.code() != ErrorCode::kNotFound && !(names.ok() && names->empty())) {
      return std::move(root).status();
    }
    report_.newest = predecessor_.next_generation - 1;
    for (const index::ManifestRow& row : predecessor_.numbers.rows) rows_.emplace(row.path, row);
    return Status::Ok();
  }

  void Count(const std::string& path, uint64_t bytes, bool loose, FileGroup* group) const {
    ++(loose ? group->loose_files : group->archives);
    group->bytes += bytes;
    if (group->paths.size() < FileGroup::kListed) group->paths.push_back(path);
  }

  // Tells the files apart; leaves those that would be read in unread_, the others in known_.
  Status Sort(std::vector<ScannedFile> files) {
    progress_->SetPhase("matching");
    std::optional<KnownFiles> known;
    if (root_ && options_.identity == IdentityMode::kHint) {
      TARN_ASSIGN_OR_RETURN(
          known, KnownFiles::Load({.root = root_.get(),
                                   .newest = predecessor_.whole.get(),
                                   .salvaged = predecessor_.damaged ? &predecessor_.numbers.rows : nullptr,
                                   .journal = journal_.get(),
                                   .source = source_.get(),
                                   .dataset = places_.source_path,
                                   .selection = &options_.selection}));
    }
    for (ScannedFile& file : files) {
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      std::optional<KnownFiles::Match> match;
      if (known) {
        TARN_ASSIGN_OR_RETURN(match, known->Find(file));
      }
      const auto row = rows_.find(file.path);
      const bool there = row != rows_.end();
      const bool same = there && match && match->file.id == row->second.id;
      Count(file.path, file.stat.identity.size, IsLooseByName(file.path, options_.selection),
            same    ? &report_.unchanged
            : there ? &report_.changed
                    : &report_.fresh);
      if (there) rows_.erase(row);
      if (match) {
        known_.push_back(std::move(match->file));
      } else {
        unread_.push_back(std::move(file));
      }
    }
    std::vector<const index::ManifestRow*> gone;
    for (const auto& [path, row] : rows_) gone.push_back(&row);
    std::sort(gone.begin(), gone.end(), [](const auto* a, const auto* b) { return a->path < b->path; });
    for (const index::ManifestRow* row : gone) {
      Count(row->path, row->id.size, row->kind == index::ManifestKind::kLooseFile, &report_.gone);
    }
    return Status::Ok();
  }

  Status EstimateNeed() {
    report_.need = EstimateSpace(
        {.unread = &unread_,
         .known = &known_,
         .newest = predecessor_.whole && !predecessor_.damaged ? &predecessor_.whole->facts() : nullptr,
         .selection = &options_.selection});
    TARN_ASSIGN_OR_RETURN(report_.kept, ForecastKept(options_, root_.get(), unread_, known_));
    report_.need.files_to_keep = report_.kept.files_to_copy;
    report_.need.bytes_to_keep = report_.kept.bytes_to_copy;
    report_.notes.insert(report_.notes.end(), report_.kept.notes.begin(), report_.kept.notes.end());
    const std::string directory = NearestDirectory(options_.index);
    TARN_ASSIGN_OR_RETURN(report_.free_bytes, io::FreeBytes(directory));
    if (root_) {
      report_.refusal = CheckSpace(*root_, options_.name, report_.need);
    } else {
      report_.refusal = CheckFree(options_.index, directory, report_.need);
    }
    // Anything but a lack of space is a failure of this run.
    if (report_.refusal.code() == ErrorCode::kNoSpace) return Status::Ok();
    return report_.refusal;
  }

  Status EstimateTime() {
    if (unread_.empty()) return Status::Ok();
    progress_->SetPhase("measuring");
    report_.bytes_per_second = kAssumedRate;
    TARN_RETURN_IF_ERROR(Measure());
    if (options_.limits.bytes_per_second > 0) {
      report_.bytes_per_second = std::min(report_.bytes_per_second, options_.limits.bytes_per_second);
    }
    const double reading =
        static_cast<double>(report_.need.bytes_to_read) / static_cast<double>(report_.bytes_per_second);
    const double files = static_cast<double>(report_.need.files);
    report_.seconds = std::max(reading, files * kSecondsAFile);
    if (options_.limits.requests_per_second > 0) {
      const double requests =
          files + static_cast<double>(report_.need.bytes_to_read / ReadBytes(options_, options_.jobs));
      report_.seconds =
          std::max(report_.seconds, requests / static_cast<double>(options_.limits.requests_per_second));
    }
    return Status::Ok();
  }

  // Reads the front of the largest file, as a publish would. One that cannot be read, or is too small to
  // tell, leaves the rate that is assumed.
  Status Measure() {
    const auto largest = std::max_element(unread_.begin(), unread_.end(), [](const auto& a, const auto& b) {
      return a.stat.identity.size < b.stat.identity.size;
    });
    const auto file = source_->Open(io::JoinPath(places_.source_path, largest->path));
    if (!file.ok()) return Status::Ok();
    Throttle throttle(options_.limits);
    const io::StreamOptions stream{
        .read_bytes = ReadBytes(options_, options_.jobs),
        .depth = options_.depth,
        .before_read = [&throttle](size_t bytes) { return throttle.BeforeRead(bytes); }};
    io::StreamReader reader(file->get(), std::min(largest->stat.identity.size, kMostMeasured), stream, {});
    const auto started = std::chrono::steady_clock::now();
    std::chrono::duration<double> took{0};
    uint64_t offset = 0;
    while (took < kLongestMeasured && offset < reader.size()) {
      const auto window = reader.Window(offset, 1);
      if (window.code() == ErrorCode::kCancelled) return window.status();
      if (!window.ok()) return Status::Ok();
      offset += window->size();
      took = std::chrono::steady_clock::now() - started;
    }
    if (offset < kLeastMeasured || took.count() <= 0) return Status::Ok();
    report_.bytes_per_second = static_cast<uint64_t>(static_cast<double>(offset) / took.count());
    report_.rate_is_measured = true;
    return Status::Ok();
  }

  const PublishOptions& options_;
  Progress* const progress_;
  Places places_;
  std::shared_ptr<io::Source> source_;
  std::unique_ptr<index::IndexRoot> root_;  // null: there is none
  dataset::Predecessor predecessor_;
  std::unique_ptr<Journal> journal_;
  std::unordered_map<std::string, index::ManifestRow> rows_;  // of the newest, that were not met yet
  std::vector<ScannedFile> unread_;
  std::vector<dataset::PublishedFile> known_;
  DryRunReport report_;
};

}  // namespace

Result<DryRunReport> DryRun(const PublishOptions& options, Progress* progress) {
  return DryRunner(options, progress).Run();
}

}  // namespace tarn::indexer

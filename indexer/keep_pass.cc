#include "indexer/keep_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "indexer/classify.h"
#include "indexer/kill_point.h"
#include "indexer/space.h"
#include "indexer/stop_signal.h"
#include "indexer/sync_all.h"
#include "indexer/throttle_file.h"
#include "tarn/base/bytes.h"
#include "tarn/digest/archive_digester.h"
#include "tarn/index/kept_files.h"
#include "tarn/io/file_mode.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/forward_reader.h"
#include "tarn/io/thread_pool.h"

namespace tarn::indexer {
namespace {

using KeptIds = std::unordered_set<ArchiveId>;

// What the root keeps, with the right size.
Result<KeptIds> ListKeptIds(const index::IndexRoot& root) {
  KeptIds ids;
  TARN_ASSIGN_OR_RETURN(const std::vector<index::StoredKept> kept, index::ListKept(root, nullptr));
  for (const index::StoredKept& file : kept) {
    if (file.facts.bytes == file.id.size) ids.insert(file.id);
  }
  return ids;
}

bool IsShown(const dataset::PublishedFile& file, OnDamage on_damage) {
  if (file.kind == index::ManifestKind::kQuarantined) return false;
  // Not judged yet.
  return file.kind == index::ManifestKind::kLooseFile || file.facts.errors == 0 ||
         on_damage != OnDamage::kQuarantine;
}

void AddCandidates(const std::vector<dataset::PublishedFile>& files, OnDamage on_damage,
                   std::vector<KeepCandidate>* candidates) {
  for (const dataset::PublishedFile& file : files) {
    if (!IsShown(file, on_damage)) continue;
    candidates->push_back({file.path, file.id.size, file.id, file.kind == index::ManifestKind::kLooseFile});
  }
}

// Kept files on their way into the index root, made to last together as bundles are (bundle_batch.h): a file
// is seen in its place only when its bytes would survive a power cut.
class KeptBatch {
 public:
  struct Copy {
    ArchiveId id;
    std::string file;  // closed, not synced
  };

  KeptBatch(index::IndexRoot* root, std::string directory) : root_(root), directory_(std::move(directory)) {}

  // Both from any thread. Takes over a copy; puts the batch in place when it is full.
  Status Add(Copy copy) {
    std::vector<Copy> full;
    {
      const std::lock_guard guard(mutex_);
      bytes_ += copy.id.size;
      waiting_.push_back(std::move(copy));
      if (waiting_.size() < kMostFiles && bytes_ < kMostBytes) return Status::Ok();
      full.swap(waiting_);
      bytes_ = 0;
    }
    return Place(full);
  }
  Status Flush() {
    std::vector<Copy> rest;
    {
      const std::lock_guard guard(mutex_);
      rest.swap(waiting_);
      bytes_ = 0;
    }
    return Place(rest);
  }

 private:
  static constexpr size_t kMostFiles = 512;
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;  // what a kill makes to be copied again

  Status Place(const std::vector<Copy>& copies) {
    std::vector<std::string> files;
    std::set<std::string> shards;
    for (const Copy& copy : copies) {
      files.push_back(copy.file);
      shards.emplace(io::JoinPath(root_->path(), io::DirName(index::KeptPath(copy.id))));
    }
    TARN_RETURN_IF_ERROR(SyncAll(files, io::SyncFile, directory_));
    for (const Copy& copy : copies) {
      TARN_RETURN_IF_ERROR(index::PlaceKept(*root_, copy.id, copy.file));
      KillPoint("kept-in-place");
    }
    return SyncAll(shards, io::SyncDirectory, directory_);
  }

  index::IndexRoot* const root_;
  const std::string directory_;
  std::mutex mutex_;
  std::vector<Copy> waiting_;  // guarded by mutex_, like the rest
  uint64_t bytes_ = 0;
};

class Keeper {
 public:
  Keeper(const KeepContext& context, const PublishOptions& options, PublishReport* report)
      : context_(context),
        options_(options),
        report_(*report),
        directory_(io::JoinPath(context.staging, "kept")),
        batch_(context.root, directory_) {}

  Status Run(const std::vector<dataset::PublishedFile>& files) {
    context_.progress->SetPhase("keeping");
    TARN_ASSIGN_OR_RETURN(kept_, ListKeptIds(*context_.root));
    std::vector<KeepCandidate> candidates;
    AddCandidates(files, options_.on_damage, &candidates);
    KeepChoice choice = ChooseKept(options_.keep, std::move(candidates));
    for (std::string& note : choice.notes) report_.notes.push_back(std::move(note));
    TARN_RETURN_IF_ERROR(CopyMissing(choice.files));
    SumUp(files);
    return Status::Ok();
  }

 private:
  // Copies what is not kept yet, each content once.
  Status CopyMissing(const std::vector<KeepChoice::File>& chosen) {
    KeptIds taken = kept_;
    uint64_t bytes = 0;
    for (const KeepChoice::File& file : chosen) {
      if (!taken.insert(*file.file.id).second) continue;
      bytes += file.file.bytes;
      work_.push_back(&file);
    }
    if (work_.empty()) return Status::Ok();
    TARN_RETURN_IF_ERROR(
        CheckSpace(*context_.root, report_.dataset, {.files_to_keep = work_.size(), .bytes_to_keep = bytes}));
    context_.progress->SetTotals(work_.size(), bytes);
    TARN_RETURN_IF_ERROR(io::MakeDirectory(directory_));
    TARN_RETURN_IF_ERROR(SetUpThrottle());
    Status status = CopyAll();
    // Also when a signal asked to stop: what is whole is kept if it can be.
    Status placed = batch_.Flush();
    TARN_RETURN_IF_ERROR(status);
    TARN_RETURN_IF_ERROR(placed);
    std::sort(missed_.begin(), missed_.end());
    report_.notes.insert(report_.notes.end(), missed_.begin(), missed_.end());
    return Status::Ok();
  }

  // The limits that hold by now: they may have been changed while files were read.
  Status SetUpThrottle() {
    const Result<ThrottleFile> said = ReadThrottleFile(context_.staging);
    const ReadLimits limits = said.ok() ? said->limits : options_.limits;
    throttle_ = std::make_unique<Throttle>(limits);
    TARN_ASSIGN_OR_RETURN(Throttle::LimitSource changes,
                          FollowThrottleFile(context_.staging, report_.dataset, limits));
    throttle_->Follow(std::move(changes));
    return Status::Ok();
  }

  Status CopyAll() {
    const auto jobs = static_cast<unsigned>(std::clamp<size_t>(work_.size(), 1, std::max(options_.jobs, 1U)));
    stream_ = {.read_bytes = ReadBytes(options_, jobs),
               .depth = options_.depth,
               .before_read = [this](size_t bytes) { return throttle_->BeforeRead(bytes); },
               .after_read = [this](size_t bytes,
                                    std::chrono::nanoseconds took) { throttle_->AfterRead(bytes, took); },
               .buffers = std::make_shared<io::BufferPool>()};
    io::ThreadPool pool(jobs);
    for (unsigned job = 0; job < jobs; ++job) pool.Submit([this] { CopySome(); });
    pool.Wait();
    return failure_;
  }

  void CopySome() {
    for (;;) {
      const size_t i = next_.fetch_add(1);
      if (i >= work_.size()) return;
      Status status = StopSignal::Check();
      if (status.ok()) status = Copy(*work_[i], io::JoinPath(directory_, std::to_string(i)));
      if (status.ok()) continue;
      next_ = work_.size();
      const std::lock_guard guard(mutex_);
      if (failure_.ok()) failure_ = std::move(status);
      return;
    }
  }

  Status Copy(const KeepChoice::File& chosen, const std::string& staged) {
    const KeepCandidate& file = chosen.file;
    TARN_ASSIGN_OR_RETURN(const Copied copied, CopyBytes(file, staged));
    if (!copied.failure.ok() || copied.id != *file.id) {
      const bool changed = copied.failure.ok() || copied.failure.code() == ErrorCode::kChanged;
      Miss(chosen, changed ? "it was changed since it was read; publish again" : copied.failure.message());
      return io::RemoveFile(staged);
    }
    TARN_RETURN_IF_ERROR(io::MakeReadOnly(staged));
    KillPoint("kept-copied");
    context_.progress->AddFile();
    {
      const std::lock_guard guard(mutex_);
      kept_.insert(*file.id);
      ++facts_.copied_files;
      facts_.copied_bytes += file.bytes;
    }
    return batch_.Add({*file.id, staged});
  }

  struct Copied {
    Status failure;  // of the source: it costs this file; those of the index root end the pass
    ArchiveId id;    // of the bytes that were copied
  };

  Result<Copied> CopyBytes(const KeepCandidate& file, const std::string& staged) {
    const auto source = context_.source->Open(io::JoinPath(context_.source_path, file.path));
    if (!source.ok()) return Copied{source.status(), {}};
    const Result<io::FileStat> stat = (*source)->Stat();
    if (!stat.ok()) return Copied{stat.status(), {}};
    if (stat->identity.size != file.bytes)
      return Copied{Status(ErrorCode::kChanged, "its size is another"), {}};
    digest::ArchiveDigester digester;
    io::StreamReader reader(source->get(), file.bytes, stream_, [&](std::span<const std::byte> bytes) {
      digester.Update(bytes);
      context_.progress->AddBytes(bytes.size());
    });
    TARN_ASSIGN_OR_RETURN(const auto copy, io::AppendFile::Create(staged));
    for (uint64_t offset = 0; offset < file.bytes;) {
      const Result<std::span<const std::byte>> window = reader.Window(offset, 1);
      if (window.code() == ErrorCode::kCancelled) return window.status();
      if (!window.ok()) return Copied{window.status(), {}};
      TARN_RETURN_IF_ERROR(copy->Append({reinterpret_cast<const char*>(window->data()), window->size()}));
      offset += window->size();
    }
    TARN_RETURN_IF_ERROR(copy->Close());
    return Copied{Status::Ok(), digester.Finish().id};
  }

  // The generation is published without: the file is still where it was.
  void Miss(const KeepChoice::File& chosen, const std::string& why) {
    const std::string note = fmt::format("not kept: {}: {}", EscapeName(chosen.file.path), why);
    context_.progress->Say(note);
    const std::lock_guard guard(mutex_);
    missed_.push_back(note);
    if (chosen.asked) ++facts_.missed;
  }

  // Whatever is kept of the generation, by whichever publish.
  void SumUp(const std::vector<dataset::PublishedFile>& files) {
    KeptIds counted;
    for (const dataset::PublishedFile& file : files) {
      if (!IsShown(file, options_.on_damage) || !kept_.contains(file.id)) continue;
      ++facts_.files;
      if (counted.insert(file.id).second) facts_.bytes += file.id.size;
    }
    report_.kept = facts_;
  }

  const KeepContext& context_;
  const PublishOptions& options_;
  PublishReport& report_;
  const std::string directory_;  // of copies, in staging
  KeptBatch batch_;
  std::unique_ptr<Throttle> throttle_;
  io::StreamOptions stream_;
  std::vector<const KeepChoice::File*> work_;
  std::atomic<size_t> next_ = 0;  // of work_

  std::mutex mutex_;
  KeptIds kept_;  // guarded by mutex_ while copies are made, like the rest
  KeptFacts facts_;
  std::vector<std::string> missed_;  // notes
  Status failure_;
};

}  // namespace

Result<KeepForecast> ForecastKept(const PublishOptions& options, const index::IndexRoot* root,
                                  const std::vector<ScannedFile>& unread,
                                  const std::vector<dataset::PublishedFile>& known) {
  KeepForecast forecast;
  if (options.keep.none) return forecast;
  KeptIds kept;
  if (root != nullptr) {
    TARN_ASSIGN_OR_RETURN(kept, ListKeptIds(*root));
  }
  std::vector<KeepCandidate> candidates;
  AddCandidates(known, options.on_damage, &candidates);
  for (const ScannedFile& file : unread) {
    const bool loose = IsLooseByName(file.path, options.selection);
    candidates.push_back({file.path, file.stat.identity.size, std::nullopt, loose});
  }
  KeepChoice choice = ChooseKept(options.keep, std::move(candidates));
  for (const KeepChoice::File& chosen : choice.files) {
    const KeepCandidate& file = chosen.file;
    ++forecast.files;
    forecast.bytes += file.bytes;
    // The same bytes at another path are copied once.
    if (file.id && !kept.insert(*file.id).second) continue;
    ++forecast.files_to_copy;
    forecast.bytes_to_copy += file.bytes;
  }
  forecast.notes = std::move(choice.notes);
  return forecast;
}

Status KeepFiles(const KeepContext& context, const PublishOptions& options,
                 const std::vector<dataset::PublishedFile>& files, PublishReport* report) {
  if (options.keep.none) return Status::Ok();
  return Keeper(context, options, report).Run(files);
}

}  // namespace tarn::indexer

// Looking at owners, modes and states.
#include <algorithm>
#include <condition_variable>
#include <memory>
#include <utility>

#include "dataset/archive_bytes_impl.h"
#include "dataset/source_visit.h"

namespace tarn::dataset {
namespace {

// Looks at archives that are in flight at once, and how long a listing waits for them.
constexpr unsigned kLookers = 16;
constexpr std::chrono::seconds kLookPatience{1};

}  // namespace

void ArchiveBytes::Impl::Remember(Archive* archive, const io::FileAccess& access) {
  archive->access.Exchange(std::make_shared<const SeenAccess>(SeenAccess{access, SteadyClock::now()}));
}

Result<io::FileAccess> ArchiveBytes::Impl::Access(Archive* archive) {
  const auto seen = archive->access.Load();
  if (seen != nullptr && IsFresh(seen->at)) return seen->access;
  // Names and attributes go on while a source hangs: what was seen last is good until it can be looked at.
  if (seen != nullptr && !SourceAnswers(*archive)) return seen->access;
  Result<io::FileAccess> access = LookAtAccess(archive);
  if (access.code() == ErrorCode::kBusy && seen != nullptr) return seen->access;
  return access;
}

bool ArchiveBytes::Impl::SourceAnswers(const Archive& archive) const {
  if (options_.guard == nullptr || options_.sources.empty()) return true;
  const DescriptorReference descriptor = archive.descriptor.Load();
  return options_.guard->Answers(descriptor != nullptr ? descriptor->opened.source
                                                       : archive.places.looking_in());
}

Result<io::FileAccess> ArchiveBytes::Impl::LookAtAccess(Archive* archive) {
  // One look at an open file serves reads and attributes.
  if (const DescriptorReference descriptor = archive->descriptor.Load()) {
    TARN_ASSIGN_OR_RETURN(const bool as_it_was, LookAgain(archive, descriptor));
    if (as_it_was) return archive->access.Load()->access;
  }
  TARN_ASSIGN_OR_RETURN(const auto lock, LockForOpening(archive));
  if (const auto seen = archive->access.Load(); seen != nullptr && IsFresh(seen->at)) return seen->access;
  const Result<io::FileAccess> found = archive->places.Access();
  counters_.CountLooks(archive->places.TakeLooks());
  if (found.code() == ErrorCode::kBusy) return found;
  const io::FileAccess access = found.ok() ? *found : archive->published_access;
  Remember(archive, access);
  return access;
}

void ArchiveBytes::Impl::LookAhead(std::span<Archive* const> archives) {
  struct Batch {
    std::mutex mutex;
    std::condition_variable done;
    size_t left = 0;
  };
  if (options_.identity_interval.count() == 0) return;  // nothing that is seen now is good later
  std::vector<Archive*> unknown;
  for (Archive* archive : archives) {
    const auto seen = archive->access.Load();
    if ((seen == nullptr || !IsFresh(seen->at)) && SourceAnswers(*archive)) unknown.push_back(archive);
  }
  if (unknown.size() < 2) return;
  const SourceVisit visit(options_.guard, unknown.front()->places.looking_in(), unknown.front()->path);
  if (!visit.entered()) return;
  std::call_once(lookers_made_, [this] { lookers_ = std::make_unique<io::ThreadPool>(kLookers); });
  const auto batch = std::make_shared<Batch>();
  batch->left = unknown.size();
  for (Archive* archive : unknown) {
    lookers_->Submit([this, archive, batch] {
      static_cast<void>(
          Access(archive));  // remembered by the archive; a failure comes again when it is asked
      const std::lock_guard lock(batch->mutex);
      if (--batch->left == 0) batch->done.notify_all();
    });
  }
  std::unique_lock lock(batch->mutex);
  batch->done.wait_for(lock, kLookPatience, [&] { return batch->left == 0; });
}

ArchiveOverview ArchiveBytes::Impl::Overview(size_t most_troubled) const {
  ArchiveOverview overview;
  std::vector<Archive*> troubled;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, same_number] : archives_) {
      for (const auto& archive : same_number) {
        const ArchiveState state = archive->state.load(std::memory_order_relaxed);
        ++overview.by_state[static_cast<size_t>(state)];
        if (state == ArchiveState::kChanged || state == ArchiveState::kMissing ||
            state == ArchiveState::kUnreadable) {
          troubled.push_back(archive.get());
        }
      }
    }
  }
  const auto before = [](const Archive* a, const Archive* b) {
    const std::string& left = a->generation->facts().dataset;
    const std::string& right = b->generation->facts().dataset;
    return left != right ? left < right : a->path < b->path;
  };
  const size_t shown = std::min(most_troubled, troubled.size());
  std::partial_sort(troubled.begin(), troubled.begin() + static_cast<ptrdiff_t>(shown), troubled.end(),
                    before);
  for (Archive* const archive : std::span(troubled).first(shown)) {
    TroubledArchive row;
    row.dataset = archive->generation->facts().dataset;
    row.generation = archive->generation->facts().generation;
    row.path = archive->path;
    row.id = archive->id;
    row.state = archive->state.load(std::memory_order_relaxed);
    row.since = archive->state_since.load(std::memory_order_relaxed);
    // Somebody who looks for it right now may be waiting for a source.
    const std::unique_lock lock(archive->mutex, std::try_to_lock);
    row.message = lock.owns_lock() ? archive->failure.message() : "it is being looked for";
    overview.troubled.push_back(std::move(row));
  }
  return overview;
}

std::vector<ArchiveBytes::Archive*> ArchiveBytes::Impl::Find(const ArchiveVerdict& verdict) const {
  std::vector<Archive*> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, same_number] : archives_) {
    for (const auto& archive : same_number) {
      if (archive->id == verdict.id && archive->path == verdict.path) found.push_back(archive.get());
    }
  }
  return found;
}

void ArchiveBytes::Impl::JudgeAnew(Archive* archive, const io::FileIdentity& changed) {
  if (const DescriptorReference descriptor = archive->descriptor.Load()) {
    if (descriptor->opened.identity != changed) return;  // served from another file
    archive->descriptor.Clear(descriptor);
  }
  // What comes of it is said there: that it was changed, or where it is served from now.
  static_cast<void>(Acquire(archive));
}

void ArchiveBytes::Impl::Learn(
    const std::string& dataset, const std::vector<ArchiveVerdict>& verdicts,
    const std::function<Result<std::shared_ptr<const index::GenerationReader>>()>& newest) {
  std::vector<ArchiveVerdict> unknown;
  for (const ArchiveVerdict& verdict : verdicts_.Learn(dataset, verdicts)) {
    const std::vector<Archive*> archives = Find(verdict);
    if (archives.empty()) unknown.push_back(verdict);
    for (Archive* archive : archives) JudgeAnew(archive, verdict.identity);
  }
  if (unknown.empty()) return;
  // Nobody has asked for them here, but the kernel may have pages from a server before this one.
  const auto generation = newest();
  const auto judge = [&](const index::ManifestRow& row) {
    for (const ArchiveVerdict& verdict : unknown) {
      if (row.kind == index::ManifestKind::kQuarantined) continue;
      if (row.id == verdict.id && row.path == verdict.path)
        JudgeAnew(Add(*generation, row), verdict.identity);
    }
    return Status::Ok();
  };
  const Status status = generation.ok() ? (*generation)->ForEachManifestRow(judge) : generation.status();
  if (status.ok()) return;
  options_.report(
      LogLevel::kWarning,
      "dataset '" + dataset + "': " + std::to_string(unknown.size()) +
          " archives were changed, and the generation that has them cannot be read: " + status.message());
}

}  // namespace tarn::dataset

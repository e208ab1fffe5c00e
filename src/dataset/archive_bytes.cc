#include "tarn/dataset/archive_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "dataset/archive_places.h"
#include "dataset/chunk_check.h"
#include "dataset/descriptor_limit.h"
#include "dataset/read_ahead.h"
#include "dataset/read_counters.h"
#include "dataset/shared_slot.h"
#include "dataset/source_visit.h"
#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/io/thread_pool.h"

namespace tarn::dataset {
namespace {

using Clock = std::chrono::steady_clock;

// An open file and when it was looked at last. What it says of the file never changes: a file that looks
// different is opened and judged anew.
struct Descriptor {
  explicit Descriptor(OpenedArchive opened_archive)
      : opened(std::move(opened_archive)), looked_at(Clock::now().time_since_epoch().count()) {}

  const OpenedArchive opened;
  mutable std::atomic<Clock::rep> looked_at;
};

struct SeenAccess {
  io::FileAccess access;
  Clock::time_point at;
};

// Places of an archive that one read may find bad before it gives up: each is left out from then on, so only
// a source that changes under the read gets here.
constexpr int kAttempts = 8;

// Looks at archives that are in flight at once, and how long a listing waits for them.
constexpr unsigned kLookers = 16;
constexpr std::chrono::seconds kLookPatience{1};

// Whether a read is worth the question what of it was cached, once that was so of many reads of an archive in
// a row. An archive that leaves the cache is then noticed a few reads late, whose pages stay cached twice.
class Residency {
 public:
  bool ShouldLook() {
    const uint32_t reads = reads_.load(std::memory_order_relaxed);
    if (reads < kSure || reads % kLookEvery == 0) return true;
    reads_.store(reads + 1, std::memory_order_relaxed);
    return false;
  }
  void Saw(bool all_cached) {
    reads_.store(all_cached ? reads_.load(std::memory_order_relaxed) + 1 : 0, std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kSure = 64;
  static constexpr uint32_t kLookEvery = 16;
  std::atomic<uint32_t> reads_{0};  // found, or taken, to be cached in a row; a count that is lost is no harm
};

// Whether a range holds a page that it shares with nobody: others are never given back.
bool HasWholePage(uint64_t offset, uint64_t length) {
  static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t first = (offset + page - 1) / page * page;
  return first + page <= offset + length;
}

ArchiveState StateOfFailure(ErrorCode code) {
  if (code == ErrorCode::kNotFound) return ArchiveState::kMissing;
  return code == ErrorCode::kChanged ? ArchiveState::kChanged : ArchiveState::kUnreadable;
}

}  // namespace

std::string_view ArchiveStateName(ArchiveState state) {
  switch (state) {
    case ArchiveState::kUnseen:
      return "unseen";
    case ArchiveState::kServed:
      return "served";
    case ArchiveState::kChecking:
      return "checking";
    case ArchiveState::kChanged:
      return "changed";
    case ArchiveState::kMissing:
      return "missing";
    case ArchiveState::kUnreadable:
      return "unreadable";
  }
  return "unknown";
}

class ArchiveBytes::Archive {
 public:
  Archive(std::shared_ptr<const index::GenerationReader> from, const index::ManifestRow& row,
          SourceGuard* guard)
      : generation(std::move(from)),
        path(row.path),
        id(row.id),
        published_access(row.access),
        places(row.id, path, guard) {}

  // For DescriptorLimit.
  bool TakeMark() { return used.exchange(false, std::memory_order_relaxed); }
  void CloseFile() { descriptor.Exchange(nullptr); }
  bool listed = false;

  // "dataset 'imagenet': archive 'train/a.tar', published as <ArchiveId>,": how messages start.
  std::string Describe() const {
    return "dataset '" + generation->facts().dataset + "': '" + EscapeName(path) + "', published as " +
           id.ToString() + ",";
  }

  const std::shared_ptr<const index::GenerationReader> generation;
  const std::string path;
  const ArchiveId id;
  const io::FileAccess published_access;

  SharedSlot<const Descriptor> descriptor;
  SharedSlot<const SeenAccess> access;
  std::atomic<bool> used{false};
  std::atomic<bool> asked_ahead{false};  // something was brought in ahead of a reader
  Residency residency;
  std::atomic<ArchiveState> state{ArchiveState::kUnseen};
  std::atomic<int64_t> state_since{0};  // seconds since 1970-01-01 UTC

  void SetState(ArchiveState now) {
    if (state.exchange(now, std::memory_order_relaxed) == now) return;
    state_since.store(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count(),
        std::memory_order_relaxed);
  }

  // Held while the file is looked for and opened.
  std::mutex mutex;
  ArchivePlaces places;           // guarded by mutex
  Status failure;                 // the last one, ok when the last opening succeeded; guarded by mutex
  Clock::time_point failed_at{};  // guarded by mutex
  std::string elsewhere;          // the other place that the log was told of; guarded by mutex
  std::string reported;           // what the log was told last; empty: all is well; guarded by mutex
};

class ArchiveBytes::Impl {
 public:
  explicit Impl(ArchiveBytesOptions options)
      : options_(std::move(options)), descriptors_(options_.max_open_files), ahead_(options_.read_ahead) {
    if (!options_.report) options_.report = &Log;
  }

  Archive* Add(std::shared_ptr<const index::GenerationReader> generation, const index::ManifestRow& row);
  Status Read(Archive* archive, uint64_t offset, std::span<std::byte> out, const ArchiveRange* file);
  Result<io::FileAccess> Access(Archive* archive);
  void LookAhead(std::span<Archive* const> archives);
  ReadTotals Totals() const { return counters_.Sum(); }
  ArchiveOverview Overview(size_t most_troubled) const;

 private:
  using DescriptorReference = std::shared_ptr<const Descriptor>;

  bool IsFresh(Clock::time_point looked_at) const {
    return Clock::now() - looked_at < options_.identity_interval;
  }
  // The archive's descriptor, looked at within the identity interval.
  Result<DescriptorReference> Acquire(Archive* archive);
  // Looks at the open file; false when it is not what it was, and is let go of.
  Result<bool> LookAgain(Archive* archive, const DescriptorReference& descriptor);
  // Takes archive->mutex. Whoever holds it may be in a source: waiting for it counts as being there, too.
  Result<std::unique_lock<std::mutex>> LockForOpening(Archive* archive);
  bool SourceAnswers(const Archive& archive) const;
  Result<io::FileAccess> LookAtAccess(Archive* archive);
  static void Remember(Archive* archive, const io::FileAccess& access);
  Result<DescriptorReference> Open(Archive* archive);
  // Tries the places that others know of; gives `failed` back when there is none.
  Result<OpenedArchive> OpenElsewhere(Archive* archive, Result<OpenedArchive> failed);
  Status ReadFrom(Archive* archive, const Descriptor& descriptor, uint64_t offset, std::span<std::byte> out,
                  const ArchiveRange* file);
  // Reads exactly out.size() bytes; those of a file, see ArchiveBytes::Read.
  Status ReadPlain(Archive* archive, const io::RandomAccessFile& from, uint64_t offset,
                   std::span<std::byte> out, const ArchiveRange* file);
  // Remembers what a read found out about a place, and lets go of the descriptor.
  Status GiveUp(Archive* archive, const DescriptorReference& descriptor, const Status& why);
  // Writes a line unless the same was said last.
  void Report(Archive* archive, LogLevel level, std::string line);
  void Opened(Archive* archive, const OpenedArchive& opened);

  ArchiveBytesOptions options_;  // never changed after construction
  DescriptorLimit<Archive> descriptors_;
  ReadAhead ahead_;
  ReadCounters counters_;
  std::once_flag lookers_made_;
  mutable std::mutex mutex_;
  // By dataset number and archive number. Several only if an index broke its own rule, and then kept apart.
  std::unordered_map<uint64_t, std::vector<std::unique_ptr<Archive>>> archives_;  // guarded by mutex_
  std::unique_ptr<io::ThreadPool> lookers_;  // made when first needed; ends before what it looks at
};

ArchiveBytes::Archive* ArchiveBytes::Impl::Add(std::shared_ptr<const index::GenerationReader> generation,
                                               const index::ManifestRow& row) {
  const index::GenerationFacts& facts = generation->facts();
  Archive* archive = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& same_number = archives_[uint64_t{facts.dataset_number} << 32 | row.number];
    for (const auto& known : same_number) {
      if (known->id == row.id) archive = known.get();
    }
    if (archive == nullptr)
      archive = same_number.emplace_back(std::make_unique<Archive>(generation, row, options_.guard)).get();
  }
  const std::lock_guard lock(archive->mutex);
  archive->places.Add(options_.sources, facts.source_path, row.path, row.hint);
  return archive;
}

Status ArchiveBytes::Impl::Read(Archive* archive, uint64_t offset, std::span<std::byte> out,
                                const ArchiveRange* file) {
  if (out.empty()) return Status::Ok();
  if (offset > archive->id.size || out.size() > archive->id.size - offset) {
    return Status(ErrorCode::kCorrupt, archive->Describe() + " has no bytes " + std::to_string(offset) +
                                           " to " + std::to_string(offset + out.size()));
  }
  bool was_stale = false;
  Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    TARN_ASSIGN_OR_RETURN(const DescriptorReference descriptor, Acquire(archive));
    if (!archive->used.load(std::memory_order_relaxed)) archive->used.store(true, std::memory_order_relaxed);
    status = ReadFrom(archive, *descriptor, offset, out, file);
    if (status.ok()) {
      counters_.CountRead(out.size());
      return status;
    }
    if (status.error_number() == ESTALE && !was_stale) {
      // The file server no longer knows this handle: the file was replaced, or the server restarted.
      was_stale = true;
      archive->descriptor.Clear(descriptor);
    } else if (status.code() == ErrorCode::kChanged) {
      TARN_RETURN_IF_ERROR(GiveUp(archive, descriptor, status));
    } else if (status.code() == ErrorCode::kBusy) {
      return status;
    } else {
      return std::move(status).WithContext(archive->Describe() + " cannot be read");
    }
  }
  return status;
}

Status ArchiveBytes::Impl::ReadPlain(Archive* archive, const io::RandomAccessFile& from, uint64_t offset,
                                     std::span<std::byte> out, const ArchiveRange* file) {
  bool give_back = false;
  if (file != nullptr) {
    bool in_run = false;
    const ArchiveRange ahead =
        ahead_.Note(archive, archive->id.size, *file, {offset, offset + out.size()}, &in_run);
    // What is there already costs no call for each piece, and is not ours to give back.
    if (!ahead.empty() && from.Cached(ahead.begin, ahead.size()) != io::CachedPart::kAll) {
      from.Prefetch(ahead.begin, ahead.size());
      counters_.CountAhead(ahead.size());
      archive->asked_ahead.store(true, std::memory_order_relaxed);
    }
    if (in_run && archive->asked_ahead.load(std::memory_order_relaxed)) {
      give_back = true;
    } else if (HasWholePage(offset, out.size()) && archive->residency.ShouldLook()) {
      const std::optional<io::CachedPart> cached = from.Cached(offset, out.size());
      give_back = cached && *cached != io::CachedPart::kAll;
      archive->residency.Saw(cached == io::CachedPart::kAll);
    }
  }
  TARN_ASSIGN_OR_RETURN(const size_t got, from.ReadAt(offset, out));
  if (got != out.size()) {
    return Status(ErrorCode::kChanged,
                  "'" + from.name() + "' ends at offset " + std::to_string(offset + got));
  }
  if (give_back) {
    // Whole pages alone: the first and the last are shared with neighbours, who will be read too.
    from.DropCache(offset, out.size());
    counters_.CountDropped(out.size());
  }
  return Status::Ok();
}

Status ArchiveBytes::Impl::ReadFrom(Archive* archive, const Descriptor& descriptor, uint64_t offset,
                                    std::span<std::byte> out, const ArchiveRange* part_of) {
  const OpenedArchive& opened = descriptor.opened;
  const SourceVisit visit(options_.guard, opened.source, archive->path);
  if (!visit.entered()) return SourceVisit::Refused();
  if (opened.ledger == nullptr && options_.verify == VerifyMode::kStat) {
    return ReadPlain(archive, *opened.file, offset, out, part_of);
  }
  bool completed = false;
  const CheckedFile file{
      .file = opened.file.get(),
      .generation = archive->generation.get(),
      .id = archive->id,
      .ledger = options_.verify == VerifyMode::kChunk ? nullptr : opened.ledger.get(),
  };
  TARN_RETURN_IF_ERROR(ReadChecked(file, offset, out, &completed));
  if (completed) {
    const std::lock_guard lock(archive->mutex);
    archive->SetState(ArchiveState::kServed);
    options_.report(LogLevel::kInfo, archive->Describe() + " is what was published: every chunk of '" +
                                         opened.file->name() + "' was checked");
    archive->reported.clear();
  }
  return Status::Ok();
}

Result<ArchiveBytes::Impl::DescriptorReference> ArchiveBytes::Impl::Acquire(Archive* archive) {
  DescriptorReference descriptor = archive->descriptor.Load();
  if (descriptor == nullptr) return Open(archive);
  const Clock::time_point looked_at{Clock::duration(descriptor->looked_at.load(std::memory_order_relaxed))};
  if (IsFresh(looked_at)) return descriptor;
  TARN_ASSIGN_OR_RETURN(const bool as_it_was, LookAgain(archive, descriptor));
  if (as_it_was) return descriptor;
  return Open(archive);
}

Result<bool> ArchiveBytes::Impl::LookAgain(Archive* archive, const DescriptorReference& descriptor) {
  const SourceVisit visit(options_.guard, descriptor->opened.source, archive->path);
  if (!visit.entered()) return SourceVisit::Refused();
  const Clock::time_point now = Clock::now();
  const Result<io::FileStat> stat = descriptor->opened.file->Stat();
  if (stat.ok() && stat->identity == descriptor->opened.identity) {
    descriptor->looked_at.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    Remember(archive, stat->access);
    return true;
  }
  // Touched, rewritten, or no longer known to its server: whatever is at the path now is judged anew.
  archive->descriptor.Clear(descriptor);
  return false;
}

Result<std::unique_lock<std::mutex>> ArchiveBytes::Impl::LockForOpening(Archive* archive) {
  std::unique_lock lock(archive->mutex, std::try_to_lock);
  if (lock.owns_lock()) return lock;
  const SourceVisit visit(options_.guard, archive->places.looking_in(), archive->path);
  if (!visit.entered()) return SourceVisit::Refused();
  lock.lock();
  return lock;
}

Result<ArchiveBytes::Impl::DescriptorReference> ArchiveBytes::Impl::Open(Archive* archive) {
  TARN_ASSIGN_OR_RETURN(const auto lock, LockForOpening(archive));
  // Somebody else opened it, or found out that it cannot be, while we waited.
  if (DescriptorReference descriptor = archive->descriptor.Load()) return descriptor;
  if (!archive->failure.ok() && IsFresh(archive->failed_at)) return archive->failure;

  Result<OpenedArchive> opened = archive->places.Open();
  if (!opened.ok() && opened.code() != ErrorCode::kBusy) opened = OpenElsewhere(archive, std::move(opened));
  if (opened.ok()) {
    archive->failure = Status::Ok();
    Remember(archive, opened->access);
    Opened(archive, *opened);
    auto descriptor = std::make_shared<const Descriptor>(std::move(opened).value());
    archive->descriptor.Exchange(descriptor);
    descriptors_.Opened(archive);
    return DescriptorReference(std::move(descriptor));
  }
  const ErrorCode code = opened.code();
  if (code == ErrorCode::kBusy) return std::move(opened).status();
  const std::string problem = code == ErrorCode::kNotFound  ? " is missing: "
                              : code == ErrorCode::kChanged ? " was changed: "
                                                            : " cannot be read: ";
  archive->failure = Status(code, archive->Describe() + problem + opened.status().message())
                         .WithHint(
                             "put the published file back: reads go on by themselves; or publish the dataset "
                             "again and mount the new generation");
  archive->failed_at = Clock::now();
  archive->SetState(StateOfFailure(code));
  Report(archive, LogLevel::kError, archive->failure.message());
  return archive->failure;
}

Result<OpenedArchive> ArchiveBytes::Impl::OpenElsewhere(Archive* archive, Result<OpenedArchive> failed) {
  if (!options_.find_elsewhere) return failed;
  for (const KnownPlace& place : options_.find_elsewhere(archive->id)) {
    archive->places.Add(options_.sources, place.source_path, place.path, place.hint);
  }
  Result<OpenedArchive> opened = archive->places.Open();
  if (!opened.ok()) return opened.code() == ErrorCode::kBusy ? std::move(opened) : std::move(failed);
  if (opened->file->name() != archive->elsewhere) {
    archive->elsewhere = opened->file->name();
    options_.report(LogLevel::kWarning, archive->Describe() + " is no longer where it was published: " +
                                            failed.status().message() + "; it is served from '" +
                                            archive->elsewhere + "'");
  }
  return opened;
}

void ArchiveBytes::Impl::Opened(Archive* archive, const OpenedArchive& opened) {
  const bool checking = opened.ledger != nullptr && !opened.ledger->complete();
  archive->SetState(checking ? ArchiveState::kChecking : ArchiveState::kServed);
  if (checking) {
    Report(archive, LogLevel::kWarning,
           archive->Describe() + " has another modification time at '" + opened.file->name() +
               "': each chunk is checked before it is served");
  } else if (!archive->reported.empty()) {
    options_.report(LogLevel::kInfo,
                    archive->Describe() + " is served again, from '" + opened.file->name() + "'");
    archive->reported.clear();
  }
}

Status ArchiveBytes::Impl::GiveUp(Archive* archive, const DescriptorReference& descriptor,
                                  const Status& why) {
  TARN_ASSIGN_OR_RETURN(const auto lock, LockForOpening(archive));
  archive->places.MarkBad(descriptor->opened, why.message());
  archive->descriptor.Clear(descriptor);
  return Status::Ok();
}

void ArchiveBytes::Impl::Report(Archive* archive, LogLevel level, std::string line) {
  if (line == archive->reported) return;
  options_.report(level, line);
  archive->reported = std::move(line);
}

void ArchiveBytes::Impl::Remember(Archive* archive, const io::FileAccess& access) {
  archive->access.Exchange(std::make_shared<const SeenAccess>(SeenAccess{access, Clock::now()}));
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

ArchiveBytes::ArchiveBytes(ArchiveBytesOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
ArchiveBytes::~ArchiveBytes() = default;

ArchiveBytes::Archive* ArchiveBytes::Add(std::shared_ptr<const index::GenerationReader> generation,
                                         const index::ManifestRow& row) {
  return impl_->Add(std::move(generation), row);
}

Status ArchiveBytes::Read(Archive* archive, uint64_t offset, std::span<std::byte> out) {
  return impl_->Read(archive, offset, out, nullptr);
}

Status ArchiveBytes::Read(Archive* archive, uint64_t offset, std::span<std::byte> out, ArchiveRange file) {
  return impl_->Read(archive, offset, out, &file);
}

void ArchiveBytes::LookAhead(std::span<Archive* const> archives) {
  impl_->LookAhead(archives);
}

ReadTotals ArchiveBytes::Totals() const {
  return impl_->Totals();
}

ArchiveOverview ArchiveBytes::Overview(size_t most_troubled) const {
  return impl_->Overview(most_troubled);
}

Result<io::FileAccess> ArchiveBytes::Access(Archive* archive) {
  return impl_->Access(archive);
}

ArchiveState ArchiveBytes::State(const Archive* archive) const {
  return archive->state.load(std::memory_order_relaxed);
}

}  // namespace tarn::dataset

#include "tarn/dataset/archive_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "dataset/archive_bytes_impl.h"
#include "dataset/source_visit.h"
#include "tarn/digest/archive_digester.h"

namespace tarn::dataset {
namespace {

// Places of an archive that one read may find bad before it gives up, beyond those that are known: each is
// left out from then on, so only a source that changes under the read gets here.
constexpr size_t kMoreTries = 8;

// Between two tries of a source that failed: at first, and at most.
constexpr std::chrono::milliseconds kFirstPause{10};
constexpr std::chrono::milliseconds kLongestPause{1000};

// Whether a range holds a page that it shares with nobody: others are never given back.
bool HasWholePage(uint64_t offset, uint64_t length) {
  static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t first = (offset + page - 1) / page * page;
  return first + page <= offset + length;
}

// Errors of a file server or of the way to it, which says nothing of whether the file is there.
bool IsOfTheSource(const Status& status) {
  switch (status.error_number()) {
    case EIO:
    case ESTALE:
    case ETIMEDOUT:
    case ENOTCONN:
    case ECONNRESET:
    case ECONNREFUSED:
    case ECONNABORTED:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH:
    case EREMOTEIO:
    case ENOLINK:
      return true;
    default:
      return false;
  }
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

ArchiveBytes::Impl::Impl(ArchiveBytesOptions options)
    : options_(std::move(options)),
      verdicts_(options_.verdict_file),
      descriptors_(options_.max_open_files),
      ahead_(options_.read_ahead) {
  if (!options_.report) options_.report = &Log;
}

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
    if (archive == nullptr) {
      same_number.push_back(std::make_unique<Archive>(generation, row, options_.guard, &verdicts_));
      archive = same_number.back().get();
    }
  }
  const std::lock_guard lock(archive->mutex);
  archive->places.Add(options_.sources, facts.source_path, row.path, row.hint, PlaceKind::kPublished);
  return archive;
}

Status ArchiveBytes::Impl::Read(Archive* archive, uint64_t offset, std::span<std::byte> out,
                                const ArchiveRange* file) {
  if (out.empty()) return Status::Ok();
  if (offset > archive->id.size || out.size() > archive->id.size - offset) {
    return Status(ErrorCode::kCorrupt, archive->Describe() + " has no bytes " + std::to_string(offset) +
                                           " to " + std::to_string(offset + out.size()));
  }
  size_t tries = 0;       // that found something else
  unsigned failures = 0;  // of the source
  for (;;) {
    const Result<DescriptorReference> descriptor = Acquire(archive);
    bool outdated = false;
    Status status = descriptor.status();
    if (descriptor.ok()) {
      if (!archive->used.load(std::memory_order_relaxed))
        archive->used.store(true, std::memory_order_relaxed);
      status = ReadFrom(archive, **descriptor, offset, out, file, &outdated);
    }
    if (status.ok() && !outdated) {
      if (archive->failing_since.load(std::memory_order_relaxed) != 0) archive->failing_since.store(0);
      counters_.CountRead(out.size());
      if (archive->has_notice.load(std::memory_order_acquire)) SayWhereItIsServedFrom(archive);
      return status;
    }
    if (status.code() == ErrorCode::kBusy) return status;
    const bool try_others = descriptor.ok() && (outdated || status.code() == ErrorCode::kChanged);
    if (try_others && tries++ < archive->known_places.load(std::memory_order_relaxed) + kMoreTries) {
      if (outdated) {
        archive->descriptor.Clear(*descriptor);
      } else {
        TARN_RETURN_IF_ERROR(GiveUp(archive, *descriptor, status));
      }
      continue;
    }
    if (IsOfTheSource(status)) {
      // Opened again in any case: a server that was restarted may not know the handle any more.
      if (descriptor.ok()) archive->descriptor.Clear(*descriptor);
      if (status.error_number() == ESTALE) counters_.CountStale();
      TARN_ASSIGN_OR_RETURN(const bool again, WaitForSource(archive, ++failures, status));
      if (again) continue;
    }
    counters_.CountFailed();
    if (outdated) {
      return Status(ErrorCode::kChanged, archive->Describe() + " is being written all the time: '" +
                                             (*descriptor)->opened.file->name() + "'");
    }
    return descriptor.ok() ? std::move(status).WithContext(archive->Describe() + " cannot be read") : status;
  }
}

Result<bool> ArchiveBytes::Impl::WaitForSource(Archive* archive, unsigned failures, const Status& why) {
  // A handle that is unknown to the server is unknown at once and costs nothing to be had anew.
  if (why.error_number() == ESTALE && failures == 1) {
    counters_.CountRetry();
    return true;
  }
  const SteadyClock::time_point now = SteadyClock::now();
  SteadyClock::rep since = 0;
  if (archive->failing_since.compare_exchange_strong(since, now.time_since_epoch().count())) {
    since = now.time_since_epoch().count();
  }
  const auto failed_for = now.time_since_epoch() - SteadyClock::duration(since);
  if (failed_for >= options_.retry_for) return false;
  // Whoever waits for a source counts as being in it.
  const SourceVisit visit(options_.guard, archive->places.looking_in(), archive->path);
  if (!visit.entered()) return SourceVisit::Refused();
  counters_.CountRetry();
  const auto pause = std::min(kLongestPause, kFirstPause * (1 << std::min(failures, 7U)));
  std::this_thread::sleep_for(std::min<SteadyClock::duration>(pause, options_.retry_for - failed_for));
  return true;
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

Status ArchiveBytes::Impl::ReadWithCheck(Archive* archive, const OpenedArchive& opened, ChunkLedger* ledger,
                                         uint64_t offset, std::span<std::byte> out, bool* all_checked) {
  const CheckedFile file{.file = opened.file.get(),
                         .generation = archive->generation.get(),
                         .id = archive->id,
                         .ledger = ledger};
  CheckOutcome outcome;
  const Status status = ReadChecked(file, offset, out, &outcome);
  counters_.CountChecked(outcome.checked_bytes);
  *all_checked = outcome.all_checked;
  if (status.ok() && outcome.completed) Completed(archive, *opened.file);
  return status;
}

Status ArchiveBytes::Impl::ReadFrom(Archive* archive, const Descriptor& descriptor, uint64_t offset,
                                    std::span<std::byte> out, const ArchiveRange* part_of, bool* outdated) {
  const OpenedArchive& opened = descriptor.opened;
  const SourceVisit visit(options_.guard, opened.source, archive->path);
  if (!visit.entered()) return SourceVisit::Refused();
  bool all_checked = false;
  if (opened.ledger == nullptr && options_.verify == VerifyMode::kStat) {
    TARN_RETURN_IF_ERROR(ReadPlain(archive, *opened.file, offset, out, part_of));
  } else {
    ChunkLedger* const ledger = options_.verify == VerifyMode::kChunk ? nullptr : opened.ledger.get();
    TARN_RETURN_IF_ERROR(ReadWithCheck(archive, opened, ledger, offset, out, &all_checked));
  }
  if (all_checked) return Status::Ok();
  // Whoever wrote into the file before we read has moved its time on.
  const std::optional<io::FileIdentity> known = opened.file->KnownIdentity();
  *outdated = known && (known->size != opened.identity.size || known->mtime_ns != opened.identity.mtime_ns);
  return Status::Ok();
}

uint64_t ArchiveBytes::Impl::CheckSome(Archive* archive, uint64_t most_bytes, bool* finished) {
  static const std::unique_ptr<std::byte[]> buffer = std::make_unique<std::byte[]>(digest::kChunkBytes);
  *finished = true;
  const Result<DescriptorReference> descriptor = Acquire(archive);
  if (!descriptor.ok()) return 0;  // said where it was found out; it is opened again when it is back
  const OpenedArchive& opened = (*descriptor)->opened;
  if (opened.ledger == nullptr) return 0;
  uint64_t done = 0;
  uint64_t chunk = 0;
  while ((chunk = opened.ledger->NextUnknown(chunk)) < opened.ledger->chunks()) {
    if (done >= most_bytes) {
      *finished = false;
      return done;
    }
    const uint64_t offset = chunk * digest::kChunkBytes;
    const size_t bytes =
        static_cast<size_t>(std::min<uint64_t>(digest::kChunkBytes, archive->id.size - offset));
    const bool cached = opened.file->Cached(offset, bytes) != io::CachedPart::kNone;
    bool all_checked = false;
    const Status status =
        ReadWithCheck(archive, opened, opened.ledger.get(), offset, {buffer.get(), bytes}, &all_checked);
    if (!cached) opened.file->DropCache(offset, bytes);
    if (status.code() == ErrorCode::kChanged) {
      // Opened again, so that it is said now and not when somebody reads.
      if (GiveUp(archive, *descriptor, status).ok()) static_cast<void>(Acquire(archive));
    }
    if (!status.ok()) return done;
    done += bytes;
  }
  // Others may have checked the last ones.
  if (!opened.ledger->complete() && opened.ledger->Recount()) Completed(archive, *opened.file);
  return done;
}

uint64_t ArchiveBytes::Impl::CheckBehind(uint64_t most_bytes, std::chrono::seconds least_age) {
  uint64_t done = 0;
  while (done < most_bytes) {
    Archive* archive = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (checking_.empty()) break;
      archive = checking_.front();
    }
    if (SecondsNow() - archive->state_since.load(std::memory_order_relaxed) < least_age.count()) break;
    bool finished = false;
    done += CheckSome(archive, most_bytes - done, &finished);
    if (!finished) break;
    const std::lock_guard lock(mutex_);
    checking_.erase(std::find(checking_.begin(), checking_.end(), archive));
    archive->in_checking = false;
  }
  return done;
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

uint64_t ArchiveBytes::CheckBehind(uint64_t most_bytes, std::chrono::seconds least_age) {
  return impl_->CheckBehind(most_bytes, least_age);
}

void ArchiveBytes::Learn(
    const std::string& dataset, const std::vector<ArchiveVerdict>& verdicts,
    const std::function<Result<std::shared_ptr<const index::GenerationReader>>()>& newest) {
  impl_->Learn(dataset, verdicts, newest);
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

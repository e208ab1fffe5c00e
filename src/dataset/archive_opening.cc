// Finding and opening files: which one is the archive, and what is said of those that are not.
#include <utility>

#include "dataset/archive_bytes_impl.h"
#include "dataset/source_visit.h"
#include "tarn/index/kept_files.h"

namespace tarn::dataset {
namespace {

ArchiveState StateOfFailure(ErrorCode code) {
  if (code == ErrorCode::kNotFound) return ArchiveState::kMissing;
  return code == ErrorCode::kChanged ? ArchiveState::kChanged : ArchiveState::kUnreadable;
}

}  // namespace

Result<ArchiveBytes::Impl::DescriptorReference> ArchiveBytes::Impl::Acquire(Archive* archive) {
  DescriptorReference descriptor = archive->descriptor.Load();
  if (descriptor == nullptr) return Open(archive);
  const SteadyClock::time_point looked_at{
      SteadyClock::duration(descriptor->looked_at.load(std::memory_order_relaxed))};
  if (IsFresh(looked_at)) return descriptor;
  TARN_ASSIGN_OR_RETURN(const bool as_it_was, LookAgain(archive, descriptor));
  if (as_it_was) return descriptor;
  return Open(archive);
}

Result<bool> ArchiveBytes::Impl::LookAgain(Archive* archive, const DescriptorReference& descriptor) {
  const SourceVisit visit(options_.guard, descriptor->opened.source, archive->path);
  if (!visit.entered()) return SourceVisit::Refused();
  const SteadyClock::time_point now = SteadyClock::now();
  counters_.CountLooks(1);
  const Result<io::FileStat> stat = descriptor->opened.file->Stat();
  if (stat.ok() && stat->identity == descriptor->opened.identity) {
    descriptor->looked_at.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    Remember(archive, descriptor->opened.is_copy ? archive->published_access : stat->access);
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
  counters_.CountLooks(archive->places.TakeLooks());
  archive->known_places.store(archive->places.count(), std::memory_order_relaxed);
  if (opened.code() == ErrorCode::kBusy) return std::move(opened).status();
  if (!opened.ok()) return Failed(archive, std::move(opened).status());
  archive->failure = Status::Ok();
  Remember(archive, opened->access);
  Opened(archive, *opened);
  auto descriptor = std::make_shared<const Descriptor>(std::move(opened).value());
  archive->descriptor.Exchange(descriptor);
  descriptors_.Opened(archive);
  return DescriptorReference(std::move(descriptor));
}

Result<OpenedArchive> ArchiveBytes::Impl::OpenElsewhere(Archive* archive, Result<OpenedArchive> failed) {
  const auto good_enough = [](const Result<OpenedArchive>& opened) {
    return opened.ok() || opened.code() == ErrorCode::kBusy;
  };
  ArchivePlaces& places = archive->places;
  const size_t first_searched = options_.sources.size();
  if (options_.kept != nullptr && !archive->copy_known) {
    archive->copy_known = true;
    places.AddFile(options_.kept, first_searched + options_.searched.size(), index::KeptPath(archive->id),
                   PlaceKind::kCopy);
    if (auto opened = places.Open(); good_enough(opened)) return opened;
  }
  if (options_.find_elsewhere) {
    for (const KnownPlace& place : options_.find_elsewhere(archive->id)) {
      places.Add(options_.sources, place.source_path, place.path, place.hint, PlaceKind::kElsewhere);
    }
    if (auto opened = places.Open(); good_enough(opened)) return opened;
  }
  if (options_.search) {
    const auto files = options_.search(archive->id, archive->path);
    if (files.code() == ErrorCode::kBusy) return files.status();
    if (!files.ok()) options_.report(LogLevel::kWarning, files.status().ToString());
    for (const FoundFile& file : files.ok() ? *files : std::vector<FoundFile>()) {
      places.AddFile(options_.searched[file.searched], first_searched + file.searched, file.path,
                     PlaceKind::kElsewhere);
    }
    if (auto opened = places.Open(); good_enough(opened)) return opened;
  }
  return failed;
}

void ArchiveBytes::Impl::Opened(Archive* archive, const OpenedArchive& opened) {
  archive->has_notice.store(false, std::memory_order_relaxed);
  archive->openings.fetch_add(1, std::memory_order_relaxed);
  const bool checking = opened.ledger != nullptr && !opened.ledger->complete();
  const ArchiveState state = checking ? ArchiveState::kChecking : ArchiveState::kServed;
  const std::string& name = opened.file->name();
  if (!opened.instead_of.empty()) {
    const bool known = archive->elsewhere == name;
    archive->elsewhere = name;
    const std::string line = archive->Describe() +
                             " is no longer where it was published: " + opened.instead_of +
                             "; it is served from '" + name + "'" + (checking ? ", each chunk checked" : "");
    if (checking && !known) {
      // Whether it is the archive is known when the first chunk was good; before that there is nothing to
      // say.
      Report(archive, LogLevel::kInfo, archive->reported, state);
      archive->notice = line;
      archive->has_notice.store(true, std::memory_order_release);
    } else {
      Report(archive, LogLevel::kWarning, known ? archive->reported : line, state);
    }
  } else if (checking) {
    Report(archive, LogLevel::kWarning,
           archive->Describe() + " has another modification time at '" + name +
               "': each chunk is checked before it is served",
           state);
  } else if (!archive->reported.empty()) {
    Report(archive, LogLevel::kInfo, archive->Describe() + " is served again, from '" + name + "'", state);
    archive->reported.clear();
    archive->elsewhere.clear();
  } else {
    Report(archive, LogLevel::kInfo, {}, state);
  }
  if (!checking) return;
  const std::lock_guard lock(mutex_);
  if (!std::exchange(archive->in_checking, true)) checking_.push_back(archive);
}

Status ArchiveBytes::Impl::Failed(Archive* archive, Status status) {
  const ErrorCode code = status.code();
  const std::string problem = code == ErrorCode::kNotFound  ? " is missing"
                              : code == ErrorCode::kChanged ? " was changed"
                                                            : " cannot be read";
  archive->failure = std::move(status)
                         .WithContext(archive->Describe() + problem)
                         .WithHint(
                             "put the published file back: reads go on by themselves; or publish the dataset "
                             "again and mount the new generation");
  archive->failed_at = SteadyClock::now();
  archive->has_notice.store(false, std::memory_order_relaxed);
  archive->elsewhere.clear();
  Report(archive, LogLevel::kError, archive->failure.message(), StateOfFailure(code));
  return archive->failure;
}

void ArchiveBytes::Impl::SayWhereItIsServedFrom(Archive* archive) {
  const std::lock_guard lock(archive->mutex);
  if (!archive->has_notice.exchange(false)) return;
  Report(archive, LogLevel::kWarning, archive->notice, archive->state.load(std::memory_order_relaxed));
}

void ArchiveBytes::Impl::Completed(Archive* archive, const io::RandomAccessFile& file) {
  const std::lock_guard lock(archive->mutex);
  archive->SetState(ArchiveState::kServed);
  options_.report(LogLevel::kInfo, archive->Describe() + " is what was published: every chunk of '" +
                                       file.name() + "' was checked");
  if (archive->elsewhere.empty()) archive->reported.clear();
}

Status ArchiveBytes::Impl::GiveUp(Archive* archive, const DescriptorReference& descriptor,
                                  const Status& why) {
  TARN_ASSIGN_OR_RETURN(const auto lock, LockForOpening(archive));
  archive->places.MarkBad(descriptor->opened, why.message());
  archive->descriptor.Clear(descriptor);
  return Status::Ok();
}

void ArchiveBytes::Impl::Report(Archive* archive, LogLevel level, std::string line, ArchiveState state) {
  const bool is_new = line != archive->reported;
  if (is_new) archive->reported = line;
  bool may_be_cached = archive->places.TakeFoundChanged();
  if (archive->forgetting.load(std::memory_order_relaxed) > 0) {
    // In order behind what is still to be said.
    if (!is_new && !may_be_cached) return;
    may_be_cached = true;
  }
  auto tell = [this, archive, level, state, line = std::move(line), is_new,
               openings = archive->openings.load(std::memory_order_relaxed)] {
    // What was opened meanwhile says how it stands now.
    if (archive->openings.load(std::memory_order_relaxed) == openings) archive->SetState(state);
    if (is_new) options_.report(level, line);
  };
  if (!may_be_cached || !options_.forget_cached) {
    tell();
    return;
  }
  archive->forgetting.fetch_add(1, std::memory_order_relaxed);
  options_.forget_cached(archive->changed, [archive, tell = std::move(tell)] {
    tell();
    archive->forgetting.fetch_sub(1, std::memory_order_relaxed);
  });
}

}  // namespace tarn::dataset

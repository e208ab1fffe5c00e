#include "tarn/dataset/archive_bytes.h"

#include <atomic>
#include <cerrno>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "dataset/archive_places.h"
#include "dataset/chunk_check.h"
#include "dataset/descriptor_limit.h"
#include "dataset/shared_slot.h"
#include "tarn/base/bytes.h"
#include "tarn/base/log.h"

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
  Archive(std::shared_ptr<const index::GenerationReader> from, const index::ManifestRow& row)
      : generation(std::move(from)),
        path(row.path),
        id(row.id),
        published_access(row.access),
        places(row.id) {}

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
  std::atomic<ArchiveState> state{ArchiveState::kUnseen};

  // Held while the file is looked for and opened.
  std::mutex mutex;
  ArchivePlaces places;           // guarded by mutex
  Status failure;                 // the last one, ok when the last opening succeeded; guarded by mutex
  Clock::time_point failed_at{};  // guarded by mutex
  std::string reported;           // what the log was told last; empty: all is well; guarded by mutex
};

class ArchiveBytes::Impl {
 public:
  explicit Impl(ArchiveBytesOptions options)
      : options_(std::move(options)), descriptors_(options_.max_open_files) {
    if (!options_.report) options_.report = &Log;
  }

  Archive* Add(std::shared_ptr<const index::GenerationReader> generation, const index::ManifestRow& row);
  Status Read(Archive* archive, uint64_t offset, std::span<std::byte> out);
  io::FileAccess Access(Archive* archive);

 private:
  using DescriptorReference = std::shared_ptr<const Descriptor>;

  bool IsFresh(Clock::time_point looked_at) const {
    return Clock::now() - looked_at < options_.identity_interval;
  }
  // The archive's descriptor, looked at within the identity interval.
  Result<DescriptorReference> Acquire(Archive* archive);
  Result<DescriptorReference> Open(Archive* archive);
  Status ReadFrom(Archive* archive, const Descriptor& descriptor, uint64_t offset, std::span<std::byte> out);
  // Remembers what a read found out about a place, and lets go of the descriptor.
  void GiveUp(Archive* archive, const DescriptorReference& descriptor, const Status& why);
  // Writes a line unless the same was said last.
  void Report(Archive* archive, LogLevel level, std::string line);
  void Opened(Archive* archive, const OpenedArchive& opened);

  ArchiveBytesOptions options_;  // never changed after construction
  DescriptorLimit<Archive> descriptors_;
  std::mutex mutex_;
  // By dataset number and archive number. Several only if an index broke its own rule, and then kept apart.
  std::unordered_map<uint64_t, std::vector<std::unique_ptr<Archive>>> archives_;  // guarded by mutex_
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
      archive = same_number.emplace_back(std::make_unique<Archive>(generation, row)).get();
  }
  const std::lock_guard lock(archive->mutex);
  archive->places.Add(options_.sources, facts.source_path, row.path, row.hint);
  return archive;
}

Status ArchiveBytes::Impl::Read(Archive* archive, uint64_t offset, std::span<std::byte> out) {
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
    status = ReadFrom(archive, *descriptor, offset, out);
    if (status.ok()) return status;
    if (status.error_number() == ESTALE && !was_stale) {
      // The file server no longer knows this handle: the file was replaced, or the server restarted.
      was_stale = true;
      archive->descriptor.Clear(descriptor);
    } else if (status.code() == ErrorCode::kChanged) {
      GiveUp(archive, descriptor, status);
    } else {
      return std::move(status).WithContext(archive->Describe() + " cannot be read");
    }
  }
  return status;
}

Status ArchiveBytes::Impl::ReadFrom(Archive* archive, const Descriptor& descriptor, uint64_t offset,
                                    std::span<std::byte> out) {
  const OpenedArchive& opened = descriptor.opened;
  if (opened.ledger == nullptr && options_.verify == VerifyMode::kStat) {
    TARN_ASSIGN_OR_RETURN(const size_t got, opened.file->ReadAt(offset, out));
    if (got == out.size()) return Status::Ok();
    return Status(ErrorCode::kChanged,
                  "'" + opened.file->name() + "' ends at offset " + std::to_string(offset + got));
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
    archive->state.store(ArchiveState::kServed, std::memory_order_relaxed);
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
  const Clock::time_point now = Clock::now();
  const Result<io::FileStat> stat = descriptor->opened.file->Stat();
  if (stat.ok() && stat->identity == descriptor->opened.identity) {
    descriptor->looked_at.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    return descriptor;
  }
  // Touched, rewritten, or no longer known to its server: whatever is at the path now is judged anew.
  archive->descriptor.Clear(descriptor);
  return Open(archive);
}

Result<ArchiveBytes::Impl::DescriptorReference> ArchiveBytes::Impl::Open(Archive* archive) {
  const std::lock_guard lock(archive->mutex);
  // Somebody else opened it, or found out that it cannot be, while we waited.
  if (DescriptorReference descriptor = archive->descriptor.Load()) return descriptor;
  if (!archive->failure.ok() && IsFresh(archive->failed_at)) return archive->failure;

  Result<OpenedArchive> opened = archive->places.Open();
  if (opened.ok()) {
    archive->failure = Status::Ok();
    Opened(archive, *opened);
    auto descriptor = std::make_shared<const Descriptor>(std::move(opened).value());
    archive->descriptor.Exchange(descriptor);
    descriptors_.Opened(archive);
    return DescriptorReference(std::move(descriptor));
  }
  const ErrorCode code = opened.code();
  const std::string problem = code == ErrorCode::kNotFound  ? " is missing: "
                              : code == ErrorCode::kChanged ? " was changed: "
                                                            : " cannot be read: ";
  archive->failure = Status(code, archive->Describe() + problem + opened.status().message())
                         .WithHint(
                             "put the published file back: reads go on by themselves; or publish the dataset "
                             "again and mount the new generation");
  archive->failed_at = Clock::now();
  archive->state.store(StateOfFailure(code), std::memory_order_relaxed);
  Report(archive, LogLevel::kError, archive->failure.message());
  return archive->failure;
}

void ArchiveBytes::Impl::Opened(Archive* archive, const OpenedArchive& opened) {
  const bool checking = opened.ledger != nullptr && !opened.ledger->complete();
  archive->state.store(checking ? ArchiveState::kChecking : ArchiveState::kServed, std::memory_order_relaxed);
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

void ArchiveBytes::Impl::GiveUp(Archive* archive, const DescriptorReference& descriptor, const Status& why) {
  const std::lock_guard lock(archive->mutex);
  archive->places.MarkBad(descriptor->opened, why.message());
  archive->descriptor.Clear(descriptor);
}

void ArchiveBytes::Impl::Report(Archive* archive, LogLevel level, std::string line) {
  if (line == archive->reported) return;
  options_.report(level, line);
  archive->reported = std::move(line);
}

io::FileAccess ArchiveBytes::Impl::Access(Archive* archive) {
  if (const auto seen = archive->access.Load(); seen != nullptr && IsFresh(seen->at)) return seen->access;
  const std::lock_guard lock(archive->mutex);
  if (const auto seen = archive->access.Load(); seen != nullptr && IsFresh(seen->at)) return seen->access;
  const Result<io::FileAccess> access = archive->places.Access();
  auto seen = std::make_shared<SeenAccess>();
  seen->access = access.ok() ? *access : archive->published_access;
  seen->at = Clock::now();
  archive->access.Exchange(seen);
  return seen->access;
}

ArchiveBytes::ArchiveBytes(ArchiveBytesOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
ArchiveBytes::~ArchiveBytes() = default;

ArchiveBytes::Archive* ArchiveBytes::Add(std::shared_ptr<const index::GenerationReader> generation,
                                         const index::ManifestRow& row) {
  return impl_->Add(std::move(generation), row);
}

Status ArchiveBytes::Read(Archive* archive, uint64_t offset, std::span<std::byte> out) {
  return impl_->Read(archive, offset, out);
}

io::FileAccess ArchiveBytes::Access(Archive* archive) {
  return impl_->Access(archive);
}

ArchiveState ArchiveBytes::State(const Archive* archive) const {
  return archive->state.load(std::memory_order_relaxed);
}

}  // namespace tarn::dataset

// ArchiveBytes::Impl: reading (archive_bytes.cc), finding and opening files (archive_opening.cc), looking at
// owners, modes and states (archive_looks.cc).
#ifndef TARN_DATASET_ARCHIVE_BYTES_IMPL_H_
#define TARN_DATASET_ARCHIVE_BYTES_IMPL_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "dataset/archive_handle.h"
#include "dataset/descriptor_limit.h"
#include "dataset/read_ahead.h"
#include "dataset/read_counters.h"
#include "tarn/dataset/archive_bytes.h"
#include "tarn/io/thread_pool.h"

namespace tarn::dataset {

class ArchiveBytes::Impl {
 public:
  explicit Impl(ArchiveBytesOptions options);

  Archive* Add(std::shared_ptr<const index::GenerationReader> generation, const index::ManifestRow& row);
  Status Read(Archive* archive, uint64_t offset, std::span<std::byte> out, const ArchiveRange* file);
  Result<io::FileAccess> Access(Archive* archive);
  void LookAhead(std::span<Archive* const> archives);
  uint64_t CheckBehind(uint64_t most_bytes, std::chrono::seconds least_age);
  void Learn(const std::string& dataset, const std::vector<ArchiveVerdict>& verdicts,
             const std::function<Result<std::shared_ptr<const index::GenerationReader>>()>& newest);
  ReadTotals Totals() const { return counters_.Sum(); }
  ArchiveOverview Overview(size_t most_troubled) const;

 private:
  using DescriptorReference = std::shared_ptr<const Descriptor>;

  bool IsFresh(SteadyClock::time_point looked_at) const {
    return SteadyClock::now() - looked_at < options_.identity_interval;
  }

  // ---- Reading
  // One try. `*outdated`: the file was changed while it was read; nothing is wrong with the source.
  Status ReadFrom(Archive* archive, const Descriptor& descriptor, uint64_t offset, std::span<std::byte> out,
                  const ArchiveRange* file, bool* outdated);
  // Reads exactly out.size() bytes; those of a file, see ArchiveBytes::Read.
  Status ReadPlain(Archive* archive, const io::RandomAccessFile& from, uint64_t offset,
                   std::span<std::byte> out, const ArchiveRange* file);
  // `*all_checked`: no byte was served because of what was known before.
  Status ReadWithCheck(Archive* archive, const OpenedArchive& opened, ChunkLedger* ledger, uint64_t offset,
                       std::span<std::byte> out, bool* all_checked);
  // Waits before a read is tried again that failed for the `failures`th time; false when it has been tried
  // for long enough.
  Result<bool> WaitForSource(Archive* archive, unsigned failures, const Status& why);
  // `*finished`: nothing is left to check, or it cannot be done now.
  uint64_t CheckSome(Archive* archive, uint64_t most_bytes, bool* finished);

  // ---- Opening
  // The archive's descriptor, looked at within the identity interval.
  Result<DescriptorReference> Acquire(Archive* archive);
  // Looks at the open file; false when it is not what it was, and is let go of.
  Result<bool> LookAgain(Archive* archive, const DescriptorReference& descriptor);
  // Takes archive->mutex. Whoever holds it may be in a source: waiting for it counts as being there, too.
  Result<std::unique_lock<std::mutex>> LockForOpening(Archive* archive);
  Result<DescriptorReference> Open(Archive* archive);
  // Tries the copy of the index root and the places that others know of; gives `failed` back when none is
  // good.
  Result<OpenedArchive> OpenElsewhere(Archive* archive, Result<OpenedArchive> failed);
  // Remembers what a read found out about a place, and lets go of the descriptor.
  Status GiveUp(Archive* archive, const DescriptorReference& descriptor, const Status& why);
  void Opened(Archive* archive, const OpenedArchive& opened);
  Status Failed(Archive* archive, Status status);
  // Another place was opened, and what was read there was good.
  void SayWhereItIsServedFrom(Archive* archive);
  // Every chunk was found good.
  void Completed(Archive* archive, const io::RandomAccessFile& file);
  // Writes a line unless the same was said last, and sets the state; behind the forgetting of what others
  // keep, if something else may have been served.
  void Report(Archive* archive, LogLevel level, std::string line, ArchiveState state);

  // ---- Looking
  std::vector<Archive*> Find(const ArchiveVerdict& verdict) const;
  // Looks again at an archive of which a file was found to be changed.
  void JudgeAnew(Archive* archive, const io::FileIdentity& changed);
  bool SourceAnswers(const Archive& archive) const;
  Result<io::FileAccess> LookAtAccess(Archive* archive);
  static void Remember(Archive* archive, const io::FileAccess& access);

  ArchiveBytesOptions options_;  // never changed after construction
  VerdictStore verdicts_;
  DescriptorLimit<Archive> descriptors_;
  ReadAhead ahead_;
  ReadCounters counters_;
  std::once_flag lookers_made_;
  mutable std::mutex mutex_;
  // By dataset number and archive number. Several only if an index broke its own rule, and then kept apart.
  std::unordered_map<uint64_t, std::vector<std::unique_ptr<Archive>>> archives_;  // guarded by mutex_
  std::vector<Archive*> checking_;           // served chunk by chunk, the oldest first; guarded by mutex_
  std::unique_ptr<io::ThreadPool> lookers_;  // made when first needed; ends before what it looks at
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ARCHIVE_BYTES_IMPL_H_

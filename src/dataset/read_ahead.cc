#include "dataset/read_ahead.h"

#include <algorithm>

namespace tarn::dataset {
namespace {

bool IsNear(uint64_t offset, uint64_t expected, uint64_t tolerance) {
  return offset <= expected + tolerance && expected <= offset + tolerance;
}

}  // namespace

ArchiveRange ReadAhead::Note(const void* archive, uint64_t archive_bytes, ArchiveRange file,
                             ArchiveRange read, bool* in_run) {
  if (in_run != nullptr) *in_run = false;
  if (options_.max_bytes == 0) return {};
  Shard& shard =
      shards_[(reinterpret_cast<uintptr_t>(archive) * 0x9e3779b97f4a7c15ULL >> 32) % shards_.size()];
  if (shard.busy.test_and_set(std::memory_order_acquire)) return {};
  Run* run = Find(&shard, archive, file, read);
  ArchiveRange ahead;
  if (run != nullptr) {
    if (in_run != nullptr) *in_run = run->ahead != 0;
    ahead = Advance(run, archive_bytes, file, read);
  } else if (read.begin == file.begin) {
    // Only what starts at the start of a file can become a run.
    run = Begin(&shard);
    run->archive = archive;
    run->file = file;
    run->next = read.end;
    run->in_order = read.size();
    run->reads = 1;
  }
  if (run != nullptr) run->used = ++shard.notes;
  shard.busy.clear(std::memory_order_release);
  return ahead;
}

ReadAhead::Run* ReadAhead::Find(Shard* shard, const void* archive, ArchiveRange file, ArchiveRange read) {
  for (Run& run : shard->runs) {
    if (run.archive != archive) continue;
    if (run.file.begin == file.begin) {
      // Large requests are the kernel's own, made ahead of the reader: those may overtake one another.
      const uint64_t tolerance = read.size() >= kLeastAhead / 2 ? kOutOfOrder : 0;
      if (read.begin != file.begin && IsNear(read.begin, run.next, tolerance)) return &run;
      continue;
    }
    // The next file, when the one before was read to its end; or one near a run that has proved right, which
    // several readers share.
    const bool next_file = read.begin == file.begin && run.next >= run.file.end &&
                           file.begin >= run.file.end && file.begin - run.file.end <= kMostBetween;
    const uint64_t apart = std::min(run.in_order, kMostApart);
    const bool near_run = run.files >= kFilesInOrder && file.begin + apart >= run.next &&
                          file.begin <= std::max(run.next, run.ahead) + apart;
    if (next_file || near_run) return &run;
  }
  return nullptr;
}

ReadAhead::Run* ReadAhead::Begin(Shard* shard) {
  Run* const oldest = &*std::min_element(shard->runs.begin(), shard->runs.end(),
                                         [](const Run& a, const Run& b) { return a.used < b.used; });
  if (oldest->ahead != 0) running_.fetch_sub(1, std::memory_order_relaxed);
  *oldest = Run();
  return oldest;
}

uint64_t ReadAhead::MostAhead() const {
  const uint64_t share = options_.total_bytes / std::max(1U, running_.load(std::memory_order_relaxed));
  return std::min(options_.max_bytes, std::max(share, kLeastAhead));
}

ArchiveRange ReadAhead::Advance(Run* run, uint64_t archive_bytes, ArchiveRange file, ArchiveRange read) {
  if (run->file.begin == file.begin) {
    ++run->reads;
  } else if (file.begin >= run->file.end) {
    ++run->files;
    run->file = file;
    run->reads = 1;
  }
  run->in_order += read.size();
  run->next = std::max(run->next, read.end);

  const bool across_files = run->files >= kFilesInOrder;
  if (!across_files && run->reads < 2) return {};
  const uint64_t earned = across_files ? run->in_order / 2 : run->in_order;
  const uint64_t window = std::clamp(earned, kLeastAhead, std::max(MostAhead(), kLeastAhead));
  const uint64_t limit = across_files ? archive_bytes : run->file.end;
  const uint64_t target = std::min(limit, run->next + window);
  const uint64_t from = std::max(run->ahead, run->next);
  // In large steps: when half of it is used up, or the rest of the file is wanted.
  if (from >= target || (from - run->next > window / 2 && target != limit)) return {};
  if (run->ahead == 0) running_.fetch_add(1, std::memory_order_relaxed);
  run->ahead = target;
  return {from, target};
}

}  // namespace tarn::dataset

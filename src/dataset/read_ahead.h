// ReadAhead: which bytes of an archive will probably be read next, told by what was read.
//
// A run is a sequence of reads in the order in which bytes lie in the archive: of one file from its start on,
// or of whole files one behind the other (cp -r, an epoch in order). Bytes are asked for ahead of a run,
// twice as far each time it proves right, up to a bound; nothing is asked for anything else:
//
//   in a file        from its second read in order on, never beyond the file's end. Reads of one small file
//                    (the kernel asks for up to 128 KiB at once) are no run, so whole files in random order
//                    cost exactly their bytes
//   across files     once kFilesInOrder files were read to their ends, one behind the other, with no more
//                    than headers between them
//
// What is ahead of a run is never more than what the run has read, half of that across files: at most a third
// of what is asked for is in vain when a run of files breaks off. Readers come in any order: the kernel has
// several requests of one file in flight, and several workers read for several readers. So a run also takes
// reads that are a little early or late.
//
// One object serves all archives. It is a guess: whoever finds it busy reads without (no waiting, no lock on
// the way of a read), and runs that nobody goes on with are forgotten for others.
#ifndef TARN_DATASET_READ_AHEAD_H_
#define TARN_DATASET_READ_AHEAD_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tarn/dataset/archive_bytes.h"

namespace tarn::dataset {

class ReadAhead {
 public:
  explicit ReadAhead(const ReadAheadOptions& options) : options_(options) {}

  // `read` is about to be read, bytes of a file that lies at `file`; `archive` tells archives apart, and
  // `archive_bytes` is its size. Gives what to ask for ahead: empty most of the time.
  // `*in_run`: `read` goes on with a run that has bytes ahead of it.
  ArchiveRange Note(const void* archive, uint64_t archive_bytes, ArchiveRange file, ArchiveRange read,
                    bool* in_run = nullptr);

  // Runs that have bytes ahead of them.
  unsigned runs() const { return running_.load(std::memory_order_relaxed); }

  static constexpr unsigned kFilesInOrder = 3;
  static constexpr uint64_t kLeastAhead = 128 << 10;
  // Between two files of a run: headers, names, what is no file.
  static constexpr uint64_t kMostBetween = 4 << 10;
  // How far a read may be before or behind its place in a run: what the kernel has in flight at once.
  static constexpr uint64_t kOutOfOrder = 256 << 10;
  // How far before or behind the others a reader of the same run of files may be.
  static constexpr uint64_t kMostApart = 4 << 20;

 private:
  struct Run {
    const void* archive = nullptr;
    ArchiveRange file;      // the one that was read last
    uint64_t next = 0;      // end of what was read in order
    uint64_t in_order = 0;  // bytes
    uint64_t ahead = 0;     // end of what was asked for; 0: nothing yet
    unsigned files = 0;     // whole ones before `file`
    unsigned reads = 0;     // of `file`
    uint64_t used = 0;      // when, in notes of the shard
  };
  static constexpr size_t kRuns = 32;
  struct alignas(64) Shard {
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
    uint64_t notes = 0;
    std::array<Run, kRuns> runs;
  };

  // The run that goes on with `read`; null: none does.
  static Run* Find(Shard* shard, const void* archive, ArchiveRange file, ArchiveRange read);
  Run* Begin(Shard* shard);
  ArchiveRange Advance(Run* run, uint64_t archive_bytes, ArchiveRange file, ArchiveRange read);
  uint64_t MostAhead() const;

  const ReadAheadOptions options_;
  std::atomic<unsigned> running_{0};
  std::array<Shard, 8> shards_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_READ_AHEAD_H_

// ArchiveBytes: gives the bytes of published archives, and only those: checked to be what was published
// (DESIGN section 6).
//
// An archive is looked for below each source, at the path recorded by publish (source path of the dataset,
// then the archive's own) and at its own path alone (the source is the dataset's directory). What is found is
// judged by its stat: when it is opened, and again when a read comes and the last look is older than the
// identity interval.
//
//     size and mtime as in the hint       served
//     same size, other mtime              served: each chunk is checked against its XXH3-64 before its bytes
//                                         leave, once per observed identity
//     other size, or a bad chunk          the next place is tried; if none is good, kChanged
//     gone                                the next place is tried; if none has it, kNotFound; served again
//                                         when it is back
//     the source fails (EIO, ESTALE ...)  tried again for a while; then its error
//
// Places beyond its own: the copy that the index root keeps, and those that `find_elsewhere` knows. A file
// that changes while it is read is noticed after the read, too, as far as the system knows of the change
// without asking (RandomAccessFile::KnownIdentity).
//
// What is not as it should be is logged once per event: dataset, path, ArchiveId expected, what was found and
// where. A failure is kept for one identity interval, so that a thousand readers of a missing archive do not
// ask its server a thousand times.
//
// All functions may be called from any thread. A read that hits an open descriptor takes no lock beyond a
// reference and allocates nothing.
#ifndef TARN_DATASET_ARCHIVE_BYTES_H_
#define TARN_DATASET_ARCHIVE_BYTES_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/log.h"
#include "tarn/base/result.h"
#include "tarn/dataset/archive_states.h"
#include "tarn/dataset/source_guard.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/records.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

// A range of an archive.
struct ArchiveRange {
  uint64_t begin = 0;
  uint64_t end = 0;  // behind its last byte
  bool empty() const { return begin >= end; }
  uint64_t size() const { return empty() ? 0 : end - begin; }
};

// What is asked for before somebody reads it, when files are read front to back or one behind the other.
struct ReadAheadOptions {
  uint64_t max_bytes = uint64_t{8} << 20;  // ahead of one reader; 0: nothing is read ahead
  // Ahead of all readers together. More hides the latency of more of them; it is page cache of the source.
  uint64_t total_bytes = uint64_t{128} << 20;
};

// Counted since the start. What the source was asked for is read_bytes (as far as it was not asked for ahead)
// and ahead_bytes.
struct ReadTotals {
  uint64_t reads = 0;
  uint64_t read_bytes = 0;     // given to readers
  uint64_t ahead_bytes = 0;    // asked for ahead of them
  uint64_t dropped_bytes = 0;  // ranges whose pages were given back because readers have them now
  uint64_t checked_bytes = 0;  // read to be compared with their checksums, for readers or behind them
  uint64_t looks = 0;          // files opened, and stats of files: what identity costs the source
  uint64_t retries = 0;        // reads tried again because the source failed
  uint64_t stale = 0;          // of the failures: ESTALE
  uint64_t failed = 0;         // reads that ended in an error
};

enum class VerifyMode : uint8_t {
  kStat,   // as above
  kChunk,  // every chunk is checked every time its bytes leave, also when the stat agrees; a small read then
           // costs 128 KiB
};

// Where an archive was published, as a manifest row says it.
struct KnownPlace {
  std::string source_path;  // of the dataset, below a source
  std::string path;         // in the dataset
  io::FileIdentity hint;
};

// A file that may be an archive: nothing is known of it but its size.
struct FoundFile {
  size_t searched = 0;  // number in ArchiveBytesOptions::searched
  std::string path;     // below it
};

// An archive or loose file of which something else than what was published may have been served.
struct ChangedArchive {
  uint32_t dataset = 0;  // number
  uint32_t number = 0;   // of the archive in its dataset
  uint64_t members = 0;  // ordinals 0 to this - 1; a loose file has ordinal 0
};

struct ArchiveBytesOptions {
  std::vector<std::shared_ptr<io::Source>> sources;
  // Where `search` finds files.
  std::vector<std::shared_ptr<io::Source>> searched;
  // The index root, for the copies it keeps (index::KeptPath); null: none.
  std::shared_ptr<io::Source> kept;
  std::chrono::milliseconds identity_interval{1000};
  // For how long reads of an archive are tried again after its source began to fail. A handle that the server
  // no longer knows (ESTALE) is opened again once in any case.
  std::chrono::milliseconds retry_for{0};
  // Where it is kept which chunks of which files were found good, so that a later process need not check them
  // again; empty: in memory alone.
  std::string verdict_file;
  VerifyMode verify = VerifyMode::kStat;
  // Descriptors held between reads; the least recently used are closed. Reads in progress hold theirs on top.
  unsigned max_open_files = 512;
  ReadAheadOptions read_ahead;
  // Asked before every call into a source; null: nobody is. Must outlive the ArchiveBytes. Sources are
  // numbered: `sources`, then `searched`, then `kept`.
  SourceGuard* guard = nullptr;
  // Asked where else an archive was published when none of its own places is good; null: nobody knows. May
  // read the index. What is found there is checked as at any place.
  std::function<std::vector<KnownPlace>(const ArchiveId& id)> find_elsewhere;
  // Asked for files of the right size when that did not help either; `path` is the archive's in its dataset.
  // Null: nothing is searched. kBusy: the guard let nobody in. Each chunk of what is found is checked.
  std::function<Result<std::vector<FoundFile>>(const ArchiveId& id, const std::string& path)> search;
  // Makes whoever keeps bytes of the archive (the kernel) forget them, then calls `report`, once, from any
  // thread; empty: nobody keeps any. Called with a lock of the archive held, so it must not wait for reads.
  std::function<void(const ChangedArchive& archive, std::function<void()> report)> forget_cached;
  // Gets the line for each event (see above); empty: the log of the process. Called with a lock of the
  // archive held, so it must not ask about archives.
  std::function<void(LogLevel level, std::string_view line)> report;
};

// How an archive stands, as last seen.
enum class ArchiveState : uint8_t {
  kUnseen,      // nobody has asked yet
  kServed,      // as published, by its stat or because every chunk was checked
  kChecking,    // served chunk by chunk as they turn out good
  kChanged,     // other bytes than those published
  kMissing,     // nowhere to be found
  kUnreadable,  // there, and cannot be opened or looked at: permissions, input/output errors
};
inline constexpr size_t kArchiveStates = 6;
// "unseen", "served", ...: the spelling of status and metrics.
std::string_view ArchiveStateName(ArchiveState state);

// An archive that is not served, as last seen.
struct TroubledArchive {
  std::string dataset;      // name
  uint32_t generation = 0;  // one that has it
  std::string path;         // in the dataset
  ArchiveId id;             // as published
  ArchiveState state = ArchiveState::kMissing;
  int64_t since = 0;    // seconds since 1970-01-01 UTC
  std::string message;  // what readers' errors say
};

// All archives that somebody has asked for.
struct ArchiveOverview {
  std::array<uint64_t, kArchiveStates> by_state{};  // indexed by ArchiveState
  std::vector<TroubledArchive> troubled;            // by dataset and path; not more than were asked for
};

class ArchiveBytes {
 public:
  explicit ArchiveBytes(ArchiveBytesOptions options);
  ~ArchiveBytes();

  // One archive or loose file of one dataset. Owned by ArchiveBytes and valid as long as it; cheap to hold.
  class Archive;
  // The handle for a manifest row; the same dataset number, archive number and ArchiveId give the same
  // handle, and a path that differs from that of an earlier row is one more place to look at. `generation`
  // gives the chunk checksums and is kept alive.
  Archive* Add(std::shared_ptr<const index::GenerationReader> generation, const index::ManifestRow& row);

  // Reads exactly out.size() bytes of the archive at `offset`, or fails: kChanged, kNotFound, kIo or another
  // error of the source; kCorrupt when they do not lie within the archive. Never gives bytes of something
  // else, never fills in zeros. What `out` holds after a failure is not to be used. kBusy: the guard let
  // nobody into the source.
  Status Read(Archive* archive, uint64_t offset, std::span<std::byte> out);
  // The same for bytes of a file that lies at `file`: what it is part of tells what will be read next, and
  // the page cache of the source gives back what it was filled with for this read: whoever reads through a
  // mount has the bytes in the mount's. Pages that were in it before stay.
  Status Read(Archive* archive, uint64_t offset, std::span<std::byte> out, ArchiveRange file);

  // Owner, group and mode of the archive file, at most one identity interval old: may wait for the source,
  // unless they were seen before and the source does not answer.
  // From the manifest while the file cannot be looked at; fails only with kBusy, as Read.
  Result<io::FileAccess> Access(Archive* archive);

  // Looks at those of `archives` whose Access is not known, several at once, so that asking for it one by one
  // then waits for none: a directory of many archives on a far server. Gives up waiting after a second.
  void LookAhead(std::span<Archive* const> archives);

  // Checks chunks of archives that are served chunk by chunk, of one archive after the other, so that they
  // are served plainly again. At most `most_bytes` and one chunk more; only of archives that have been so for
  // `least_age`. Gives the bytes read: 0 when there is nothing to check. One thread at a time.
  uint64_t CheckBehind(uint64_t most_bytes, std::chrono::seconds least_age);

  // Takes over what somebody else found out about files of a dataset, in the place of what was told before:
  // a file that looks exactly as it did then is served plainly when it was verified, and not at all when it
  // was changed; what was served of a changed one is forgotten, and the change reported, before this returns
  // or soon after. `newest` gives the generation in which changed archives are looked up that nobody has
  // asked for here; it is called only for those. From one thread; may wait for a source.
  void Learn(const std::string& dataset, const std::vector<ArchiveVerdict>& verdicts,
             const std::function<Result<std::shared_ptr<const index::GenerationReader>>()>& newest);

  ArchiveState State(const Archive* archive) const;
  ReadTotals Totals() const;
  // Waits for no source. At most `most_troubled` of those that are not served are described.
  ArchiveOverview Overview(size_t most_troubled) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ARCHIVE_BYTES_H_

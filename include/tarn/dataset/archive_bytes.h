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
//     when
//                                         it is back
//
// What is not as it should be is logged once per event: dataset, path, ArchiveId expected, what was found and
// where. A failure is kept for one identity interval, so that a thousand readers of a missing archive do not
// ask its server a thousand times.
//
// All functions may be called from any thread. A read that hits an open descriptor takes no lock beyond a
// reference and allocates nothing.
#ifndef TARN_DATASET_ARCHIVE_BYTES_H_
#define TARN_DATASET_ARCHIVE_BYTES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/log.h"
#include "tarn/base/result.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/records.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

enum class VerifyMode : uint8_t {
  kStat,   // as above
  kChunk,  // every chunk is checked every time its bytes leave, also when the stat agrees; a small read then
           // costs 128 KiB
};

struct ArchiveBytesOptions {
  std::vector<std::shared_ptr<io::Source>> sources;
  std::chrono::milliseconds identity_interval{1000};
  VerifyMode verify = VerifyMode::kStat;
  // Descriptors held between reads; the least recently used are closed. Reads in progress hold theirs on top.
  unsigned max_open_files = 512;
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
// "unseen", "served", ...: the spelling of status and metrics.
std::string_view ArchiveStateName(ArchiveState state);

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
  // else, never fills in zeros. What `out` holds after a failure is not to be used.
  Status Read(Archive* archive, uint64_t offset, std::span<std::byte> out);

  // Owner, group and mode of the archive file, at most one identity interval old: may wait for the source.
  // From the manifest while the file cannot be looked at.
  io::FileAccess Access(Archive* archive);

  ArchiveState State(const Archive* archive) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ARCHIVE_BYTES_H_

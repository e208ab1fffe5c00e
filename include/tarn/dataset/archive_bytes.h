// ArchiveBytes: gives the bytes of published archives, and only those: checked to be what was published
// (DESIGN section 6).
//
// An archive is looked for below each source root at the dataset's path. Its stat is compared with the hint
// when it is opened and whenever the last look is older than the identity interval:
//
//     size and mtime as in the hint                 served
//     same size, other mtime                        served; each chunk checked against its XXH3-64 before its
//     bytes leave,
//                                                   once per observed identity
//     other size, or a bad chunk                    kChanged, one log line that names path, expected and
//     found gone                                          kNotFound ("missing"); served again when it is back
//
// All functions may be called from any thread. A read that hits an open descriptor takes no lock beyond a
// reference.
#ifndef TARN_DATASET_ARCHIVE_BYTES_H_
#define TARN_DATASET_ARCHIVE_BYTES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/records.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

enum class VerifyMode : uint8_t {
  kStat,   // as above
  kChunk,  // every chunk is checked before its bytes leave, also when the stat agrees
};

struct ArchiveBytesOptions {
  std::vector<std::shared_ptr<io::Source>> sources;
  std::chrono::milliseconds identity_interval{1000};
  VerifyMode verify = VerifyMode::kStat;
  unsigned max_open_files = 512;  // descriptors held; least recently used ones are closed
};

// How an archive stands, as last seen.
enum class ArchiveState : uint8_t { kUnseen, kServed, kChecking, kChanged, kMissing };
std::string_view ArchiveStateName(ArchiveState state);

class ArchiveBytes {
 public:
  explicit ArchiveBytes(ArchiveBytesOptions options);
  ~ArchiveBytes();

  // One archive or loose file of one dataset. Owned by ArchiveBytes and valid as long as it; cheap to hold.
  class Archive;
  // The handle for a manifest row; the same row (dataset number, archive number) gives the same handle.
  // `generation` gives the chunk checksums and is kept alive.
  Archive* Add(std::shared_ptr<const index::GenerationReader> generation, const index::ManifestRow& row);

  // Reads exactly out.size() bytes of the archive at `offset`, or fails: kChanged, kNotFound, kIo. Never
  // gives bytes of something else, never fills in zeros.
  Status Read(Archive* archive, uint64_t offset, std::span<std::byte> out);

  // Owner, group and mode of the archive file now; from the manifest while it cannot be looked at.
  io::FileAccess Access(Archive* archive);

  ArchiveState State(const Archive* archive) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ARCHIVE_BYTES_H_

// Where an archive may be, and which of the files found there is it.
#ifndef TARN_DATASET_ARCHIVE_PLACES_H_
#define TARN_DATASET_ARCHIVE_PLACES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataset/chunk_check.h"
#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

// An open file that passed for the archive, and what its reads need.
struct OpenedArchive {
  std::shared_ptr<const io::RandomAccessFile> file;
  io::FileIdentity identity;  // as judged
  size_t place = 0;
  // Null: the stat agrees with the hint. Otherwise chunks are checked once each and noted here.
  std::shared_ptr<ChunkLedger> ledger;
};

// The places of one archive. Not thread-safe.
class ArchivePlaces {
 public:
  explicit ArchivePlaces(const ArchiveId& id) : id_(id) {}

  // Adds a path with the stat it had when it was published, unless it is there with the same hint: below each
  // of `sources`, at `source_path`/`path` and at `path` alone.
  void Add(const std::vector<std::shared_ptr<io::Source>>& sources, const std::string& source_path,
           const std::string& path, const io::FileIdentity& hint);

  // Opens the first place whose stat agrees with its hint, else the first that may hold the archive. Else the
  // error that tells most: kChanged (something else is there), that of a place that cannot be read,
  // kNotFound. The message says what was found where.
  Result<OpenedArchive> Open();

  // A chunk of it was bad: that place is not good for as long as it has that identity. `why` says so.
  void MarkBad(const OpenedArchive& opened, std::string why);

  // Owner and mode of the file in the first place that has one.
  Result<io::FileAccess> Access() const;

 private:
  struct Place {
    std::shared_ptr<io::Source> source;
    std::string path;                     // below the source
    std::vector<io::FileIdentity> hints;  // as published here
    // What was found here last: a ledger goes on when a file is closed and opened again, and a bad file stays
    // bad, until it looks different.
    io::FileIdentity seen;
    std::shared_ptr<ChunkLedger> ledger;  // of `seen`
    std::string bad;                      // why `seen` is not the archive; empty: nothing known against it

    std::string Name() const;
  };

  // Opens and judges. kChanged: something else is there. `*plain`: the stat agrees with a hint.
  Result<OpenedArchive> OpenPlace(size_t index, bool* plain);

  const ArchiveId id_;
  std::vector<Place> places_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ARCHIVE_PLACES_H_

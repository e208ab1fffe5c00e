// Where an archive may be, and which of the files found there is it.
#ifndef TARN_DATASET_ARCHIVE_PLACES_H_
#define TARN_DATASET_ARCHIVE_PLACES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataset/chunk_check.h"
#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/dataset/source_guard.h"
#include "tarn/io/random_access_file.h"

namespace tarn::dataset {

// An open file that passed for the archive, and what its reads need.
struct OpenedArchive {
  std::shared_ptr<const io::RandomAccessFile> file;
  io::FileIdentity identity;  // as judged
  io::FileAccess access;
  size_t place = 0;
  size_t source = 0;  // number of the source it lies in
  // Null: the stat agrees with the hint. Otherwise chunks are checked once each and noted here.
  std::shared_ptr<ChunkLedger> ledger;
};

// The places of one archive. Not thread-safe, but for looking_in(). `path` is what `guard` is told; both must
// outlive this.
class ArchivePlaces {
 public:
  ArchivePlaces(const ArchiveId& id, const std::string& path, SourceGuard* guard)
      : id_(id), path_(path), guard_(guard) {}

  // Adds a path with the stat it had when it was published, unless it is there with the same hint: below each
  // of `sources`, at `source_path`/`path` and at `path` alone.
  void Add(const std::vector<std::shared_ptr<io::Source>>& sources, const std::string& source_path,
           const std::string& path, const io::FileIdentity& hint);

  // Opens the first place whose stat agrees with its hint, else the first that may hold the archive; the one
  // that was good last is asked first, one in a source that the guard lets nobody into is passed by. Else the
  // error that tells most: kChanged (something else is there), that of a place that cannot be read,
  // kNotFound. The message says what was found where. kBusy: the guard let nobody in.
  Result<OpenedArchive> Open();

  // A chunk of it was bad: that place is not good for as long as it has that identity. `why` says so.
  void MarkBad(const OpenedArchive& opened, std::string why);

  // Owner and mode of the file in the first place that has one. kBusy as for Open.
  Result<io::FileAccess> Access();

  // The source that the thread inside Open or Access is in, or was last: whoever waits for it waits there.
  size_t looking_in() const { return looking_in_.load(std::memory_order_relaxed); }

 private:
  struct Place {
    std::shared_ptr<io::Source> source;
    size_t source_number = 0;
    std::string path;                     // below the source
    std::vector<io::FileIdentity> hints;  // as published here
    // What was found here last: a ledger goes on when a file is closed and opened again, and a bad file stays
    // bad, until it looks different.
    io::FileIdentity seen;
    std::shared_ptr<ChunkLedger> ledger;  // of `seen`
    std::string bad;                      // why `seen` is not the archive; empty: nothing known against it

    std::string Name() const;
  };

  // Places in the order in which they are asked.
  std::vector<size_t> Order() const;
  // Opens and judges. kChanged: something else is there. `*plain`: the stat agrees with a hint.
  Result<OpenedArchive> OpenPlace(size_t index, bool* plain);

  const ArchiveId id_;
  const std::string& path_;
  SourceGuard* const guard_;
  std::vector<Place> places_;
  size_t found_last_ = 0;
  std::atomic<size_t> looking_in_{0};
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ARCHIVE_PLACES_H_

// Where an archive may be, and which of the files found there is it.
#ifndef TARN_DATASET_ARCHIVE_PLACES_H_
#define TARN_DATASET_ARCHIVE_PLACES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataset/chunk_check.h"
#include "dataset/verdict_store.h"
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
  size_t source = 0;     // number of the source it lies in
  bool is_copy = false;  // of the index root: its owner and mode are not the archive's
  // What was found where it was published; empty when it is there.
  std::string instead_of;
  // Null: the stat agrees with the hint. Otherwise chunks are checked once each and noted here.
  std::shared_ptr<ChunkLedger> ledger;
};

// What a place is to the archive.
enum class PlaceKind : uint8_t {
  kPublished,  // where the generations that are mounted have it
  kElsewhere,  // where it was published otherwise, or may be
  kCopy,       // a copy that the index root keeps: owner and mode are not the archive's
};

// The places of one archive. Not thread-safe, but for looking_in(). `path` is what `guard` is told; all must
// outlive this.
class ArchivePlaces {
 public:
  ArchivePlaces(const ArchiveId& id, const std::string& path, const io::FileAccess& published_access,
                SourceGuard* guard, VerdictStore* verdicts)
      : id_(id), path_(path), published_access_(published_access), guard_(guard), verdicts_(verdicts) {}

  // Adds a path, below each of `sources`, at `source_path`/`path` and at `path` alone; with the stat it had
  // when it was published, unless it is there with the same hint.
  void Add(const std::vector<std::shared_ptr<io::Source>>& sources, const std::string& source_path,
           const std::string& path, const io::FileIdentity& hint, PlaceKind kind);
  // Adds one file of one source, nothing of which is known.
  void AddFile(const std::shared_ptr<io::Source>& source, size_t source_number, const std::string& path,
               PlaceKind kind);
  size_t count() const { return places_.size(); }
  // Files opened and stats made since the last call.
  uint64_t TakeLooks() { return std::exchange(looks_, 0); }

  // Opens the first place whose stat agrees with its hint, else the first that may hold the archive; the one
  // that was good last is asked first, one in a source that the guard lets nobody into is passed by. Else the
  // error that tells most: kChanged (something else is there), that of a place that cannot be read,
  // kNotFound. The message says what was found where. kBusy: the guard let nobody in.
  Result<OpenedArchive> Open();

  // A chunk of it was bad: that place is not good for as long as it has that identity. `why` says so.
  void MarkBad(const OpenedArchive& opened, std::string why);
  // Whether a place was found to hold something else than the archive since the last call.
  bool TakeFoundChanged() { return std::exchange(found_changed_, false); }

  // Owner and mode of the file in the first place that has one. kBusy as for Open.
  Result<io::FileAccess> Access();

  // The source that the thread inside Open or Access is in, or was last: whoever waits for it waits there.
  size_t looking_in() const { return looking_in_.load(std::memory_order_relaxed); }

 private:
  struct Place {
    std::shared_ptr<io::Source> source;
    size_t source_number = 0;
    std::string path;  // below the source
    PlaceKind kind = PlaceKind::kPublished;
    std::vector<io::FileIdentity> hints;  // as published here
    // What was found here last: a ledger goes on when a file is closed and opened again, and a bad file stays
    // bad, until it looks different.
    io::FileIdentity seen;
    std::shared_ptr<ChunkLedger> ledger;  // of `seen`
    std::string bad;                      // why `seen` is not the archive; empty: nothing known against it
    io::FileIdentity other;               // what had another size when it was looked at last

    std::string Name() const;
  };

  // Places in the order in which they are asked.
  std::vector<size_t> Order() const;
  Place* FindOrAdd(const std::shared_ptr<io::Source>& source, size_t number, const std::string& path,
                   PlaceKind kind);
  // Opens and judges. kChanged: something else is there. `*plain`: the stat agrees with a hint.
  Result<OpenedArchive> OpenPlace(size_t index, bool* plain);

  const ArchiveId id_;
  const std::string& path_;
  const io::FileAccess published_access_;
  SourceGuard* const guard_;
  VerdictStore* const verdicts_;
  std::vector<Place> places_;
  size_t found_last_ = 0;
  bool found_changed_ = false;
  uint64_t looks_ = 0;
  std::atomic<size_t> looking_in_{0};
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ARCHIVE_PLACES_H_

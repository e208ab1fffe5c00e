// Fsck: reads everything in an index root and says what is not as a writer leaves it.
//
// Every block's checksum, every key and record, what rows say about each other, which file belongs to which
// archive, what a generation's manifest says about its bundles and its tree, LATEST, numbers, formats; and
// that kept files hold what their names say. It repairs nothing: bundles and generations are made again by a
// publish, and each problem says so.
//
// What a process that was killed may leave behind is no problem and is noted: staging, a LATEST that is
// behind.
#ifndef TARN_INDEX_FSCK_H_
#define TARN_INDEX_FSCK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/index_root.h"
#include "tarn/index/records.h"

namespace tarn::index {

struct FsckProblem {
  std::string path;      // the file or directory, as the root's path starts
  std::string key;       // of the row, in hexadecimal; empty when it is no row
  std::string what;      // what is wrong: "the member of a name is missing"
  std::string expected;  // may be empty
  std::string found;     // may be empty
  std::string help;      // what helps; may be empty

  // All of it on one line.
  std::string ToString() const;
};

struct FsckOptions {
  // Recomputes a dataset's digest from its manifest (dataset::DatasetDigest, which this layer cannot see).
  // Null: the digest is not compared.
  std::function<Digest(const std::vector<ManifestRow>& manifest, std::string_view view)> dataset_digest =
      nullptr;
  // The ArchiveId of the bytes of a file (layer digest, which this one cannot see): for kept files. Null:
  // names and sizes are checked alone. An error is a problem of that file; kCancelled ends the check.
  std::function<Result<ArchiveId>(const std::string& path)> archive_id = nullptr;
  std::string holds_directory = "";  // checked too; empty: not
  int64_t now_seconds = 0;           // for holds
  size_t problems_per_file = 10;     // told of each file; the rest is counted
};

struct FsckReport {
  uint64_t problems = 0;  // all, told or not
  uint64_t notes = 0;
  uint64_t bundles = 0;  // looked at
  uint64_t generations = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;  // of the tables that were read, each once
  uint64_t kept_files = 0;
  uint64_t kept_bytes = 0;  // of these, as their names say
};

class FsckListener {
 public:
  virtual ~FsckListener() = default;
  virtual void OnProblem(const FsckProblem& problem) = 0;
  // Something to know that is not wrong.
  virtual void OnNote(const std::string& note) = 0;
  // Before each file: for progress, and to stop (any error ends the check).
  virtual Status OnFile(const std::string& path) = 0;
};

// Not ok only when the check itself cannot go on (listing a directory fails, the listener stops it).
Result<FsckReport> CheckRoot(const IndexRoot& root, const FsckOptions& options, FsckListener* listener);

}  // namespace tarn::index

#endif  // TARN_INDEX_FSCK_H_

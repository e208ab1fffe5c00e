// Holds: who still needs a generation. `gc` and `retire` leave what is held alone and name the holder.
//
// A hold is one file in the holds directory (below the index root: holds/; or a directory of its own, which
// jobs may write that must not write the root). It is JSON, so that a script can make one:
//
//     {"dataset": "imagenet", "generation": 7, "job": "train-42",
//      "until": "2026-12-24T18:00:00Z", "created": "2026-11-30T18:25:19Z"}
//
// The file's name is <dataset>@<generation>--<job>.json, with bytes of the job other than letters, digits,
// '.',
// '_' and '-' written %XX: a job that holds again renews. Names that start with a dot are passed over. A hold
// ends at `until`, whether the file is there or not.
#ifndef TARN_INDEX_HOLDS_H_
#define TARN_INDEX_HOLDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"

namespace tarn::index {

struct Hold {
  std::string dataset;
  uint32_t generation = 0;
  std::string job;      // bytes; not empty
  int64_t until = 0;    // seconds since 1970-01-01 UTC; from then on nothing is held
  int64_t created = 0;  // the same

  bool operator==(const Hold&) const = default;
  // "imagenet@7 is held by job 'train-42' until 2026-12-24T18:00:00Z"
  std::string ToString() const;
};

// All functions may be called from any thread and by many processes: files are written and removed whole.
class Holds {
 public:
  // Where holds are unless somebody says otherwise.
  static std::string DefaultDirectory(std::string_view root);

  explicit Holds(std::string directory) : directory_(std::move(directory)) {}
  const std::string& directory() const { return directory_; }

  // All that end after `now_seconds`, by dataset, generation and job; none when the directory is not there.
  // kCorrupt, naming the file, when one cannot be understood: it may hold anything.
  Result<std::vector<Hold>> List(int64_t now_seconds) const;
  // Of those, the ones on one generation.
  Result<std::vector<Hold>> On(std::string_view dataset, uint32_t generation, int64_t now_seconds) const;

  // Makes or renews a hold (`created` of the first one stays); makes the directory where there is none.
  Status Put(Hold hold) const;
  // kNotFound when there is no such hold.
  Status Release(std::string_view dataset, uint32_t generation, std::string_view job) const;
  // Removes those that ended; gives them.
  Result<std::vector<Hold>> RemoveExpired(int64_t now_seconds) const;

 private:
  Result<std::string> PathOf(std::string_view dataset, uint32_t generation, std::string_view job) const;
  Result<std::vector<std::string>> Files() const;

  std::string directory_;
};

}  // namespace tarn::index

#endif  // TARN_INDEX_HOLDS_H_

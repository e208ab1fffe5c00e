// The file by which the limits of running reads are changed: `throttle` in the staging directory of whoever
// reads, a small JSON object. The reader writes it when it starts and looks at it about once a second;
// `tarn-index throttle` replaces it, on any machine that sees the index root.
//
//     {"dataset": "imagenet", "max_rate": 104857600, "max_iops": 0, "back_off": true}
#ifndef TARN_INDEXER_THROTTLE_FILE_H_
#define TARN_INDEXER_THROTTLE_FILE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "indexer/throttle.h"
#include "tarn/base/result.h"
#include "tarn/index/index_root.h"

namespace tarn::indexer {

struct ThrottleFile {
  std::string dataset;
  ReadLimits limits;
};

// `staging`: the reader's own directory.
Status WriteThrottleFile(const std::string& staging, const ThrottleFile& file);
// kNotFound: who works there reads nothing; kCorrupt: no such object.
Result<ThrottleFile> ReadThrottleFile(const std::string& staging);

// Follows the file: writes `limits` into it and gives what it says from then on. A file that is gone or
// cannot be understood changes nothing.
Result<Throttle::LimitSource> FollowThrottleFile(const std::string& staging, const std::string& dataset,
                                                 const ReadLimits& limits);

// Readers that are at work in the root now.
struct RunningReader {
  std::string staging;
  ThrottleFile file;
};
Result<std::vector<RunningReader>> FindRunningReaders(const index::IndexRoot& root,
                                                      const std::optional<std::string>& dataset);

// "12.0 MiB/s, 500 requests/s, backs off", "none".
std::string DescribeLimits(const ReadLimits& limits);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_THROTTLE_FILE_H_

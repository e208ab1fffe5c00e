// What a publish would do, found out without writing anything: no index root is made, no staging, no journal.
#ifndef TARN_INDEXER_DRY_RUN_H_
#define TARN_INDEXER_DRY_RUN_H_

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "indexer/keep_pass.h"
#include "indexer/publish.h"
#include "indexer/space.h"

namespace tarn::indexer {

// Files of one fate.
struct FileGroup {
  static constexpr size_t kListed = 1000;  // named; the others are counted

  uint64_t archives = 0;  // by name: the first block is not looked at
  uint64_t loose_files = 0;
  uint64_t bytes = 0;
  std::vector<std::string> paths;  // the first ones
};

struct DryRunReport {
  std::string dataset;
  std::string index;  // as given
  bool index_exists = false;
  std::string source_path;
  uint32_t newest = 0;  // generation; 0: there is none

  // Against the newest generation.
  FileGroup fresh;      // its path is new
  FileGroup changed;    // it looks otherwise; with --identity=full: what has to be read to know
  FileGroup unchanged;  // by its hints
  FileGroup gone;       // nothing is at its path any more

  KeepForecast kept;
  SpaceNeed need;  // files and bytes to read too; what an interrupted publish has indexed is not read
  uint64_t free_bytes = 0;
  Status refusal;  // not ok: why a publish would be refused before it reads

  uint64_t bytes_per_second = 0;  // at which the time is estimated
  bool rate_is_measured = false;  // on the largest file, for at most a second; else assumed
  double seconds = 0;             // reading takes about this long

  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;
};

// Reads nothing but listings, the newest generation, journals, and for at most a second the largest file that
// would be read, to measure how fast that goes. Fails as a publish would before its first write.
Result<DryRunReport> DryRun(const PublishOptions& options, Progress* progress);

void PrintDryRun(const DryRunReport& report, std::ostream& out);
void PrintDryRunJson(const DryRunReport& report, std::ostream& out);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_DRY_RUN_H_

// Migrate: raises the format of an index root, one step at a time.
//
// A newer Tarn writes the format it finds; only this raises it. Steps are a table: each leads from one
// version to the next, leaves a root that is whole for both until the format file says the new number, and
// may be run again after it died half way.
#ifndef TARN_INDEX_MIGRATE_H_
#define TARN_INDEX_MIGRATE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/base/version.h"
#include "tarn/index/index_root.h"

namespace tarn::index {

struct MigrationStep {
  uint32_t from = 0;      // to from + 1
  std::string summary;    // one line: what it changes
  uint64_t features = 0;  // incompatible features that the root has from then on, beside those it had
  std::function<Status(const std::string& root)> run;  // from any thread; again after a crash
};

// The steps this build knows, rising. Format 1 is the first and so far the only one: there is none.
std::span<const MigrationStep> KnownMigrations();

struct MigrationReport {
  uint32_t from = 0;
  uint32_t to = 0;
  std::vector<std::string> steps;  // that were taken, or would be
};

// Takes the root from its format to `target`. kBusy while somebody publishes; kInternal when the table has no
// way there; after an error the root has the format of the last step that was finished. Readers that do not
// know the new format refuse the root from then on; `dry_run` only says what would be done.
Result<MigrationReport> Migrate(const IndexRoot& root, std::span<const MigrationStep> steps, uint32_t target,
                                bool dry_run);

}  // namespace tarn::index

#endif  // TARN_INDEX_MIGRATE_H_

// The own rows of a generation are ingested last, so their table has the highest number; tables that cannot
// be read are passed over on the way to it.
#include "tarn/index/salvage.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "index/key.h"
#include "index/sst.h"
#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

constexpr std::string_view kTableSuffix = ".sst";

Result<std::vector<std::string>> Tables(const std::string& directory) {
  TARN_ASSIGN_OR_RETURN(std::vector<std::string> names, io::ListDirectory(directory));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(kTableSuffix); });
  return names;
}

// The rows, if `path` is the table of them.
std::optional<SalvagedRows> ReadOwnRows(const std::string& path) {
  const auto scan = SstScan::Open(path);
  if (!scan.ok()) return std::nullopt;
  Result<bool> more = (*scan)->Next();
  SalvagedRows rows;
  if (!more.ok() || !*more || (*scan)->key() != Key(ArchiveId{}, RowKind::kGenerationFacts) ||
      !Decode((*scan)->value(), &rows.facts).ok()) {
    return std::nullopt;
  }
  const std::string prefix = Key(ArchiveId{}, RowKind::kManifest);
  ManifestRow row;
  for (more = (*scan)->Next(); more.ok() && *more; more = (*scan)->Next()) {
    if (!(*scan)->key().starts_with(prefix)) continue;
    if (!Decode((*scan)->value(), &row).ok()) break;
    rows.manifest.push_back(row);
  }
  const uint64_t expected = uint64_t{rows.facts.archives} + rows.facts.loose_files + rows.facts.quarantined;
  rows.complete = rows.manifest.size() == expected;
  return rows;
}

}  // namespace

Result<SalvagedRows> SalvageOwnRows(const std::string& directory) {
  TARN_ASSIGN_OR_RETURN(std::vector<std::string> names, Tables(directory));
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (std::optional<SalvagedRows> rows = ReadOwnRows(io::JoinPath(directory, *name)))
      return *std::move(rows);
  }
  return Status(ErrorCode::kCorrupt, fmt::format("generation '{}' has no rows of its own left", directory));
}

Status VerifyTables(const std::string& directory) {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, Tables(directory));
  for (const std::string& name : names) {
    TARN_ASSIGN_OR_RETURN(const std::unique_ptr<SstScan> scan, SstScan::Open(io::JoinPath(directory, name)));
    TARN_RETURN_IF_ERROR(scan->VerifyChecksums());
  }
  return Status::Ok();
}

}  // namespace tarn::index

#include "tarn/index/migrate.h"

#include <fmt/format.h>

#include <algorithm>

#include "index/format_file.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

Status CheckNobodyPublishes(const IndexRoot& root) {
  TARN_ASSIGN_OR_RETURN(const std::vector<IndexRoot::StagingWork> works, root.ListStaging());
  const auto alive = std::find_if(works.begin(), works.end(), [](const auto& work) { return work.alive; });
  if (alive == works.end()) return Status::Ok();
  return Status(ErrorCode::kBusy,
                fmt::format("somebody is writing to index root '{}': '{}' has a living owner", root.path(),
                            alive->path))
      .WithHint("wait for publishes to end and start no new ones, then try again");
}

}  // namespace

std::span<const MigrationStep> KnownMigrations() {
  return {};
}

Result<MigrationReport> Migrate(const IndexRoot& root, std::span<const MigrationStep> steps, uint32_t target,
                                bool dry_run) {
  MigrationReport report{.from = root.format_version(), .to = root.format_version(), .steps = {}};
  const std::string format_path = io::JoinPath(root.path(), "format");
  TARN_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(format_path));
  TARN_ASSIGN_OR_RETURN(FormatFile format, ParseFormatFile(text, root.path()));
  while (report.to < target) {
    const auto step =
        std::find_if(steps.begin(), steps.end(), [&](const auto& known) { return known.from == report.to; });
    if (step == steps.end()) {
      return Status(ErrorCode::kInternal,
                    fmt::format("no step leads from format {} to {}", report.to, target));
    }
    if (!dry_run) {
      TARN_RETURN_IF_ERROR(CheckNobodyPublishes(root));
      TARN_RETURN_IF_ERROR(
          step->run(root.path()).WithContext(fmt::format("raising the format to {}", report.to + 1)));
      format.version = report.to + 1;
      format.features |= step->features;
      TARN_RETURN_IF_ERROR(io::WriteFileAtomically(format_path, RenderFormatFile(format)));
    }
    report.steps.push_back(step->summary);
    ++report.to;
  }
  return report;
}

}  // namespace tarn::index

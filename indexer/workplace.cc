#include "indexer/workplace.h"

#include <fmt/format.h>

#include <utility>

#include "tarn/io/filesystem.h"

namespace tarn::indexer {

Result<Workplace> Workplace::Open(std::unique_ptr<index::IndexRoot> root, const Places& places,
                                  const std::string& purpose) {
  Workplace workplace;
  workplace.root_ = std::move(root);
  TARN_ASSIGN_OR_RETURN(workplace.source_, io::OpenSource(places.base));
  TARN_RETURN_IF_ERROR(workplace.root_->CleanStaging());
  TARN_ASSIGN_OR_RETURN(std::string staging, workplace.root_->MakeStagingDirectory(purpose));
  workplace.staging_ = std::make_unique<OwnStaging>(std::move(staging));
  TARN_ASSIGN_OR_RETURN(const ServerClock clock, ServerClock::Ask(workplace.staging()));
  workplace.clock_ = std::make_unique<ServerClock>(clock);
  return workplace;
}

Status Workplace::OpenJournal(const std::string& directory) {
  TARN_ASSIGN_OR_RETURN(journal_, Journal::Open(directory, std::string(io::BaseName(staging()))));
  return Status::Ok();
}

Result<Places> PlacesOfPlan(const Plan& plan, const std::optional<std::string>& relative_to,
                            const std::string& index) {
  const std::string base = relative_to.value_or(plan.base);
  Result<Places> places = ResolvePlaces(io::JoinPath(base, plan.source_path), base, index);
  if (!places.ok()) {
    Status status = std::move(places).status();
    if (status.code() != ErrorCode::kNotFound) return status;
    return std::move(status).WithHint(
        fmt::format("check that its volume is mounted; where this machine has '{}' under another path, give "
                    "--relative-to that path",
                    plan.base));
  }
  if (places->source_path == plan.source_path) return places;
  // A symbolic link on the way leads to another directory than it did for the planner.
  return Status(
             ErrorCode::kInvalidArgument,
             fmt::format("the plan is of '{}' below its base, and '{}' is '{}' below '{}'", plan.source_path,
                         io::JoinPath(base, plan.source_path), places->source_path, places->base))
      .WithHint("give --relative-to the directory that the plan was made relative to");
}

std::string WorkerCommand(const std::string& dataset, const std::string& index, const std::string& plan,
                          const std::string& share, uint32_t shares) {
  return fmt::format("tarn-index worker --name {} --index {} --plan {} --share {}/{}", dataset, index, plan,
                     share, shares);
}

std::string CommitCommand(const std::string& dataset, const std::string& index, const std::string& plan) {
  return fmt::format("tarn-index commit --name {} --index {} --plan {}", dataset, index, plan);
}

}  // namespace tarn::indexer

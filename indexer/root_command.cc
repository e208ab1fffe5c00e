#include "indexer/root_command.h"

#include <fmt/format.h>

#include "indexer/report.h"
#include "tarn/base/config.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {

Result<std::unique_ptr<index::IndexRoot>> RootCommand::OpenRoot() const {
  TARN_ASSIGN_OR_RETURN(const Setting setting, Config(*program).Index(index));
  auto root = index::IndexRoot::Open(setting.value);
  if (!root.ok()) return setting.Explain(root.status());
  return root;
}

Result<index::Holds> RootCommand::OpenHolds(const index::IndexRoot& root) const {
  if (!holds) return index::Holds(index::Holds::DefaultDirectory(root.path()));
  if (!io::IsDirectory(*holds)) {
    return Status(ErrorCode::kNotFound, fmt::format("holds directory '{}' does not exist", *holds))
        .WithHint("check --holds, and that its volume is mounted: without it nobody knows what is held");
  }
  return index::Holds(*holds);
}

int RootCommand::Fail(const Status& status) const {
  if (json) PrintErrorJson(status, *program->out);
  return program->Fail(name, status);
}

void AddIndexOption(CLI::App* app, RootCommand* command) {
  app->add_option("--index", command->index, "index root; default: TARN_INDEX, then the configuration file")
      ->type_name("ROOT");
}

void AddHoldsOption(CLI::App* app, RootCommand* command) {
  app->add_option("--holds", command->holds, "directory of holds; default: holds/ below the index root")
      ->type_name("DIR");
}

void AddJsonOption(CLI::App* app, RootCommand* command) {
  app->add_flag("--json", command->json, "print the report as one JSON object");
}

Result<NamedGeneration> ResolveInFull(const index::IndexRoot& root, std::string_view text) {
  TARN_ASSIGN_OR_RETURN(const index::DatasetReference reference, index::DatasetReference::Parse(text));
  if (!reference.generation && !reference.digest) {
    return Status(ErrorCode::kInvalidArgument, fmt::format("'{}' names no generation", text))
        .WithHint(fmt::format("write '{}@N'; 'tarn datasets --index {}' lists them", text, root.path()));
  }
  TARN_ASSIGN_OR_RETURN(const uint32_t generation, root.Resolve(reference));
  return NamedGeneration{reference.name, generation};
}

}  // namespace tarn::indexer

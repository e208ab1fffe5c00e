// tarn-index quota: the most that a dataset may take of an index root.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "indexer/commands.h"
#include "indexer/root_command.h"
#include "tarn/base/bytes.h"
#include "tarn/index/usage.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "Counts the dataset's generations, retired ones included, and the bundles they name, also those that "
    "other "
    "datasets share; 'tarn-index du NAME' shows them. A publish that would pass the limit is refused and "
    "leaves "
    "everything published whole.\n"
    "Exit codes: 0 done; 2 usage; 3 input, output or the machine.";

// Nothing: "none".
Result<std::optional<uint64_t>> ParseLimit(std::string text) {
  if (text == "none") return std::optional<uint64_t>();
  uint64_t bytes = 0;
  try {
    const std::string number = text;
    if (CLI::AsSizeValue(false)(text).empty() && CLI::detail::lexical_cast(text, bytes)) {
      return std::optional<uint64_t>(bytes);
    }
    text = number;
  } catch (const CLI::ValidationError&) {
    // How it says that a unit is none; said below in our words.
  }
  return Status(ErrorCode::kInvalidArgument, fmt::format("--bytes: '{}' is no number of bytes", text))
      .WithHint("write 500M, 2G, a plain number, or none");
}

int Run(const RootCommand& command, const std::string& dataset, const std::optional<std::string>& limit) {
  const auto root = command.OpenRoot();
  if (!root.ok()) return command.Fail(root.status());
  if (limit) {
    const auto bytes = ParseLimit(*limit);
    if (!bytes.ok()) return command.Fail(bytes.status());
    if (const Status set = index::SetQuota(root->get(), dataset, *bytes); !set.ok()) return command.Fail(set);
  }
  if (const auto known = (*root)->AllGenerations(dataset); !known.ok()) return command.Fail(known.status());
  const auto quota = index::ReadQuota(**root, dataset);
  if (!quota.ok()) return command.Fail(quota.status());
  const auto taken = index::DatasetBytes(**root, dataset);
  if (!taken.ok()) return command.Fail(taken.status());
  if (command.json) {
    nlohmann::ordered_json json = {{"dataset", dataset}, {"quota_bytes", nullptr}, {"bytes", *taken}};
    if (*quota) json["quota_bytes"] = **quota;
    *command.program->out << json.dump(2) << '\n';
  } else {
    *command.program->out << fmt::format("{}: quota {}, takes {}\n", dataset,
                                         *quota ? HumanBytes(**quota) : "none", HumanBytes(*taken));
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace

int RunQuota(const Program& program) {
  RootCommand command{.program = &program, .name = "tarn-index quota"};
  std::string dataset;
  std::optional<std::string> limit;
  const auto app =
      cli::MakeCommandLine(command.name, "Show or set the most that a dataset may take of an index.");
  app->footer(kFooter);
  app->add_option("NAME", dataset, "the dataset; one that is not there yet is made by --bytes")->required();
  AddIndexOption(app.get(), &command);
  app->add_option("--bytes", limit, "the limit: 500M, 2G, a plain number; none lifts it")
      ->type_name("N|none");
  AddJsonOption(app.get(), &command);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;
  return Run(command, dataset, limit);
}

}  // namespace tarn::indexer

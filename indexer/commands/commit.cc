// tarn-index commit: publishes what the workers of a plan read.
#include <algorithm>
#include <thread>

#include "indexer/commands.h"
#include "indexer/plan_commit.h"
#include "indexer/publish_command.h"
#include "indexer/stop_signal.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "Run again, it says the same and publishes nothing.\n"
    "Exit codes: 0 published, or nothing changed; 1 shares are missing or files changed since they were "
    "read, "
    "so nothing was published: each is named, with what to run; or something was left out or quarantined; 2 "
    "usage; 3 input, output or the machine; 130 and 143 stopped by SIGINT and SIGTERM.";

}  // namespace

int RunCommit(const Program& program) {
  PublishCommand command{.program = &program, .name = "tarn-index commit", .publish = {}};
  command.publish.jobs = std::max(1U, std::thread::hardware_concurrency());
  CommitOptions options;
  const auto app = cli::MakeCommandLine(
      command.name, "Publish what the workers of a plan read, as a new generation of the dataset.");
  app->footer(kFooter);
  AddPlaceOptions(app.get(), &command);
  app->add_option("--plan", options.plan, "id of the plan; default: the dataset's current one")
      ->type_name("ID");
  AddBaseOption(app.get(), &command);
  AddDamageOption(app.get(), &command);
  AddKeepOptions(app.get(), &command);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  const Result<Setting> index = command.Index();
  if (!index.ok()) return command.Fail(index.status());
  command.publish.index = index->value;
  options.publish = command.publish;

  const StopSignal stop;
  Result<PublishReport> report = [&] {
    Progress progress(program.err, command.Style());
    return CommitPlan(options, &progress);
  }();
  if (!report.ok()) return command.Fail(command.Explain(*index, std::move(report).status()));
  return command.Finish(*report);
}

}  // namespace tarn::indexer

// tarn-index publish: the command line of a publish.
#include "indexer/publish.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "indexer/commands.h"
#include "indexer/dry_run.h"
#include "indexer/publish_command.h"
#include "indexer/stop_signal.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "Patterns: one without '/' is held against a file's name, one with '/' against its path below DIR; '*' "
    "stops "
    "at '/', '**' does not.\n"
    "Exit codes: 0 published, or nothing changed; 1 something was left out or quarantined, each is named; 2 "
    "usage; "
    "3 input, output or the machine; 130 and 143 stopped by SIGINT and SIGTERM.\n"
    "A publish that was stopped or killed leaves what was published before; run again, it reads no complete "
    "archive twice.";

int RunDryRun(const PublishCommand& command, const Setting& index) {
  Result<DryRunReport> report = [&] {
    Progress progress(command.program->err, command.Style());
    return DryRun(command.publish, &progress);
  }();
  if (!report.ok()) return command.Fail(command.Explain(index, std::move(report).status()));
  if (command.json) {
    PrintDryRunJson(*report, *command.program->out);
  } else {
    PrintDryRun(*report, *command.program->out);
  }
  const bool complete = report->refusal.ok() && report->left_out.empty();
  return static_cast<int>(complete ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace

int RunPublish(const Program& program) {
  PublishCommand command{.program = &program, .name = "tarn-index publish", .publish = {}};
  command.publish.jobs = std::max(1U, std::thread::hardware_concurrency());
  const auto app = cli::MakeCommandLine(command.name,
                                        "Index a directory of tar archives, and publish it as a new "
                                        "generation of a dataset.");
  app->footer(kFooter);
  AddSelectionOptions(app.get(), &command);
  AddPlaceOptions(app.get(), &command);
  AddReadingOptions(app.get(), &command);
  AddIdentityOption(app.get(), &command);
  AddDamageOption(app.get(), &command);
  AddKeepOptions(app.get(), &command);
  bool dry_run = false;
  app->add_flag("--dry-run", dry_run,
                "say what is new, changed and gone, and what a publish would take; write nothing");
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  const Result<Setting> index = command.Index();
  if (!index.ok()) return command.Fail(index.status());
  command.publish.index = index->value;

  const StopSignal stop;
  if (dry_run) return RunDryRun(command, *index);
  Result<PublishReport> report = [&] {
    Progress progress(program.err, command.Style());
    return Publish(command.publish, &progress);
  }();
  if (!report.ok()) return command.Fail(command.Explain(*index, std::move(report).status()));
  return command.Finish(*report);
}

}  // namespace tarn::indexer

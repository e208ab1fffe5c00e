// tarn-index worker: reads one share of a plan.
#include "indexer/worker.h"

#include <algorithm>
#include <thread>

#include "indexer/commands.h"
#include "indexer/publish_command.h"
#include "indexer/stop_signal.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "Which share: --share; else JOB_COMPLETION_INDEX (Kubernetes, from 0); else SLURM_ARRAY_TASK_ID (the "
    "first task of a whole array takes share 1; with fewer tasks than shares the task's number is the "
    "share); "
    "else SLURM_PROCID.\n"
    "Exit codes: 0 the share is done, also when files were left out: each is named, and 'commit' says it "
    "again; 2 usage; 3 input, output or the machine; 130 and 143 stopped by SIGINT and SIGTERM.\n"
    "A worker that was stopped or killed is simply run again: it reads no complete archive twice.";

}  // namespace

int RunWorker(const Program& program) {
  PublishCommand command{.program = &program, .name = "tarn-index worker", .publish = {}};
  command.publish.jobs = std::max(1U, std::thread::hardware_concurrency());
  WorkerOptions options;
  const auto app = cli::MakeCommandLine(command.name, "Read one share of what 'tarn-index plan' planned.");
  app->footer(kFooter);
  AddPlaceOptions(app.get(), &command);
  app->add_option("--plan", options.plan, "id of the plan; default: the dataset's current one")
      ->type_name("ID");
  app->add_option("--share", options.share, "share I of the plan's N, from 1; default: what the engine says")
      ->type_name("I/N");
  AddBaseOption(app.get(), &command);
  AddReadingOptions(app.get(), &command);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  const Result<Setting> index = command.Index();
  if (!index.ok()) return command.Fail(index.status());
  command.publish.index = index->value;
  options.publish = command.publish;
  options.environment = [&program](const std::string& name) { return program.Environment(name); };

  const StopSignal stop;
  Result<WorkerReport> report = [&] {
    Progress progress(program.err, command.Style());
    return RunShare(options, &progress);
  }();
  if (!report.ok()) return command.Fail(command.Explain(*index, std::move(report).status()));
  command.json ? PrintWorkerJson(*report, *program.out) : PrintWorker(*report, *program.out);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::indexer

// tarn-index plan: cuts a publish into shares for many machines.
#include "indexer/plan.h"
#include "indexer/commands.h"
#include "indexer/planner.h"
#include "indexer/publish_command.h"
#include "indexer/stop_signal.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "The plan lies in the index root, below staging. Each share is then read by 'tarn-index worker', on any "
    "machine that sees the dataset and the index root; 'tarn-index commit' publishes. A new plan of a "
    "dataset "
    "takes the place of the one before; what was read for that one is not read again.\n"
    "Exit codes: 0 planned; 1 something could not be looked at, each is named; 2 usage; 3 input, output or "
    "the machine; 130 and 143 stopped by SIGINT and SIGTERM.";

}  // namespace

int RunPlan(const Program& program) {
  PublishCommand command{.program = &program, .name = "tarn-index plan", .publish = {}};
  PlanOptions options;
  const auto app =
      cli::MakeCommandLine(command.name,
                           "Look at a directory of tar archives, and share the work of indexing it "
                           "among many machines.");
  app->footer(kFooter);
  AddSelectionOptions(app.get(), &command);
  AddPlaceOptions(app.get(), &command);
  AddIdentityOption(app.get(), &command);
  CLI::Option* const shares =
      app->add_option("--shares", options.shares,
                      "number of shares, each for one worker; default: by --share-size")
          ->check(CLI::Range(1U, kMaxShares))
          ->type_name("N");
  app->add_option("--share-size", options.share_bytes, "about as many bytes in each share")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 60))
      ->type_name("BYTES")
      ->default_str("64G")
      ->excludes(shares);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  const Result<Setting> index = command.Index();
  if (!index.ok()) return command.Fail(index.status());
  command.publish.index = index->value;
  options.publish = command.publish;

  const StopSignal stop;
  Result<PlanReport> report = [&] {
    Progress progress(program.err, command.Style());
    return MakePlan(options, &progress);
  }();
  if (!report.ok()) return command.Fail(command.Explain(*index, std::move(report).status()));
  command.json ? PrintPlanJson(*report, *program.out) : PrintPlan(*report, *program.out);
  return static_cast<int>(report->left_out.empty() ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace tarn::indexer

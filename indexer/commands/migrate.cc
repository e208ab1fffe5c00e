// tarn-index migrate: raises the format of an index root.
#include "tarn/index/migrate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "indexer/commands.h"
#include "indexer/root_command.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "A newer Tarn goes on writing the format it finds; only this raises it. Afterwards an older Tarn refuses "
    "the "
    "root and says why: upgrade all readers first. Nobody may publish meanwhile.\n"
    "Exit codes: 0 done, or nothing to do; 2 usage; 3 input, output or the machine.";

}  // namespace

int RunMigrate(const Program& program) {
  RootCommand command{.program = &program, .name = "tarn-index migrate"};
  bool dry_run = false;
  const auto app = cli::MakeCommandLine(command.name, "Raise an index root to the newest format.");
  app->footer(kFooter);
  AddIndexOption(app.get(), &command);
  app->add_flag("--dry-run", dry_run, "name the steps, change nothing");
  AddJsonOption(app.get(), &command);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  const auto root = command.OpenRoot();
  if (!root.ok()) return command.Fail(root.status());
  const auto report = index::Migrate(**root, index::KnownMigrations(), kIndexFormatVersion, dry_run);
  if (!report.ok()) return command.Fail(report.status());
  if (command.json) {
    const nlohmann::ordered_json json = {
        {"dry_run", dry_run}, {"from", report->from}, {"to", report->to}, {"steps", report->steps}};
    *program.out << json.dump(2) << '\n';
  } else if (report->steps.empty()) {
    *program.out << fmt::format("index root '{}' has format {}, the newest: nothing to do\n", (*root)->path(),
                                report->from);
  } else {
    for (const std::string& step : report->steps) *program.out << "  " << step << '\n';
    *program.out << fmt::format("{} format {} to {}\n", dry_run ? "would go from" : "went from", report->from,
                                report->to);
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::indexer

// tarn-index retire: a generation leaves the listings, and comes back with --undo.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "indexer/commands.h"
#include "indexer/root_command.h"
#include "tarn/base/timestamp.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "A retired generation is no longer listed and never the newest. 'NAME@N' still means it, and whoever has "
    "it "
    "open reads on, until 'tarn-index gc' takes it after its grace.\n"
    "Exit codes: 0 done; 1 refused: it is held, or the only one (--force retires that too); 2 usage; 3 "
    "input, "
    "output or the machine.";

struct CommandLine {
  RootCommand root;
  std::string generation;
  bool force = false;
  bool undo = false;
};

// Why it must not be retired; ok when it may.
Status CheckMayGo(const CommandLine& line, const index::IndexRoot& root, const NamedGeneration& named) {
  TARN_ASSIGN_OR_RETURN(const index::Holds holds, line.root.OpenHolds(root));
  TARN_ASSIGN_OR_RETURN(const auto held, holds.On(named.dataset, named.generation, SecondsNow()));
  if (!held.empty()) {
    std::string message = held.front().ToString();
    if (held.size() > 1) message += fmt::format(", and {} more", held.size() - 1);
    return Status(ErrorCode::kBusy, std::move(message))
        .WithHint("wait for the job or for the hold's end, or remove the hold's file");
  }
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> listed, root.Generations(named.dataset));
  if (!line.force && listed.size() == 1 && listed.front() == named.generation) {
    return Status(ErrorCode::kBusy, fmt::format("{}@{} is the only generation of the dataset that is listed",
                                                named.dataset, named.generation))
        .WithHint("publish another one first, or add --force: mounts that ask for the newest will find none");
  }
  return Status::Ok();
}

int Run(const CommandLine& line) {
  const auto root = line.root.OpenRoot();
  if (!root.ok()) return line.root.Fail(root.status());
  const auto named = ResolveInFull(**root, line.generation);
  if (!named.ok()) return line.root.Fail(named.status());
  Status done;
  if (line.undo) {
    done = (*root)->RestoreGeneration(named->dataset, named->generation);
  } else {
    if (const Status may = CheckMayGo(line, **root, *named); !may.ok()) {
      const int code = line.root.Fail(may);
      return may.code() == ErrorCode::kBusy ? static_cast<int>(ExitCode::kCheckFailed) : code;
    }
    done = (*root)->RetireGeneration(named->dataset, named->generation, SecondsNow());
  }
  if (!done.ok()) return line.root.Fail(done);

  const Result<uint32_t> latest = (*root)->Latest(named->dataset);
  if (line.root.json) {
    nlohmann::ordered_json report = {{"dataset", named->dataset},
                                     {"generation", named->generation},
                                     {"retired", !line.undo},
                                     {"latest", nullptr}};
    if (latest.ok()) report["latest"] = *latest;
    *line.root.program->out << report.dump(2) << '\n';
  } else {
    *line.root.program->out << fmt::format(
        "{} {}@{}; the newest listed is {}\n", line.undo ? "listed again:" : "retired", named->dataset,
        named->generation, latest.ok() ? fmt::format("{}@{}", named->dataset, *latest) : "none");
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace

int RunRetire(const Program& program) {
  CommandLine line;
  line.root = {.program = &program, .name = "tarn-index retire"};
  const auto app = cli::MakeCommandLine(line.root.name, "Take a generation out of the listings.");
  app->footer(kFooter);
  app->add_option("NAME@N", line.generation, "the generation")->required();
  AddIndexOption(app.get(), &line.root);
  AddHoldsOption(app.get(), &line.root);
  app->add_flag("--force", line.force, "also the only generation that is listed");
  app->add_flag("--undo", line.undo, "list it again");
  AddJsonOption(app.get(), &line.root);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;
  return Run(line);
}

}  // namespace tarn::indexer

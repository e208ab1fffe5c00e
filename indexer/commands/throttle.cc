// tarn-index throttle: shows and changes how fast running publishes and workers read.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "indexer/commands.h"
#include "indexer/root_command.h"
#include "indexer/throttle_file.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "Without a limit it shows what holds now. Those who read look about once a second; a limit that is not "
    "named stays as it is. A publish that starts later has the limits of its own command line.\n"
    "Exit codes: 0 done; 1 nobody reads; 2 usage; 3 input, output or the machine.";

struct Change {
  std::optional<std::string> max_rate;
  std::optional<std::string> max_iops;
  std::optional<bool> back_off;
  bool any() const { return max_rate || max_iops || back_off; }
};

const std::map<std::string, bool> kOnOff = {{"on", true}, {"off", false}};

// "none" is 0.
Result<uint64_t> ParseLimit(std::string_view option, const std::string& given) {
  std::string text = given;
  uint64_t number = 0;
  if (text == "none") return uint64_t{0};
  try {
    if (CLI::AsSizeValue(false)(text).empty() && CLI::detail::lexical_cast(text, number)) return number;
  } catch (const CLI::ValidationError&) {
    // How it says that a unit is none; said below in our words.
  }
  return Status(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is no number", option, given))
      .WithHint("write 100M, a plain number, or none");
}

Status Apply(const Change& change, ReadLimits* limits) {
  if (change.max_rate) {
    TARN_ASSIGN_OR_RETURN(limits->bytes_per_second, ParseLimit("--max-rate", *change.max_rate));
  }
  if (change.max_iops) {
    TARN_ASSIGN_OR_RETURN(limits->requests_per_second, ParseLimit("--max-iops", *change.max_iops));
  }
  if (change.back_off) limits->back_off = *change.back_off;
  return Status::Ok();
}

// Changes all of them and says what holds.
Status ApplyToAll(const Change& change, std::vector<RunningReader>* readers) {
  for (RunningReader& reader : *readers) {
    TARN_RETURN_IF_ERROR(Apply(change, &reader.file.limits));
    if (!change.any() || !io::IsDirectory(reader.staging)) continue;  // done meanwhile
    TARN_RETURN_IF_ERROR(WriteThrottleFile(reader.staging, reader.file));
  }
  return Status::Ok();
}

void Print(const RootCommand& command, const std::vector<RunningReader>& readers) {
  if (!command.json) {
    for (const RunningReader& reader : readers) {
      *command.program->out << fmt::format("{} ({}): {}\n", reader.file.dataset, io::BaseName(reader.staging),
                                           DescribeLimits(reader.file.limits));
    }
    return;
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RunningReader& reader : readers) {
    list.push_back({{"dataset", reader.file.dataset},
                    {"staging", io::BaseName(reader.staging)},
                    {"max_rate", reader.file.limits.bytes_per_second},
                    {"max_iops", reader.file.limits.requests_per_second},
                    {"back_off", reader.file.limits.back_off}});
  }
  *command.program->out << nlohmann::ordered_json{{"running", list}}.dump(2) << '\n';
}

int Run(const RootCommand& command, const std::optional<std::string>& dataset, const Change& change) {
  ReadLimits checked;
  if (const Status status = Apply(change, &checked); !status.ok()) return command.Fail(status);
  const auto root = command.OpenRoot();
  if (!root.ok()) return command.Fail(root.status());
  auto readers = FindRunningReaders(**root, dataset);
  if (!readers.ok()) return command.Fail(readers.status());
  if (const Status changed = ApplyToAll(change, &*readers); !changed.ok()) return command.Fail(changed);
  Print(command, *readers);
  if (!readers->empty()) return static_cast<int>(ExitCode::kOk);
  *command.program->err << fmt::format("{}: nobody reads{} in index root '{}' now\n", command.name,
                                       dataset ? fmt::format(" for dataset '{}'", *dataset) : "",
                                       (*root)->path());
  return static_cast<int>(ExitCode::kCheckFailed);
}

}  // namespace

int RunThrottle(const Program& program) {
  RootCommand command{.program = &program, .name = "tarn-index throttle"};
  std::optional<std::string> dataset;
  Change change;
  const auto app = cli::MakeCommandLine(command.name, "Show or change how fast running publishes read.");
  app->footer(kFooter);
  app->add_option("NAME", dataset, "the dataset; default: all that are being read");
  AddIndexOption(app.get(), &command);
  app->add_option("--max-rate", change.max_rate, "bytes a second: 100M, a plain number; none lifts it")
      ->type_name("BYTES|none");
  app->add_option("--max-iops", change.max_iops, "read requests a second; none lifts it")
      ->type_name("N|none");
  app->add_option("--back-off", change.back_off, "whether to slow down while the source answers slowly")
      ->transform(CLI::CheckedTransformer(kOnOff))
      ->type_name("on|off");
  AddJsonOption(app.get(), &command);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;
  return Run(command, dataset, change);
}

}  // namespace tarn::indexer

// tarn-index fsck: reads everything in an index root and says what is wrong.
#include "tarn/index/fsck.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "indexer/commands.h"
#include "indexer/root_command.h"
#include "indexer/stop_signal.h"
#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/dataset/generation_builder.h"
#include "tarn/digest/archive_digester.h"
#include "tarn/io/forward_reader.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "Reads every block of every table, and every kept file: it costs as much as copying the root. Repairs "
    "nothing; each problem "
    "says "
    "what helps. What a killed process may leave behind is noted and is no problem.\n"
    "Exit codes: 0 all is well; 1 something is wrong, each is named; 2 usage; 3 input, output or the "
    "machine.";

std::string DescribeKept(const index::FsckReport& report) {
  if (report.kept_files == 0) return "";
  return fmt::format(", {} kept files ({})", report.kept_files, HumanBytes(report.kept_bytes));
}

// What the bytes of a file say it is.
Result<ArchiveId> ReadArchiveId(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const auto file, io::OpenFile(path));
  TARN_ASSIGN_OR_RETURN(const io::FileStat stat, file->Stat());
  digest::ArchiveDigester digester;
  io::StreamReader reader(file.get(), stat.identity.size,
                          {.before_read = [](size_t) { return StopSignal::Check(); }},
                          [&digester](std::span<const std::byte> bytes) { digester.Update(bytes); });
  TARN_RETURN_IF_ERROR(reader.Finish());
  return digester.Finish().id;
}

class Printer final : public index::FsckListener {
 public:
  explicit Printer(const RootCommand& command) : command_(command) {}

  void OnProblem(const index::FsckProblem& problem) override {
    if (!command_.json) {
      *command_.program->out << "problem: " << problem.ToString() << '\n';
      if (!problem.help.empty() && problem.help != last_help_) {
        *command_.program->out << "  help: " << problem.help << '\n';
      }
      last_help_ = problem.help;
      return;
    }
    problems_.push_back({{"path", EscapeName(problem.path)},
                         {"key", problem.key},
                         {"what", problem.what},
                         {"expected", EscapeName(problem.expected)},
                         {"found", EscapeName(problem.found)},
                         {"help", problem.help}});
  }
  void OnNote(const std::string& note) override {
    if (!command_.json) {
      *command_.program->out << "note: " << note << '\n';
      return;
    }
    notes_.push_back(EscapeName(note));
  }
  Status OnFile(const std::string&) override { return StopSignal::Check(); }

  void Finish(const index::FsckReport& report) {
    std::ostream& out = *command_.program->out;
    if (!command_.json) {
      out << fmt::format("{}: {} bundles, {} generations, {} rows, {}{}; {} problems, {} notes\n",
                         report.problems == 0 ? "clean" : "NOT clean", report.bundles, report.generations,
                         report.rows, HumanBytes(report.bytes), DescribeKept(report), report.problems,
                         report.notes);
      return;
    }
    const nlohmann::ordered_json json = {{"clean", report.problems == 0},
                                         {"problem_count", report.problems},
                                         {"problems", problems_},
                                         {"notes", notes_},
                                         {"bundles", report.bundles},
                                         {"generations", report.generations},
                                         {"rows", report.rows},
                                         {"bytes", report.bytes},
                                         {"kept_files", report.kept_files},
                                         {"kept_bytes", report.kept_bytes}};
    out << json.dump(2) << '\n';
  }

 private:
  const RootCommand& command_;
  std::string last_help_;
  nlohmann::ordered_json problems_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json notes_ = nlohmann::ordered_json::array();
};

int Run(const RootCommand& command) {
  const StopSignal stop;
  Printer printer(command);
  const auto root = command.OpenRoot();
  if (root.code() == ErrorCode::kCorrupt) {
    // The format file itself: nothing behind it can be judged.
    const Status status = root.status();
    printer.OnProblem({command.index.value_or("index root"), "", status.message(), "", "", status.hint()});
    printer.Finish({.problems = 1});
    return static_cast<int>(ExitCode::kCheckFailed);
  }
  if (!root.ok()) return command.Fail(root.status());
  const auto holds = command.OpenHolds(**root);
  if (!holds.ok()) return command.Fail(holds.status());
  index::FsckOptions options;
  options.dataset_digest = dataset::DatasetDigest;
  options.archive_id = ReadArchiveId;
  options.holds_directory = holds->directory();
  options.now_seconds = SecondsNow();
  const auto report = index::CheckRoot(**root, options, &printer);
  if (report.code() == ErrorCode::kCancelled) {
    command.Fail(report.status());
    return 128 + StopSignal::Received();
  }
  if (!report.ok()) return command.Fail(report.status());
  printer.Finish(*report);
  return static_cast<int>(report->problems == 0 ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace

int RunFsck(const Program& program) {
  RootCommand command{.program = &program, .name = "tarn-index fsck"};
  const auto app = cli::MakeCommandLine(command.name, "Check everything in an index root.");
  app->footer(kFooter);
  AddIndexOption(app.get(), &command);
  AddHoldsOption(app.get(), &command);
  AddJsonOption(app.get(), &command);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;
  return Run(command);
}

}  // namespace tarn::indexer

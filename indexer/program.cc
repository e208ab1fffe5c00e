#include "indexer/program.h"

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/finish_output.h"
#include "indexer/commands.h"
#include "tarn/base/version.h"

namespace tarn::indexer {
namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Program& program);
};

constexpr std::array kCommands = {
    Command{"publish", "index a directory of tar archives and publish it as a new generation", RunPublish},
    Command{"plan", "share the work of a publish among many machines", RunPlan},
    Command{"worker", "read one share of a plan", RunWorker},
    Command{"commit", "publish what the workers of a plan read", RunCommit},
    Command{"watch", "look at all published archives, slowly, for the whole cluster", RunWatch},
    Command{"throttle", "show or change how fast running publishes read", RunThrottle},
    Command{"retire", "take a generation out of the listings", RunRetire},
    Command{"gc", "take away what nobody needs any more", RunGc},
    Command{"fsck", "check everything in an index root", RunFsck},
    Command{"du", "say who takes how much of an index root", RunDu},
    Command{"quota", "show or set the most that a dataset may take", RunQuota},
    Command{"export", "write one generation to a single file", RunExport},
    Command{"import", "publish a generation that was exported elsewhere", RunImport},
    Command{"migrate", "raise an index root to the newest format", RunMigrate},
};

void PrintHelp(std::ostream& out) {
  out << "tarn-index " << VersionString() << ": writes the index of tar archives, never next to them\n\n"
      << "Usage: tarn-index COMMAND [OPTION...]\n\nCommands:\n";
  for (const Command& command : kCommands) {
    out << "  " << std::left << std::setw(12) << command.name << command.summary << '\n';
  }
  out << "\nOptions:\n  -h,--help     print this\n  --version     print the version\n\n"
      << "'tarn-index COMMAND --help' lists a command's options.\n";
}

}  // namespace

int Run(const Program& program) {
  const std::string word = program.arguments.empty() ? "" : program.arguments.front();
  if (word == "--version") {
    *program.out << "tarn-index " << VersionString() << '\n';
    return static_cast<int>(ExitCode::kOk);
  }
  if (word == "--help" || word == "-h" || word == "help") {
    PrintHelp(*program.out);
    return static_cast<int>(ExitCode::kOk);
  }
  const auto command =
      std::find_if(kCommands.begin(), kCommands.end(), [&](const Command& c) { return c.name == word; });
  if (command != kCommands.end()) {
    Program rest = program;
    rest.arguments.erase(rest.arguments.begin());
    return cli::FinishOutput(program, "tarn-index", command->run(rest));
  }
  if (word.empty()) {
    PrintHelp(*program.err);
    return static_cast<int>(ExitCode::kUsage);
  }
  std::vector<std::string> names;
  for (const Command& known : kCommands) names.emplace_back(known.name);
  const auto nearest = NearestMatch(word, names);
  return program.Fail("tarn-index",
                      Status(ErrorCode::kInvalidArgument, "no command '" + word + "'")
                          .WithHint((nearest ? "did you mean '" + *nearest + "'? " : std::string()) +
                                    "'tarn-index --help' lists the commands"));
}

}  // namespace tarn::indexer

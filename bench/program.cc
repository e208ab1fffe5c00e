#include "bench/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "bench/commands.h"
#include "tarn/base/version.h"

namespace tarn::bench {
namespace {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Program&);
};

constexpr Command kCommands[] = {
    {"read", "measure random reads through a mount, next to the raw limit", RunRead},
    {"index", "measure a publish, next to a plain read of the same bytes", RunIndex},
    {"fio", "write a fio job with the real sizes of the members", RunFio},
    {"make-dataset", "write a dataset of tars, the same bytes for the same options", RunMakeDataset},
#ifdef TARN_BENCH_WITH_FUSE
    {"slow-source", "mount a directory as if it lay on a far file server", RunSlowSource},
#endif
};

std::string Usage() {
  std::string text =
      "Usage: tarn-bench COMMAND [OPTIONS]\n"
      "Measures datasets in tars, next to the raw limit of the storage below them.\n\nCommands:\n";
  for (const Command& command : kCommands) text += fmt::format("  {:<14}{}\n", command.name, command.summary);
  text += "\nOptions:\n  -h,--help     print this\n  --version     print the version\n\n";
  text += "'tarn-bench COMMAND --help' lists the options of a command.\n";
  return text;
}

}  // namespace

int Run(const Program& program) {
  const std::string name = program.arguments.empty() ? "" : program.arguments.front();
  if (name == "--help" || name == "-h") {
    *program.out << Usage();
    return static_cast<int>(ExitCode::kOk);
  }
  if (name == "--version") {
    *program.out << "tarn-bench " << VersionString() << '\n';
    return static_cast<int>(ExitCode::kOk);
  }
  const auto* found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                   [&](const Command& command) { return name == command.name; });
  if (found != std::end(kCommands)) {
    Program rest = program;
    rest.arguments.erase(rest.arguments.begin());
    return found->run(rest);
  }
  if (name.empty()) {
    *program.err << Usage();
    return static_cast<int>(ExitCode::kUsage);
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const auto meant = NearestMatch(name, names);
  return program.Fail("tarn-bench",
                      Status(ErrorCode::kInvalidArgument, "there is no command '" + name + "'")
                          .WithHint((meant ? "did you mean '" + *meant + "'? " : std::string()) +
                                    "'tarn-bench --help' lists the commands"));
}

}  // namespace tarn::bench

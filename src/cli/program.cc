#include "cli/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/finish_output.h"
#include "tarn/base/version.h"
#include "tarn/io/filesystem.h"

namespace tarn::cli {
namespace {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Program&);
};

constexpr Command kCommands[] = {
    {"ls", "list directories of a dataset", RunLs},
    {"stat", "print everything that is known of files and directories", RunStat},
    {"cat", "write the bytes of files to the standard output", RunCat},
    {"datasets", "list what is published in an index root", RunDatasets},
    {"resolve", "print the generation that a name means now", RunResolve},
    {"describe", "print what an experiment tracker records of a dataset", RunDescribe},
    {"diff", "print what is different between two generations", RunDiff},
    {"where", "print where an archive is published", RunWhere},
    {"walk", "list the members of an archive, and what is odd about it", RunWalk},
    {"verify", "say whether a dataset's files are what was published", RunVerify},
};

// Other programs, which stand beside this one.
struct OtherProgram {
  const char* name;
  const char* program;
  const char* summary;
};

constexpr OtherProgram kOtherPrograms[] = {
    {"index", "tarn-index", "index and publish datasets, care for an index root"},
    {"mount", "tarn-mount", "mount a dataset"},
    {"bench", "tarn-bench", "measure"},
};

std::string Usage() {
  std::string text =
      "Usage: tarn COMMAND [OPTIONS]\n"
      "Asks about datasets in tar archives, archives and mounts. Writes nothing.\n\nCommands:\n";
  for (const Command& command : kCommands) text += fmt::format("  {:<14}{}\n", command.name, command.summary);
  text += "\nOther programs, run as they are:\n";
  for (const OtherProgram& other : kOtherPrograms) {
    text += fmt::format("  {:<14}{} ({})\n", other.name, other.summary, other.program);
  }
  text +=
      "\nOptions:\n  -h,--help     print this\n  --version     print the version\n\n"
      "A dataset path is NAME[@GENERATION]:PATH, NAME@DIGEST:PATH, or any path below a mount.\n"
      "'tarn COMMAND --help' lists the options of a command.\n";
  return text;
}

// Becomes the other program; returns only when that fails.
int Become(const Program& program, const OtherProgram& other) {
  const auto self = io::RealPath("/proc/self/exe");
  if (!self.ok()) return program.Fail("tarn", self.status());
  const std::string path = io::JoinPath(io::DirName(*self), other.program);
  std::vector<std::string> words = {other.program};
  words.insert(words.end(), program.arguments.begin() + 1, program.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  program.out->flush();
  program.err->flush();
  ::execv(path.c_str(), argv.data());
  return program.Fail(
      "tarn", Status::FromErrno(errno, "cannot run '" + path + "'")
                  .WithHint(std::string("install ") + other.program + " in the directory where tarn is"));
}

int UnknownCommand(const Program& program, const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  for (const OtherProgram& other : kOtherPrograms) names.emplace_back(other.name);
  const auto meant = NearestMatch(name, names);
  return program.Fail("tarn", Status(ErrorCode::kInvalidArgument, "there is no command '" + name + "'")
                                  .WithHint((meant ? "did you mean '" + *meant + "'? " : std::string()) +
                                            "'tarn --help' lists the commands"));
}

}  // namespace

int Run(const Program& program) {
  const std::string name = program.arguments.empty() ? "" : program.arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    *program.out << Usage();
    return static_cast<int>(ExitCode::kOk);
  }
  if (name == "--version") {
    *program.out << "tarn " << VersionString() << '\n';
    return static_cast<int>(ExitCode::kOk);
  }
  if (name.empty()) {
    *program.err << Usage();
    return static_cast<int>(ExitCode::kUsage);
  }
  for (const Command& command : kCommands) {
    if (name != command.name) continue;
    Program rest = program;
    rest.arguments.erase(rest.arguments.begin());
    return FinishOutput(program, "tarn", command.run(rest));
  }
  for (const OtherProgram& other : kOtherPrograms) {
    if (name == other.name) return Become(program, other);
  }
  return UnknownCommand(program, name);
}

}  // namespace tarn::cli

// How the commands of `tarn` read their command lines: CLI11, with Tarn's exit codes and streams.
#ifndef TARN_CLI_COMMAND_LINE_H_
#define TARN_CLI_COMMAND_LINE_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "tarn/base/program.h"

namespace tarn::cli {

// An App for `tarn NAME`, with --help and --version.
std::unique_ptr<CLI::App> MakeCommandLine(const std::string& name, const std::string& description);

// Parses `program.arguments`. Nothing: the command goes on. Otherwise the exit code to leave with: --help and
// --version were printed (0), or the command line is wrong and `err` says how (2).
std::optional<int> ParseCommandLine(CLI::App* app, const Program& program);

}  // namespace tarn::cli

#endif  // TARN_CLI_COMMAND_LINE_H_

#include "cli/command_line.h"

#include <algorithm>
#include <iostream>
#include <vector>

#include "tarn/base/version.h"

namespace tarn::cli {
namespace {

// The option that was probably meant by the first argument that the App does not know, for "did you mean".
std::optional<std::string> NearestOption(const CLI::App& app, const std::vector<std::string>& unknown) {
  std::vector<std::string> options;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  for (const std::string& argument : unknown) {
    if (argument.starts_with("--")) return NearestMatch(argument.substr(0, argument.find('=')), options);
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<CLI::App> MakeCommandLine(const std::string& name, const std::string& description) {
  auto app = std::make_unique<CLI::App>(description, name);
  app->set_version_flag("--version", name + " " + std::string(VersionString()));
  app->get_formatter()->column_width(32);
  return app;
}

std::optional<int> ParseCommandLine(CLI::App* app, const Program& program) {
  std::vector<std::string> arguments = program.arguments;
  std::reverse(arguments.begin(), arguments.end());  // the order in which App takes them
  try {
    app->parse(std::move(arguments));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    *program.out << app->help();
  } catch (const CLI::CallForAllHelp&) {
    *program.out << app->help("", CLI::AppFormatMode::All);
  } catch (const CLI::CallForVersion&) {
    *program.out << app->version() << '\n';
  } catch (const CLI::ParseError& error) {
    const auto nearest = NearestOption(*app, app->remaining());
    std::string help = nearest ? "did you mean '" + *nearest + "'? " : "";
    help += "'" + app->get_name() + " --help' lists the options";
    return program.Fail(app->get_name(),
                        Status(ErrorCode::kInvalidArgument, error.what()).WithHint(std::move(help)));
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::cli

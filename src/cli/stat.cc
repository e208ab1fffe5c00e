// tarn stat PATH...: everything that is known of one file or directory.
#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/dataset_path.h"

namespace tarn::cli {
namespace {

std::string TextOf(const std::string& key, const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (key.ends_with("mode")) return fmt::format("{:04o}", value.get<uint32_t>());
  if (key == "extents") {
    std::string text;
    for (const auto& extent : value) {
      if (!text.empty()) text += ' ';
      const auto offset = extent[0].get<int64_t>();
      text += offset < 0 ? "hole" : std::to_string(offset);
      text += '+' + extent[1].dump();
    }
    return text;
  }
  return value.dump();
}

void PrintText(const nlohmann::ordered_json& facts, std::ostream* out) {
  for (const auto& [key, value] : facts.items()) {
    if (value.is_object()) {
      for (const auto& [name, text] : value.items()) {
        *out << fmt::format("{:<14} {}={}\n", "xattr:", name, text.get<std::string>());
      }
    } else {
      *out << fmt::format("{:<14} {}\n", key + ":", TextOf(key, value));
    }
  }
}

}  // namespace

int RunStat(const Program& program) {
  const auto app = MakeCommandLine(
      "tarn stat",
      "Print everything that is known of files and directories of a dataset: what they are, where "
      "their bytes lie and in which archive.");
  std::vector<std::string> arguments;
  PlaceOptions places;
  bool json = false;
  app->add_option("PATH", arguments, "NAME[@GENERATION]:PATH, or a path below a mount")->required();
  AddIndexOption(app.get(), &places);
  AddSourceOption(app.get(), &places);
  app->add_flag("--json", json, "One JSON object a line");
  if (const auto code = ParseCommandLine(app.get(), program)) return *code;

  DatasetPaths paths(program, places, DatasetPaths::Sources::kIfNamed);
  const auto facts_of = [&paths](const std::string& argument) -> Result<nlohmann::ordered_json> {
    TARN_ASSIGN_OR_RETURN(const auto target, paths.Open(argument));
    TARN_ASSIGN_OR_RETURN(const NodeFacts node, target.view->Find(target.path, false));
    return target.view->AllFacts(node);
  };
  int code = static_cast<int>(ExitCode::kOk);
  bool first = true;
  for (const std::string& argument : arguments) {
    const auto facts = facts_of(argument);
    if (!facts.ok()) {
      code = program.Fail("tarn stat", facts.status());
    } else if (json) {
      *program.out << facts->dump() << '\n';
    } else {
      if (!first) *program.out << '\n';
      PrintText(*facts, program.out);
      first = false;
    }
  }
  program.out->flush();
  return code;
}

}  // namespace tarn::cli

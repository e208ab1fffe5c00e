// tarn resolve: the immutable name of what a mutable one means now, for a job's command line.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/dataset_path.h"
#include "tarn/index/generation_reader.h"

namespace tarn::cli {
namespace {

struct ResolveArguments {
  std::string reference;
  PlaceOptions places;
  bool digest = false;
  bool json = false;
};

Result<index::GenerationFacts> Resolve(const Config& config, const ResolveArguments& arguments) {
  TARN_ASSIGN_OR_RETURN(const auto reference, index::DatasetReference::Parse(arguments.reference));
  TARN_ASSIGN_OR_RETURN(const auto root, OpenIndexRoot(config, arguments.places));
  TARN_ASSIGN_OR_RETURN(const uint32_t number, root->Resolve(reference));
  TARN_ASSIGN_OR_RETURN(const auto reader,
                        index::GenerationReader::Open(root->GenerationPath(reference.name, number)));
  return reader->facts();
}

}  // namespace

int RunResolve(const Program& program) {
  const auto app = MakeCommandLine("tarn resolve", "Print the generation that a name means now, as NAME@N.");
  ResolveArguments arguments;
  app->add_option("NAME", arguments.reference, "NAME, NAME@N or NAME@DIGEST")->required();
  AddIndexOption(app.get(), &arguments.places);
  app->add_flag("--digest", arguments.digest, "Print the dataset digest behind it, after a blank");
  app->add_flag("--json", arguments.json, "Print one JSON object");
  if (const auto code = ParseCommandLine(app.get(), program)) return *code;

  const auto facts = Resolve(Config(program), arguments);
  if (!facts.ok()) return program.Fail("tarn resolve", facts.status());
  const std::string path = fmt::format("{}@{}", facts->dataset, facts->generation);
  if (arguments.json) {
    *program.out << nlohmann::ordered_json{{"dataset", facts->dataset},
                                           {"generation", facts->generation},
                                           {"path", path},
                                           {"digest", facts->digest.ToHex()}}
                        .dump()
                 << '\n';
  } else {
    *program.out << path << (arguments.digest ? " " + facts->digest.ToHex() : "") << '\n';
  }
  program.out->flush();
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::cli

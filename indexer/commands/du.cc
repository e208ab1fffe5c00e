// tarn-index du: who takes how much of an index root.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "indexer/commands.h"
#include "indexer/root_command.h"
#include "tarn/base/bytes.h"
#include "tarn/index/usage.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "Bytes are sizes of files, each counted once whatever names it has; a bundle or kept file belongs to "
    "every generation that links or names it. 'exclusive' is what would be free without it: what no other "
    "generation "
    "(dataset) "
    "needs.\n"
    "Exit codes: 0 done; 2 usage; 3 input, output or the machine.";

// Leaves what the command line asked for.
Status Select(const index::IndexRoot& root, const std::string& wanted, index::RootUsage* usage) {
  if (wanted.empty()) return Status::Ok();
  TARN_ASSIGN_OR_RETURN(const index::DatasetReference reference, index::DatasetReference::Parse(wanted));
  TARN_RETURN_IF_ERROR(root.AllGenerations(reference.name).status());  // names the nearest one
  std::erase_if(usage->datasets, [&](const auto& dataset) { return dataset.dataset != reference.name; });
  if (!reference.generation && !reference.digest) return Status::Ok();
  TARN_ASSIGN_OR_RETURN(const uint32_t generation, root.Resolve(reference));
  for (index::DatasetUsage& dataset : usage->datasets) {
    std::erase_if(dataset.generations, [&](const auto& other) { return other.generation != generation; });
  }
  return Status::Ok();
}

void PrintJson(const index::RootUsage& usage, bool whole_root, std::ostream& out) {
  nlohmann::ordered_json json = {{"datasets", nlohmann::ordered_json::array()}};
  for (const index::DatasetUsage& dataset : usage.datasets) {
    nlohmann::ordered_json one = {{"dataset", dataset.dataset},
                                  {"bytes", dataset.bytes},
                                  {"exclusive_bytes", dataset.exclusive_bytes},
                                  {"quota_bytes", nullptr},
                                  {"generations", nlohmann::ordered_json::array()}};
    if (dataset.quota_bytes) one["quota_bytes"] = *dataset.quota_bytes;
    for (const index::GenerationUsage& generation : dataset.generations) {
      one["generations"].push_back({{"generation", generation.generation},
                                    {"retired", generation.retired},
                                    {"bytes", generation.bytes},
                                    {"exclusive_bytes", generation.exclusive_bytes}});
    }
    json["datasets"].push_back(std::move(one));
  }
  if (whole_root) {
    json["bundles"] = usage.bundles;
    json["bundle_bytes"] = usage.bundle_bytes;
    json["unreferenced_bundles"] = usage.unreferenced_bundles;
    json["unreferenced_bytes"] = usage.unreferenced_bytes;
    json["kept_files"] = usage.kept_files;
    json["kept_bytes"] = usage.kept_bytes;
    json["unreferenced_kept_files"] = usage.unreferenced_kept_files;
    json["unreferenced_kept_bytes"] = usage.unreferenced_kept_bytes;
    json["staging_bytes"] = usage.staging_bytes;
    json["total_bytes"] = usage.total_bytes;
  }
  out << json.dump(2) << '\n';
}

void PrintLine(uint64_t bytes, std::optional<uint64_t> exclusive, const std::string& what,
               std::ostream& out) {
  out << fmt::format("{:>12}  {:>12}  {}\n", HumanBytes(bytes), exclusive ? HumanBytes(*exclusive) : "",
                     what);
}

void Print(const index::RootUsage& usage, bool whole_root, std::ostream& out) {
  out << fmt::format("{:>12}  {:>12}\n", "bytes", "exclusive");
  for (const index::DatasetUsage& dataset : usage.datasets) {
    PrintLine(dataset.bytes, dataset.exclusive_bytes,
              dataset.quota_bytes
                  ? fmt::format("{} (quota {})", dataset.dataset, HumanBytes(*dataset.quota_bytes))
                  : dataset.dataset,
              out);
    for (const index::GenerationUsage& generation : dataset.generations) {
      PrintLine(generation.bytes, generation.exclusive_bytes,
                fmt::format("  {}@{}{}", dataset.dataset, generation.generation,
                            generation.retired ? " (retired)" : ""),
                out);
    }
  }
  if (!whole_root) return;
  PrintLine(usage.bundle_bytes, std::nullopt, fmt::format("{} bundles", usage.bundles), out);
  PrintLine(usage.unreferenced_bytes, usage.unreferenced_bytes,
            fmt::format("  {} of them unreferenced", usage.unreferenced_bundles), out);
  if (usage.kept_files > 0) {
    PrintLine(usage.kept_bytes, std::nullopt, fmt::format("{} kept files", usage.kept_files), out);
    PrintLine(usage.unreferenced_kept_bytes, usage.unreferenced_kept_bytes,
              fmt::format("  {} of them unreferenced", usage.unreferenced_kept_files), out);
  }
  PrintLine(usage.staging_bytes, std::nullopt, "staging", out);
  PrintLine(usage.total_bytes, std::nullopt, "total", out);
}

}  // namespace

int RunDu(const Program& program) {
  RootCommand command{.program = &program, .name = "tarn-index du"};
  std::string wanted;
  const auto app = cli::MakeCommandLine(command.name, "Say who takes how much of an index root.");
  app->footer(kFooter);
  app->add_option("NAME[@N]", wanted, "one dataset, or one generation; default: the whole root");
  AddIndexOption(app.get(), &command);
  AddJsonOption(app.get(), &command);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  const auto root = command.OpenRoot();
  if (!root.ok()) return command.Fail(root.status());
  auto usage = index::MeasureUsage(**root);
  if (!usage.ok()) return command.Fail(usage.status());
  if (const Status selected = Select(**root, wanted, &*usage); !selected.ok()) return command.Fail(selected);
  if (command.json) {
    PrintJson(*usage, wanted.empty(), *program.out);
  } else {
    Print(*usage, wanted.empty(), *program.out);
  }
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::indexer

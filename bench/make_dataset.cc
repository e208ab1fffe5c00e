#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench/commands.h"
#include "bench/dataset_generator.h"
#include "cli/command_line.h"
#include "tarn/base/bytes.h"

namespace tarn::bench {
namespace {

constexpr char kName[] = "tarn-bench make-dataset";

struct Arguments {
  DatasetOptions options;
  std::string size = "110KiB";
  std::string format = "gnu";
  std::string names = "imagenet";
  bool json = false;
};

void Declare(CLI::App* app, Arguments* arguments) {
  DatasetOptions& options = arguments->options;
  app->add_option("DIR", options.directory, "where the archives go; made if it is not there")->required();
  app->add_option("--archives", options.archives, "how many archives")
      ->check(CLI::Range(uint64_t{1}, uint64_t{10'000'000}))
      ->capture_default_str();
  app->add_option("--members", options.members, "files in each archive (directories come on top)")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1'000'000'000}))
      ->capture_default_str();
  app->add_option("--size", arguments->size,
                  "bytes of a member: 110KiB, 90KiB-130KiB, or a histogram 32k/10:96k/40:128k/50")
      ->capture_default_str();
  app->add_option("--format", arguments->format, "gnu, pax or ustar")->capture_default_str();
  app->add_option("--names", arguments->names, "imagenet, random20, numbered or deep")->capture_default_str();
  app->add_option("--seed", options.seed, "another seed gives other sizes, names and bytes")
      ->capture_default_str();
  app->add_option("--loose", options.loose,
                  "write the same members as loose files below this directory, too");
  app->add_flag("--json", arguments->json, "print the totals as JSON");
}

Status Interpret(Arguments* arguments) {
  TARN_ASSIGN_OR_RETURN(arguments->options.sizes, SizeDistribution::Parse(arguments->size));
  TARN_ASSIGN_OR_RETURN(arguments->options.format, ParseTarFormat(arguments->format));
  TARN_ASSIGN_OR_RETURN(arguments->options.names, ParseNameStyle(arguments->names));
  return Status::Ok();
}

void Print(const Arguments& arguments, const DatasetTotals& totals, double seconds, std::ostream* out) {
  if (arguments.json) {
    *out << nlohmann::json{{"schema_version", 1},
                           {"directory", arguments.options.directory},
                           {"archives", totals.archives},
                           {"members", totals.members},
                           {"directories", totals.directories},
                           {"archive_bytes", totals.archive_bytes},
                           {"member_bytes", totals.member_bytes},
                           {"size", arguments.size},
                           {"format", arguments.format},
                           {"names", arguments.names},
                           {"seed", arguments.options.seed},
                           {"seconds", seconds}}
                .dump()
         << '\n';
    return;
  }
  *out << fmt::format("{}: {} archives, {} files, {} ({} of them contents) in {:.1f} s\n",
                      arguments.options.directory, totals.archives, totals.members,
                      HumanBytes(totals.archive_bytes), HumanBytes(totals.member_bytes), seconds);
}

}  // namespace

int RunMakeDataset(const Program& program) {
  Arguments arguments;
  const auto app = cli::MakeCommandLine(
      kName, "Writes a dataset of generated tars; the same options write the same bytes on every machine.");
  Declare(app.get(), &arguments);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;
  if (Status status = Interpret(&arguments); !status.ok()) return program.Fail(kName, status);
  const auto start = std::chrono::steady_clock::now();
  const auto totals = GenerateDataset(arguments.options, [&](const DatasetTotals& so_far) {
    if (program.err_is_terminal) {
      *program.err << fmt::format("\r{}/{} archives, {} ", so_far.archives, arguments.options.archives,
                                  HumanBytes(so_far.archive_bytes))
                   << std::flush;
    }
  });
  if (program.err_is_terminal) *program.err << '\n';
  if (!totals.ok()) return program.Fail(kName, totals.status());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Print(arguments, *totals, seconds, program.out);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::bench

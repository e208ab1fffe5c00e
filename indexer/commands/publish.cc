// tarn-index publish: the command line of a publish.
#include "indexer/publish.h"

#include <iostream>
#include <map>
#include <string>
#include <thread>

#include "cli/command_line.h"
#include "indexer/commands.h"
#include "indexer/report.h"
#include "indexer/stop_signal.h"
#include "tarn/base/config.h"

namespace tarn::indexer {
namespace {

constexpr char kName[] = "tarn-index publish";

constexpr char kFooter[] =
    "Patterns: one without '/' is held against a file's name, one with '/' against its path below DIR; '*' "
    "stops "
    "at '/', '**' does not.\n"
    "Exit codes: 0 published, or nothing changed; 1 something was left out or quarantined, each is named; 2 "
    "usage; "
    "3 input, output or the machine; 130 and 143 stopped by SIGINT and SIGTERM.\n"
    "A publish that was stopped or killed leaves what was published before; run again, it reads no complete "
    "archive twice.";

struct CommandLine {
  PublishOptions publish;
  std::optional<std::string> index;
  bool json = false;
  bool quiet = false;
};

const std::map<std::string, IdentityMode> kIdentityModes = {{"hint", IdentityMode::kHint},
                                                            {"full", IdentityMode::kFull}};
const std::map<std::string, OnDamage> kOnDamage = {
    {"quarantine", OnDamage::kQuarantine}, {"fail", OnDamage::kFail}, {"publish", OnDamage::kPublish}};

void AddDatasetOptions(CLI::App* app, CommandLine* line) {
  PublishOptions& options = line->publish;
  app->add_option("DIR", options.directory, "the dataset's directory; nothing is written to it")->required();
  app->add_option("--name", options.name, "name of the dataset")->type_name("NAME")->required();
  app->add_option("--index", line->index, "index root; default: TARN_INDEX, then the configuration file")
      ->type_name("ROOT");
  app->add_option("--relative-to", options.relative_to,
                  "directory that the nodes' --source stands for; default: DIR's parent")
      ->type_name("BASE");
  app->add_option("--include", options.selection.include, "publish only files that match; may be repeated")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  app->add_option("--exclude", options.selection.exclude, "leave out files and directories that match")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  app->add_option("--archive-glob", options.selection.archive_glob,
                  "names of archives beside *.tar; the first block has the last word")
      ->type_name("GLOB")
      ->allow_extra_args(false);
}

void AddReadingOptions(CLI::App* app, CommandLine* line) {
  PublishOptions& options = line->publish;
  app->add_option("--jobs", options.jobs, "files read at the same time; default: the number of processors")
      ->check(CLI::Range(1U, 1024U))
      ->type_name("N");
  app->add_option("--read-size", options.read_bytes, "bytes of one read request; larger hides more latency")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(size_t{4096}, size_t{1} << 30))
      ->type_name("BYTES")
      ->default_str("1M");
  app->add_option("--depth", options.depth, "read requests in flight for each file")
      ->check(CLI::Range(1U, 256U))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--memory", options.memory_bytes,
                  "for sorting, shared by the jobs; beyond it rows go to disk")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES")
      ->default_str("512M");
  app->add_option("--settle", options.settle_seconds,
                  "a file written less than this ago is waited for; 0: nobody else writes")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
      ->type_name("SECONDS")
      ->capture_default_str();
  app->add_option("--settle-timeout", options.settle_timeout_seconds, "after this it is left out, by name")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
      ->type_name("SECONDS")
      ->capture_default_str();
  app->add_option("--identity", options.identity,
                  "what makes a file count as unchanged: 'hint' its size, times and inode; 'full' its bytes")
      ->transform(CLI::CheckedTransformer(kIdentityModes))
      ->type_name("hint|full")
      ->default_str("hint");
  app->add_option(
         "--on-damage", options.on_damage,
         "a damaged archive is left out of the tree, stops the publish, or is shown as far as it is whole")
      ->transform(CLI::CheckedTransformer(kOnDamage))
      ->type_name("quarantine|fail|publish")
      ->default_str("quarantine");
}

ProgressStyle StyleFor(const Program& program, const CommandLine& line) {
  if (line.quiet) return ProgressStyle::kNone;
  if (line.json) return ProgressStyle::kJson;
  return program.err_is_terminal ? ProgressStyle::kTerminal : ProgressStyle::kLines;
}

int FailWith(const Program& program, const CommandLine& line, const Status& status) {
  if (line.json) PrintErrorJson(status, *program.out);
  const int code = program.Fail(kName, status);
  return status.code() == ErrorCode::kCancelled ? 128 + StopSignal::Received() : code;
}

}  // namespace

int RunPublish(const Program& program) {
  CommandLine line;
  line.publish.jobs = std::max(1U, std::thread::hardware_concurrency());
  const auto app = cli::MakeCommandLine(kName,
                                        "Index a directory of tar archives, and publish it as a new "
                                        "generation of a dataset.");
  app->footer(kFooter);
  AddDatasetOptions(app.get(), &line);
  AddReadingOptions(app.get(), &line);
  app->add_flag("--json", line.json, "print the report as one JSON object, progress as JSON lines on stderr");
  app->add_flag("--quiet", line.quiet, "show no progress");
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  const Result<Setting> index = Config(program).Index(line.index);
  if (!index.ok()) return FailWith(program, line, index.status());
  line.publish.index = index->value;

  const StopSignal stop;
  Result<PublishReport> report = [&] {
    Progress progress(program.err, StyleFor(program, line));
    return Publish(line.publish, &progress);
  }();
  if (!report.ok()) {
    Status status = std::move(report).status();
    // An error that is about the index root says where its path came from, unless it was just typed.
    const bool about_index = status.message().find(index->value) != std::string::npos;
    if (about_index && !line.index) status = index->Explain(std::move(status));
    return FailWith(program, line, status);
  }
  if (line.json) {
    PrintReportJson(*report, *program.out);
  } else {
    PrintReport(*report, *program.out);
  }
  if (!report->refusal.ok()) program.Fail(kName, report->refusal);
  const bool complete = report->refusal.ok() && report->left_out.empty() && report->quarantined.empty();
  return static_cast<int>(complete ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace tarn::indexer

#include "indexer/publish_command.h"

#include <map>
#include <ostream>
#include <utility>

#include "indexer/report.h"
#include "indexer/stop_signal.h"

namespace tarn::indexer {
namespace {

const std::map<std::string, IdentityMode> kIdentityModes = {{"hint", IdentityMode::kHint},
                                                            {"full", IdentityMode::kFull}};
const std::map<std::string, OnDamage> kOnDamage = {
    {"quarantine", OnDamage::kQuarantine}, {"fail", OnDamage::kFail}, {"publish", OnDamage::kPublish}};

}  // namespace

ProgressStyle PublishCommand::Style() const {
  if (quiet) return ProgressStyle::kNone;
  if (json) return ProgressStyle::kJson;
  return program->err_is_terminal ? ProgressStyle::kTerminal : ProgressStyle::kLines;
}

Status PublishCommand::Explain(const Setting& root, Status status) const {
  const bool about_index = status.message().find(root.value) != std::string::npos;
  return about_index && !index ? root.Explain(std::move(status)) : status;
}

int PublishCommand::Fail(const Status& status) const {
  if (json) PrintErrorJson(status, *program->out);
  const int code = program->Fail(name, status);
  return status.code() == ErrorCode::kCancelled ? 128 + StopSignal::Received() : code;
}

int PublishCommand::Finish(const PublishReport& report) const {
  if (json) {
    PrintReportJson(report, *program->out);
  } else {
    PrintReport(report, *program->out);
  }
  if (!report.refusal.ok()) program->Fail(name, report.refusal);
  const bool missed = report.kept && report.kept->missed > 0;
  const bool complete =
      report.refusal.ok() && report.left_out.empty() && report.quarantined.empty() && !missed;
  return static_cast<int>(complete ? ExitCode::kOk : ExitCode::kCheckFailed);
}

void AddBaseOption(CLI::App* app, PublishCommand* command) {
  app->add_option("--relative-to", command->publish.relative_to,
                  "where this machine has the directory that the plan was made relative to; default: there")
      ->type_name("BASE");
}

void AddFilterOptions(CLI::App* app, Selection* selection) {
  app->add_option("--include", selection->include, "publish only files that match; may be repeated")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  app->add_option("--exclude", selection->exclude, "leave out files and directories that match")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  app->add_option("--archive-glob", selection->archive_glob,
                  "names of archives beside *.tar; the first block has the last word")
      ->type_name("GLOB")
      ->allow_extra_args(false);
}

void AddSelectionOptions(CLI::App* app, PublishCommand* command) {
  PublishOptions& options = command->publish;
  app->add_option("DIR", options.directory, "the dataset's directory; nothing is written to it")->required();
  app->add_option("--relative-to", options.relative_to,
                  "directory that the nodes' --source stands for; default: DIR's parent")
      ->type_name("BASE");
  AddFilterOptions(app, &options.selection);
}

void AddPlaceOptions(CLI::App* app, PublishCommand* command) {
  app->add_option("--name", command->publish.name, "name of the dataset")->type_name("NAME")->required();
  app->add_option("--index", command->index, "index root; default: TARN_INDEX, then the configuration file")
      ->type_name("ROOT");
  app->add_flag("--json", command->json,
                "print the report as one JSON object, progress as JSON lines on stderr");
  app->add_flag("--quiet", command->quiet, "show no progress");
}

void AddIdentityOption(CLI::App* app, PublishCommand* command) {
  app->add_option("--identity", command->publish.identity,
                  "what makes a file count as unchanged: 'hint' its size, times and inode; 'full' its bytes")
      ->transform(CLI::CheckedTransformer(kIdentityModes))
      ->type_name("hint|full")
      ->default_str("hint");
}

void AddReadingOptions(CLI::App* app, PublishCommand* command) {
  PublishOptions& options = command->publish;
  app->add_option("--jobs", options.jobs, "files read at the same time; default: the number of processors")
      ->check(CLI::Range(1U, 1024U))
      ->type_name("N");
  app->add_option("--read-size", options.read_bytes,
                  "bytes of one read request; larger hides more latency; default: 4M, less with many jobs")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(size_t{4096}, size_t{1} << 30))
      ->type_name("BYTES");
  app->add_option("--depth", options.depth, "read requests in flight for each file")
      ->check(CLI::Range(1U, 256U))
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--memory", options.memory_bytes,
                  "for sorting, shared by the jobs; beyond it rows go to disk")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES")
      ->default_str("512M");
  app->add_option("--max-rate", options.limits.bytes_per_second,
                  "bytes a second, of all jobs together; 'tarn-index throttle' changes it while it runs")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES");
  app->add_option("--max-iops", options.limits.requests_per_second,
                  "read requests a second, of all jobs together")
      ->type_name("N");
  app->add_flag("--back-off", options.limits.back_off,
                "slow down while the source takes more than twice as long to answer as at the start");
  app->add_option("--settle", options.settle_seconds,
                  "a file written less than this ago is waited for; 0: nobody else writes")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
      ->type_name("SECONDS")
      ->capture_default_str();
  app->add_option("--settle-timeout", options.settle_timeout_seconds, "after this it is left out, by name")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
      ->type_name("SECONDS")
      ->capture_default_str();
}

void AddKeepOptions(CLI::App* app, PublishCommand* command) {
  KeepOptions& keep = command->publish.keep;
  CLI::Option* const globs =
      app->add_option("--keep", keep.globs,
                      "keep the bytes of files that match in the index root too; may be repeated")
          ->type_name("GLOB")
          ->allow_extra_args(false);
  CLI::Option* const most =
      app->add_option("--keep-max", keep.most_bytes,
                      "loose files of at most this size are kept without being named, 1 GiB together")
          ->check(CLI::Validator(
              [](const std::string& text) {
                return text.starts_with('-') ? "expected a size, found '" + text + "'" : std::string();
              },
              ""))
          ->transform(CLI::AsSizeValue(false))
          ->type_name("BYTES")
          ->default_str("16M");
  app->add_flag("--no-keep", keep.none, "keep no file's bytes")->excludes(globs)->excludes(most);
}

void AddDamageOption(CLI::App* app, PublishCommand* command) {
  app->add_option(
         "--on-damage", command->publish.on_damage,
         "a damaged archive is left out of the tree, stops the publish, or is shown as far as it is whole")
      ->transform(CLI::CheckedTransformer(kOnDamage))
      ->type_name("quarantine|fail|publish")
      ->default_str("quarantine");
}

}  // namespace tarn::indexer

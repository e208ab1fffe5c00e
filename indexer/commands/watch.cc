// tarn-index watch: looks at all published archives, slowly, for the whole cluster.
#include "indexer/watch.h"

#include <algorithm>
#include <thread>

#include "indexer/commands.h"
#include "indexer/publish_command.h"
#include "indexer/root_command.h"
#include "indexer/stop_signal.h"
#include "tarn/base/config.h"
#include "tarn/base/log.h"

namespace tarn::indexer {
namespace {

constexpr char kFooter[] =
    "What it sees stands in datasets/NAME/STATES of the index root, where mounts read it. One is enough for "
    "a "
    "root: a second one ends with 3.\n"
    "Exit codes: 0 stopped by SIGINT or SIGTERM, or with --once: every archive is as published, and "
    "published; "
    "1 with --once: something is not, each is named; 2 usage; 3 input, output or the machine, or another one "
    "watches.";

constexpr int64_t kSecondsPerDay = 86400;

struct WatchArguments {
  WatchOptions watch;
  std::vector<std::string> sources;
  int64_t interval = 300;
  double scrub_days = 7;
  bool once = false;
  bool scrub = false;
};

void AddLookOptions(CLI::App* app, WatchArguments* arguments) {
  app->add_option("--source", arguments->sources,
                  "directory below which the datasets' archives are; may be repeated; default: TARN_SOURCE, "
                  "then the configuration file")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app->add_option("--dataset", arguments->watch.datasets, "only this dataset; may be repeated; default: all")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app->add_option("--interval", arguments->interval, "each archive is looked at once in this time")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->type_name("SECONDS")
      ->capture_default_str();
  app->add_option("--max-stats", arguments->watch.stats_per_second, "looks a second, of all sources together")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32))
      ->type_name("N")
      ->capture_default_str();
  app->add_flag("--once", arguments->once, "look at all once, report, and end");
}

void AddScrubOptions(CLI::App* app, WatchArguments* arguments) {
  app->add_option("--scrub-period", arguments->scrub_days,
                  "every byte is read once in this time; 0: none is read")
      ->check(CLI::Range(0.0, 36500.0))
      ->type_name("DAYS")
      ->capture_default_str();
  app->add_option("--scrub-rate", arguments->watch.scrub_bytes_per_second,
                  "bytes a second, at most, that are read")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 50))
      ->type_name("SIZE")
      ->default_str("64M");
  app->add_flag("--scrub", arguments->scrub, "with --once: read every byte too, as fast as --scrub-rate");
}

void AddPublishOptions(CLI::App* app, WatchArguments* arguments) {
  app->add_flag("--publish", arguments->watch.publish,
                "publish datasets with archives that are not published yet, once those have settled");
  app->add_option("--settle", arguments->watch.settle_seconds,
                  "a file written less than this ago is not published yet; 0: nobody else writes")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
      ->type_name("SECONDS")
      ->capture_default_str();
  AddFilterOptions(app, &arguments->watch.selection);
}

Result<std::vector<std::shared_ptr<io::Source>>> OpenSources(const Config& config,
                                                             const std::vector<std::string>& options) {
  TARN_ASSIGN_OR_RETURN(const std::vector<Setting> settings, config.Sources(options));
  std::vector<std::shared_ptr<io::Source>> opened;
  for (const Setting& setting : settings) {
    auto source = io::OpenSource(setting.value);
    if (!source.ok()) {
      return setting.Explain(std::move(source).status())
          .WithHint("a source is the directory below which the datasets' archives are");
    }
    opened.push_back(std::move(source).value());
  }
  return opened;
}

int Once(const RootCommand& command, const WatchArguments& arguments) {
  const auto report = WatchOnce(arguments.watch, arguments.scrub);
  if (report.code() == ErrorCode::kCancelled) {
    command.Fail(report.status());
    return 128 + StopSignal::Received();
  }
  if (!report.ok()) return command.Fail(report.status());
  if (command.json) {
    PrintWatchReportJson(*report, *command.program->out);
  } else {
    PrintWatchReport(*report, *command.program->out);
  }
  return static_cast<int>(report->Sound() ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace

int RunWatch(const Program& program) {
  RootCommand command{.program = &program, .name = "tarn-index watch"};
  WatchArguments arguments;
  const auto app =
      cli::MakeCommandLine(command.name, "Look at all published archives, slowly, for the whole cluster.");
  app->footer(kFooter);
  AddIndexOption(app.get(), &command);
  AddLookOptions(app.get(), &arguments);
  AddScrubOptions(app.get(), &arguments);
  AddPublishOptions(app.get(), &arguments);
  app->add_flag("--json", command.json, "print each event as one JSON object a line, with --once one object");
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;

  if (arguments.scrub && !arguments.once) {
    return command.Fail(Status(ErrorCode::kInvalidArgument, "--scrub goes with --once")
                            .WithHint("a watch that runs scrubs by itself, see --scrub-period"));
  }
  const Config config(program);
  const Result<Setting> index = config.Index(command.index);
  if (!index.ok()) return command.Fail(index.status());
  auto sources = OpenSources(config, arguments.sources);
  if (!sources.ok()) return command.Fail(sources.status());
  WatchOptions& watch = arguments.watch;
  watch.index = index->value;
  watch.sources = std::move(sources).value();
  watch.interval = std::chrono::seconds(arguments.interval);
  watch.scrub_period =
      std::chrono::seconds(static_cast<int64_t>(arguments.scrub_days * static_cast<double>(kSecondsPerDay)));
  watch.jobs = std::max(1U, std::thread::hardware_concurrency());
  watch.json = command.json;

  const StopSignal stop;
  if (arguments.once) return Once(command, arguments);
  ConfigureLog({.program = "tarn-index"});
  const Status status = Watch(watch, program.out);
  return status.ok() ? static_cast<int>(ExitCode::kOk) : command.Fail(index->Explain(status));
}

}  // namespace tarn::indexer

// tarn-bench index: what a publish costs, next to a plain read of the same bytes.
//
// The two (and xxh128sum, where it is to be had: what hashing alone costs) take turns, in an order drawn from
// the seed; the ratio of a run is that of neighbours in time.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "bench/cache_state.h"
#include "bench/child.h"
#include "bench/commands.h"
#include "bench/environment.h"
#include "bench/random.h"
#include "bench/read_report.h"
#include "bench/source_counter.h"
#include "bench/statistics.h"
#include "bench/units.h"
#include "bench/validity.h"
#include "cli/command_line.h"
#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

constexpr char kName[] = "tarn-bench index";

struct Arguments {
  std::string directory;
  std::string scratch = "/tmp";
  std::string program;
  std::string cache = "cold,warm";
  std::string jobs = "0";
  std::string read_size = "1MiB";
  std::vector<std::string> options;  // handed on to tarn-index publish
  unsigned runs = 5;
  uint64_t seed = 1;
  bool no_drop_caches = false;
  bool json = false;
};

void Declare(CLI::App* app, Arguments* arguments) {
  app->add_option("DIR", arguments->directory, "the dataset's directory")->required();
  app->add_option("--scratch", arguments->scratch, "where index roots are made and removed")
      ->capture_default_str();
  app->add_option("--program", arguments->program,
                  "tarn-index (else the one beside this program, or on PATH)");
  app->add_option("--cache", arguments->cache, "cold, warm")->capture_default_str();
  app->add_option("--jobs", arguments->jobs, "--jobs of tarn-index, one or several; 0: its default")
      ->capture_default_str();
  app->add_option("--read-size", arguments->read_size, "bytes of a request of the plain reader")
      ->capture_default_str();
  app->add_option("--publish-option", arguments->options,
                  "handed on to tarn-index publish (--publish-option=--x=y)");
  app->add_option("--runs", arguments->runs, "runs of each")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  app->add_option("--seed", arguments->seed, "of the order in which they take turns")->capture_default_str();
  app->add_flag("--no-drop-caches", arguments->no_drop_caches,
                "drop pages file by file, not the whole machine's caches");
  app->add_flag("--json", arguments->json, "print the report as JSON");
}

struct Run {
  ChildUse use;
  std::optional<uint64_t> source_bytes;
  std::optional<std::string> invalid;
};

struct Runner {
  std::string name;  // "read", "publish", "publish --jobs 2", "xxh128sum"
  std::string jobs;  // of a publish
  std::vector<Run> runs;
};

struct Table {
  CacheState cache = CacheState::kCold;
  std::vector<Runner> runners;  // the plain reader first
};

class IndexBench {
 public:
  IndexBench(const Program& program, const Arguments& arguments) : program_(program), arguments_(arguments) {}

  Status Prepare() {
    TARN_ASSIGN_OR_RETURN(files_, RegularFilesBelow(arguments_.directory));
    TARN_ASSIGN_OR_RETURN(read_bytes_, ParseBytes(arguments_.read_size));
    if (read_bytes_ == 0) return Status(ErrorCode::kInvalidArgument, "--read-size is 0");
    const auto path = program_.Environment("PATH");
    publisher_ = arguments_.program;
    if (publisher_.empty()) {
      TARN_ASSIGN_OR_RETURN(publisher_, FindProgram("tarn-index", path));
    }
    if (auto found = FindProgram("xxh128sum", path); found.ok()) hasher_ = *found;
    TARN_ASSIGN_OR_RETURN(SourceCounter counter, SourceCounter::For(files_.paths.front()));
    counter_ = std::make_unique<SourceCounter>(std::move(counter));
    for (const std::string& part : Split(arguments_.cache, ',')) {
      TARN_ASSIGN_OR_RETURN(const CacheState state, ParseCacheState(part));
      if (state == CacheState::kFirst)
        return Status(ErrorCode::kInvalidArgument, "a publish has no mount: its caches are cold or warm");
      tables_.push_back({state, MakeRunners()});
    }
    DescribeMachine(&facts_);
    DescribePlace("source", arguments_.directory, &facts_);
    DescribePlace("scratch", arguments_.scratch, &facts_);
    facts_.push_back({"source", "files", std::to_string(files_.paths.size())});
    facts_.push_back({"source", "bytes", std::to_string(files_.bytes)});
    facts_.push_back({"source", "counter", counter_->description()});
    facts_.push_back({"command", "line", fmt::format("{} {}", kName, fmt::join(program_.arguments, " "))});
    facts_.push_back({"command", "publisher", publisher_});
    return Status::Ok();
  }

  Status RunAll() {
    for (Table& table : tables_) {
      for (unsigned run = 1; run <= arguments_.runs; ++run) {
        std::vector<size_t> order(table.runners.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        Random(Random::Combine(arguments_.seed, run)).Shuffle(std::span<size_t>(order));
        for (const size_t number : order) {
          Runner& runner = table.runners[number];
          TARN_ASSIGN_OR_RETURN(Run one, RunOne(table.cache, runner));
          *program_.err << fmt::format("{}: run {}, {}: {:.3f} s, {:.3f} s of CPU{}\n",
                                       CacheStateName(table.cache), run, runner.name, one.use.seconds,
                                       one.use.cpu_seconds, one.invalid ? "  INVALID: " + *one.invalid : "")
                        << std::flush;
          runner.runs.push_back(std::move(one));
        }
      }
    }
    return Status::Ok();
  }

  bool Valid() const {
    return std::all_of(tables_.begin(), tables_.end(), [](const Table& table) {
      return std::all_of(table.runners.begin(), table.runners.end(), [](const Runner& runner) {
        return std::none_of(runner.runs.begin(), runner.runs.end(),
                            [](const Run& run) { return !!run.invalid; });
      });
    });
  }

  std::string Markdown() const;
  std::string Json() const;

 private:
  std::vector<Runner> MakeRunners() const {
    std::vector<Runner> runners = {{"read", "", {}}};
    for (const std::string& jobs : Split(arguments_.jobs, ','))
      runners.push_back({jobs == "0" ? "publish" : "publish --jobs " + jobs, jobs, {}});
    if (!hasher_.empty()) runners.push_back({"xxh128sum", "", {}});
    return runners;
  }

  Result<Run> RunOne(CacheState cache, const Runner& runner) {
    TARN_RETURN_IF_ERROR(PrepareFiles(cache));
    TARN_ASSIGN_OR_RETURN(const auto before, counter_->Read());
    Run run;
    TARN_ASSIGN_OR_RETURN(run.use, Start(runner));
    TARN_ASSIGN_OR_RETURN(const auto after, counter_->Read());
    if (before && after) run.source_bytes = after->bytes - before->bytes;
    RunFacts facts{.cache = cache, .steps = 1, .bytes = files_.bytes, .unique_bytes = files_.bytes};
    facts.source_bytes = run.source_bytes;
    run.invalid = WhyInvalid(facts);
    return run;
  }

  Status PrepareFiles(CacheState cache) const {
    if (cache == CacheState::kWarm) return ReadInChild(files_.paths, read_bytes_).status();
    if (!arguments_.no_drop_caches && DropAllCaches().ok()) return Status::Ok();
    for (const std::string& path : files_.paths) TARN_RETURN_IF_ERROR(DropPagesOf(path));
    return Status::Ok();
  }

  Result<ChildUse> Start(const Runner& runner) const {
    if (runner.name == "read") return ReadInChild(files_.paths, read_bytes_);
    if (runner.name == "xxh128sum") {
      std::vector<std::string> command = {hasher_};
      command.insert(command.end(), files_.paths.begin(), files_.paths.end());
      return RunChecked(command);
    }
    std::string root = io::JoinPath(arguments_.scratch, "tarn-bench-index-XXXXXX");
    if (::mkdtemp(root.data()) == nullptr) return Status::FromErrno(errno, "cannot make '" + root + "'");
    std::vector<std::string> command = {publisher_, "publish", arguments_.directory, "--name", "bench",
                                        "--index",  root,      "--settle",           "0"};
    if (runner.jobs != "0") command.insert(command.end(), {"--jobs", runner.jobs});
    command.insert(command.end(), arguments_.options.begin(), arguments_.options.end());
    auto use = RunChecked(command);
    TARN_RETURN_IF_ERROR(io::RemoveTree(root));
    return use;
  }

  static Result<ChildUse> RunChecked(const std::vector<std::string>& command) {
    TARN_ASSIGN_OR_RETURN(ChildUse use, RunChildProgram(command));
    if (use.exit_code == 0) return use;
    return Status(ErrorCode::kIo, fmt::format("'{}' ended with exit code {}: {}", command.front(),
                                              use.exit_code, use.output.substr(0, 2000)));
  }

  const Program& program_;
  const Arguments& arguments_;
  FileSet files_;
  uint64_t read_bytes_ = 0;
  std::string publisher_;
  std::string hasher_;  // xxh128sum; empty where it is not to be had
  std::unique_ptr<SourceCounter> counter_;
  std::vector<Table> tables_;
  Facts facts_;
};

// Figures of the runs that count.
std::vector<double> Values(const Runner& runner, double (*value)(const Run&)) {
  std::vector<double> values;
  for (const Run& run : runner.runs) {
    if (!run.invalid) values.push_back(value(run));
  }
  return values;
}

double WallOf(const Run& run) {
  return run.use.seconds;
}
double CpuOf(const Run& run) {
  return run.use.cpu_seconds;
}
double PeakOf(const Run& run) {
  return static_cast<double>(run.use.peak_bytes);
}

// Over the plain reader's, run by run.
std::vector<double> Ratios(const Runner& limit, const Runner& runner, double (*value)(const Run&)) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(limit.runs.size(), runner.runs.size()); ++i) {
    const double below = value(limit.runs[i]);
    if (!limit.runs[i].invalid && !runner.runs[i].invalid && below > 0)
      ratios.push_back(value(runner.runs[i]) / below);
  }
  return ratios;
}

std::string Show(const Spread& spread, int decimals) {
  return spread.runs == 0 ? "-"
                          : fmt::format("{:.{}f} ({:.{}f}..{:.{}f})", spread.median, decimals, spread.min,
                                        decimals, spread.max, decimals);
}

std::string IndexBench::Markdown() const {
  std::string text =
      fmt::format("# tarn-bench index: {}\n\n{} files, {} bytes. Medians of the valid runs (least..most); ",
                  arguments_.directory, files_.paths.size(), files_.bytes);
  text += "ratios are to the plain reader of the same run.\n";
  for (const Table& table : tables_) {
    text += fmt::format("\n## {}\n\n", CacheStateName(table.cache));
    text += "| | wall of read | CPU of read | wall s | CPU s | MB/s | peak MiB | valid runs |\n";
    text += "|---|---|---|---|---|---|---|---|\n";
    const Runner& limit = table.runners.front();
    for (const Runner& runner : table.runners) {
      const Spread wall = Summarize(Values(runner, WallOf));
      const size_t valid = wall.runs;
      text += fmt::format(
          "| {} | {} | {} | {} | {} | {:.0f} | {:.0f} | {}{} |\n", runner.name,
          Show(Summarize(Ratios(limit, runner, WallOf)), 2), Show(Summarize(Ratios(limit, runner, CpuOf)), 2),
          Show(wall, 3), Show(Summarize(Values(runner, CpuOf)), 3),
          wall.median > 0 ? static_cast<double>(files_.bytes) / wall.median / 1e6 : 0,
          Summarize(Values(runner, PeakOf)).median / (1 << 20), valid,
          valid == runner.runs.size() ? "" : fmt::format(" of {}: **INVALID**", runner.runs.size()));
    }
  }
  text += "\n## Environment\n\n| | | |\n|---|---|---|\n";
  for (const Fact& fact : facts_)
    text += fmt::format("| {} | {} | {} |\n", fact.section, fact.key, fact.value);
  return text;
}

nlohmann::ordered_json FromSpread(const Spread& spread) {
  return {{"runs", spread.runs}, {"median", spread.median}, {"min", spread.min},
          {"max", spread.max},   {"mean", spread.mean},     {"stdev", spread.stdev}};
}

std::string IndexBench::Json() const {
  nlohmann::ordered_json json = {
      {"schema_version", kReportSchemaVersion}, {"command", "index"}, {"valid", Valid()}};
  for (const Fact& fact : facts_) json["environment"][fact.section][fact.key] = fact.value;
  for (const Table& table : tables_) {
    nlohmann::ordered_json runners = nlohmann::ordered_json::array();
    for (const Runner& runner : table.runners) {
      nlohmann::ordered_json one = {
          {"name", runner.name},
          {"wall_seconds", FromSpread(Summarize(Values(runner, WallOf)))},
          {"cpu_seconds", FromSpread(Summarize(Values(runner, CpuOf)))},
          {"peak_bytes", FromSpread(Summarize(Values(runner, PeakOf)))},
          {"wall_ratio_to_read", FromSpread(Summarize(Ratios(table.runners[0], runner, WallOf)))},
          {"cpu_ratio_to_read", FromSpread(Summarize(Ratios(table.runners[0], runner, CpuOf)))}};
      for (const Run& run : runner.runs) {
        nlohmann::ordered_json row = {{"wall_seconds", run.use.seconds},
                                      {"cpu_seconds", run.use.cpu_seconds},
                                      {"peak_bytes", run.use.peak_bytes},
                                      {"valid", !run.invalid}};
        if (run.source_bytes) row["source_bytes"] = *run.source_bytes;
        if (run.invalid) row["invalid_because"] = *run.invalid;
        one["runs"].push_back(std::move(row));
      }
      runners.push_back(std::move(one));
    }
    json["tables"].push_back({{"cache", CacheStateName(table.cache)}, {"contestants", std::move(runners)}});
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int RunIndex(const Program& program) {
  Arguments arguments;
  const auto app = cli::MakeCommandLine(kName,
                                        "Measures tarn-index publish into a fresh index root, next to a "
                                        "plain sequential read of the same bytes.");
  Declare(app.get(), &arguments);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;
  IndexBench bench(program, arguments);
  Status status = bench.Prepare();
  if (status.ok()) status = bench.RunAll();
  if (!status.ok()) return program.Fail(kName, status);
  *program.out << (arguments.json ? bench.Json() : bench.Markdown());
  return static_cast<int>(bench.Valid() ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace tarn::bench

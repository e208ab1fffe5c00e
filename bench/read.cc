// tarn-bench read: random reads through a mount, next to the raw limit and whoever else is named.
#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <utility>

#include "bench/commands.h"
#include "bench/random.h"
#include "bench/read_options.h"
#include "bench/server_processes.h"
#include "bench/source_counter.h"
#include "bench/validity.h"
#include "cli/command_line.h"
#include "tarn/base/version.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

constexpr char kName[] = "tarn-bench read";
constexpr size_t kComparedSteps = 32;  // whose bytes every contestant must give as raw does

// What is read before and after a run.
struct Counters {
  std::optional<SourceCount> source;
  std::optional<uint64_t> own_storage;
  ProcessUse server;
  Status status;
};

class Bench {
 public:
  Bench(const Program& program, const ReadOptions& options, MemberList list)
      : program_(program), options_(options), list_(std::move(list)) {}

  Status Prepare() {
    TARN_ASSIGN_OR_RETURN(SourceCounter counter, SourceCounter::For(list_.archives().front()));
    source_ = std::make_unique<SourceCounter>(std::move(counter));
    servers_ = options_.server_pids;
    if (servers_.empty() && !options_.mount.empty()) {
      TARN_ASSIGN_OR_RETURN(servers_, FindServers(options_.mount));
    }
    DescribeEnvironment();
    return CompareBytes();
  }

  Status Run() {
    for (const Configuration& configuration : options_.configurations) {
      report_.results.push_back({configuration, {}});
      for (const Contestant& contestant : options_.contestants)
        report_.results.back().contestants.push_back({contestant, {}});
      for (unsigned run = 1; run <= options_.runs; ++run)
        TARN_RETURN_IF_ERROR(RunAll(run, &report_.results.back()));
    }
    return Status::Ok();
  }

  const ReadReport& report() const { return report_; }

 private:
  void DescribeEnvironment() {
    Facts* facts = &report_.environment;
    DescribeMachine(facts);
    DescribeMembers(list_, facts);
    DescribePlace("source", list_.archives().front(), facts);
    facts->push_back({"source", "counter", source_->description()});
    for (const Contestant& contestant : options_.contestants) {
      if (contestant.kind == ContestantKind::kFiles) DescribePlace(contestant.name, contestant.where, facts);
    }
    for (const pid_t server : servers_) facts->push_back({"mount", "server_pid", std::to_string(server)});
    facts->push_back({"command", "line", fmt::format("{} {}", kName, fmt::join(program_.arguments, " "))});
    facts->push_back({"command", "seed", std::to_string(options_.seed)});
    facts->push_back({"command", "runs", std::to_string(options_.runs)});
    facts->push_back({"command", "reads", std::to_string(options_.reads)});
    facts->push_back({"command", "ramp_up", options_.ramp_up});
  }

  // Fast and wrong is no result: some reads are compared byte by byte first.
  Status CompareBytes() {
    PlanOptions plan_options{.reads = kComparedSteps, .seed = options_.seed};
    plan_options.unit = ReadUnit::kBlock;
    plan_options.block_bytes = uint64_t{1} << 20;
    const AccessPlan plan = MakePlan(list_, plan_options);
    for (const Contestant& contestant : options_.contestants) {
      if (contestant.kind != ContestantKind::kFiles) continue;
      for (size_t step = 0; step < plan.steps.size(); ++step) {
        TARN_ASSIGN_OR_RETURN(const std::string expected,
                              ReadStep(options_.contestants.front(), list_, plan, step));
        TARN_ASSIGN_OR_RETURN(const std::string found, ReadStep(contestant, list_, plan, step));
        if (expected == found) continue;
        return Status(ErrorCode::kChanged,
                      fmt::format("{} gives other bytes than the archive for '{}'", contestant.name,
                                  list_.PathOf(list_.targets()[plan.steps[step].target])))
            .WithHint("the contestants must hold the same files: publish, extract or mount again");
      }
    }
    return Status::Ok();
  }

  // One run: the same plan for every contestant, in an order drawn from the seed.
  Status RunAll(unsigned run, ConfigurationResult* result) {
    const Configuration& what = result->configuration;
    const uint64_t seed = Random::Combine(options_.seed, run);
    const AccessPlan plan =
        MakePlan(list_, {what.unit, what.block_bytes, what.distribution, options_.reads, seed});
    std::vector<size_t> order(result->contestants.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    Random(seed).Shuffle(std::span<size_t>(order));
    for (size_t i = 0; i < order.size(); ++i) {
      ContestantResult& contestant = result->contestants[order[i]];
      TARN_ASSIGN_OR_RETURN(RunResult one, RunOne(what, contestant.contestant, plan));
      one.run = run;
      one.position = static_cast<unsigned>(i + 1);
      one.seed = seed;
      Tell(what, contestant.contestant, one);
      contestant.runs.push_back(std::move(one));
    }
    return Status::Ok();
  }

  Result<RunResult> RunOne(const Configuration& what, const Contestant& contestant, const AccessPlan& plan) {
    Load load{.processes = what.processes, .threads = what.threads, .time_limit = options_.limit};
    if (what.read_bytes > 0) load.read_bytes = what.read_bytes;
    TARN_ASSIGN_OR_RETURN(load.ramp, RampSteps(options_.ramp_up, plan.steps.size()));
    RunResult result;
    TARN_ASSIGN_OR_RETURN(result.cache_method,
                          PrepareCaches(what.cache, contestant, list_, plan, load, !options_.no_drop_caches));
    const bool served = contestant.name == "mount";
    Counters before;
    Counters after;
    TARN_ASSIGN_OR_RETURN(result.measured,
                          Measure(
                              contestant, list_, plan, load, [&] { before = ReadCounters(served); },
                              [&] { after = ReadCounters(served); }));
    TARN_RETURN_IF_ERROR(before.status);
    TARN_RETURN_IF_ERROR(after.status);
    TakeDifference(before, after, served && !servers_.empty(), &result);
    const bool whole = result.measured.all_steps == plan.steps.size();
    // A run that the time limit cut read a part of the plan: what it read twice is not known, so the bound of
    // the share that was read holds for unique bytes, too.
    result.unique_bytes = whole ? plan.unique_bytes : std::min(plan.unique_bytes, result.measured.all_bytes);
    result.invalid = WhyInvalid({what.cache, result.measured.all_steps, result.measured.all_bytes,
                                 result.unique_bytes, result.measured.errors, result.measured.first_error,
                                 SourceBytesFor(contestant, result), ProcessBytesFor(result)});
    return result;
  }

  Counters ReadCounters(bool served) const {
    Counters counters;
    auto source = source_->Read();
    if (source.ok()) {
      counters.source = *source;
    } else {
      counters.status = source.status();
    }
    counters.own_storage = OwnStorageBytes();
    if (served) {
      auto use = UseOf(servers_);
      if (use.ok()) {
        counters.server = *use;
      } else {
        counters.status = use.status();
      }
    }
    return counters;
  }

  void TakeDifference(const Counters& before, const Counters& after, bool with_server,
                      RunResult* result) const {
    if (before.source && after.source) {
      result->source = SourceCount{after.source->bytes - before.source->bytes,
                                   after.source->requests - before.source->requests};
    }
    if (before.own_storage && after.own_storage) {
      result->process_bytes = *after.own_storage - *before.own_storage;
      if (with_server && before.server.storage_bytes && after.server.storage_bytes) {
        *result->process_bytes += *after.server.storage_bytes - *before.server.storage_bytes;
      } else if (with_server) {
        result->process_bytes.reset();
      }
    }
    if (with_server) result->server_cpu_ns = after.server.cpu_ns - before.server.cpu_ns;
  }

  // Loose files that lie somewhere else than the archives are counted there, or not at all.
  std::optional<uint64_t> SourceBytesFor(const Contestant& contestant, const RunResult& result) const {
    if (!result.source) return std::nullopt;
    if (contestant.kind != ContestantKind::kFiles || contestant.name == "mount") return result.source->bytes;
    const auto here = FindMount(contestant.where);
    const auto there = FindMount(list_.archives().front());
    if (!here.ok() || !there.ok()) return std::nullopt;
    const bool same_device = here->device == there->device;
    // A mount of something else is served from the source by processes that are not ours to know.
    const bool mounted = here->type.starts_with("fuse") || here->type == "erofs" || here->type == "squashfs";
    return same_device || mounted ? std::optional<uint64_t>(result.source->bytes) : std::nullopt;
  }

  // The system accounts storage reads of block devices to processes, and only those.
  std::optional<uint64_t> ProcessBytesFor(const RunResult& result) const {
    return source_->kind() == CounterKind::kBlockDevice ? result.process_bytes : std::nullopt;
  }

  void Tell(const Configuration& what, const Contestant& contestant, const RunResult& run) const {
    *program_.err << fmt::format("{}: run {}, {}: {:.0f} members/s, {:.1f} MB/s{}\n", Describe(what), run.run,
                                 contestant.name,
                                 static_cast<double>(run.measured.steps) / run.measured.seconds,
                                 static_cast<double>(run.measured.bytes) / run.measured.seconds / 1e6,
                                 run.invalid ? "  INVALID: " + *run.invalid : "")
                  << std::flush;
  }

  const Program& program_;
  const ReadOptions& options_;
  const MemberList list_;
  std::unique_ptr<SourceCounter> source_;
  std::vector<pid_t> servers_;
  ReadReport report_;
};

Status WriteReport(const std::string& directory, const ReadReport& report) {
  TARN_RETURN_IF_ERROR(io::MakeDirectories(directory));
  TARN_RETURN_IF_ERROR(io::WriteFileAtomically(io::JoinPath(directory, "report.json"), ToJson(report)));
  TARN_RETURN_IF_ERROR(io::WriteFileAtomically(io::JoinPath(directory, "runs.csv"), ToCsv(report)));
  TARN_RETURN_IF_ERROR(io::WriteFileAtomically(io::JoinPath(directory, "summary.md"), ToMarkdown(report)));
  return io::WriteFileAtomically(io::JoinPath(directory, "plot.svg"), ToSvg(report));
}

}  // namespace

int RunRead(const Program& program) {
  ReadOptions options;
  const auto app = cli::MakeCommandLine(
      kName,
      "Measures random reads of a dataset's files through a mount, next to pread(2) of the same ranges.");
  DeclareReadOptions(app.get(), &options);
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;
  if (Status status = InterpretReadOptions(&options); !status.ok()) return program.Fail(kName, status);
  if (options.runs < kFewestRuns) {
    *program.err << fmt::format("{}: warning: {} runs are fewer than {}: their median says little\n", kName,
                                options.runs, kFewestRuns);
  }
  RaiseDescriptorLimit();
  auto list = LoadMembers(options.place, program);
  if (!list.ok()) return program.Fail(kName, list.status());
  Bench bench(program, options, std::move(*list));
  Status status = bench.Prepare();
  if (status.ok()) status = bench.Run();
  if (status.ok() && !options.output.empty()) status = WriteReport(options.output, bench.report());
  if (!status.ok()) return program.Fail(kName, status);
  *program.out << (options.json ? ToJson(bench.report()) : ToMarkdown(bench.report()));
  const auto invalid = InvalidRuns(bench.report());
  for (const std::string& line : invalid) *program.err << kName << ": INVALID: " << line << '\n';
  return static_cast<int>(invalid.empty() ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace tarn::bench

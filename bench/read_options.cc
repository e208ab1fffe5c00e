#include "bench/read_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "bench/units.h"

namespace tarn::bench {
namespace {

constexpr uint64_t kLargestRead = uint64_t{64} << 20;
constexpr unsigned kMostReaders = 4096;

// What --sweep may vary, and the option whose value it stands for.
std::map<std::string, std::string*> SweepTargets(ReadOptions* options) {
  return {{"threads", &options->threads},
          {"processes", &options->processes},
          {"cache", &options->cache},
          {"unit", &options->unit},
          {"distribution", &options->distribution},
          {"block-size", &options->block_size},
          {"read-size", &options->read_size}};
}

Status ApplySweeps(ReadOptions* options) {
  const auto targets = SweepTargets(options);
  for (const std::string& sweep : options->sweep) {
    const size_t equals = sweep.find('=');
    const std::string key = sweep.substr(0, equals);
    const auto target = targets.find(key);
    if (target == targets.end() || equals == std::string::npos || equals + 1 == sweep.size()) {
      std::vector<std::string> keys;
      for (const auto& [name, value] : targets) keys.push_back(name);
      return Status(ErrorCode::kInvalidArgument,
                    fmt::format("expected KEY=V1,V2,... for --sweep, found '{}'", sweep))
          .WithHint(fmt::format("the keys are {}", fmt::join(keys, ", ")));
    }
    *target->second = sweep.substr(equals + 1);
  }
  return Status::Ok();
}

// Parses each part of "a,b,c" with `parse`.
template <typename T>
Status ParseEach(const std::string& text, Result<T> (*parse)(std::string_view), std::vector<T>* values) {
  for (const std::string& part : Split(text, ',')) {
    TARN_ASSIGN_OR_RETURN(T value, parse(part));
    values->push_back(std::move(value));
  }
  return Status::Ok();
}

Result<uint64_t> ParseRequestBytes(std::string_view text) {
  TARN_ASSIGN_OR_RETURN(const uint64_t bytes, ParseBytes(text));
  if (bytes == 0 || bytes > kLargestRead) {
    return Status(
        ErrorCode::kInvalidArgument,
        fmt::format("expected a request of 1 byte to {} MiB, found '{}'", kLargestRead >> 20, text));
  }
  return bytes;
}

struct Axes {
  std::vector<unsigned> threads;
  std::vector<unsigned> processes;
  std::vector<CacheState> caches;
  std::vector<ReadUnit> units;
  std::vector<Distribution> distributions;
  std::vector<uint64_t> block_bytes;
  std::vector<uint64_t> read_bytes;
};

Result<Axes> ParseAxes(const ReadOptions& options) {
  Axes axes;
  TARN_ASSIGN_OR_RETURN(axes.threads, ParseCounts(options.threads));
  TARN_ASSIGN_OR_RETURN(axes.processes, ParseCounts(options.processes));
  TARN_RETURN_IF_ERROR(ParseEach(options.cache, ParseCacheState, &axes.caches));
  TARN_RETURN_IF_ERROR(ParseEach(options.unit, ParseReadUnit, &axes.units));
  TARN_RETURN_IF_ERROR(ParseEach(options.distribution, ParseDistribution, &axes.distributions));
  TARN_RETURN_IF_ERROR(ParseEach(options.block_size, ParseRequestBytes, &axes.block_bytes));
  TARN_RETURN_IF_ERROR(ParseEach(options.read_size, ParseRequestBytes, &axes.read_bytes));
  const unsigned threads = *std::max_element(axes.threads.begin(), axes.threads.end());
  const unsigned processes = *std::max_element(axes.processes.begin(), axes.processes.end());
  if (uint64_t{threads} * processes > kMostReaders) {
    return Status(
        ErrorCode::kInvalidArgument,
        fmt::format("{} processes of {} threads are more than {} readers", processes, threads, kMostReaders));
  }
  return axes;
}

// The product of all axes; a size that the unit does not use is no axis of it.
std::vector<Configuration> Product(const Axes& axes) {
  const std::vector<uint64_t> none = {0};
  std::vector<Configuration> all;
  for (const CacheState cache : axes.caches) {
    for (const ReadUnit unit : axes.units) {
      for (const uint64_t block : unit == ReadUnit::kBlock ? axes.block_bytes : none) {
        for (const uint64_t read : unit == ReadUnit::kStream ? axes.read_bytes : none) {
          for (const Distribution& distribution : axes.distributions) {
            for (const unsigned processes : axes.processes) {
              for (const unsigned threads : axes.threads)
                all.push_back({cache, unit, block, read, distribution, threads, processes});
            }
          }
        }
      }
    }
  }
  return all;
}

Status CollectContestants(ReadOptions* options) {
  options->contestants = {{"raw", ContestantKind::kRaw, ""}};
  if (!options->mount.empty())
    options->contestants.push_back({"mount", ContestantKind::kFiles, options->mount});
  for (const std::string& text : options->compare) {
    TARN_ASSIGN_OR_RETURN(Contestant contestant, ParseContestant(text));
    for (const Contestant& other : options->contestants) {
      if (other.name == contestant.name) {
        return Status(ErrorCode::kInvalidArgument,
                      fmt::format("two contestants of --compare are called '{}'", contestant.name));
      }
    }
    options->contestants.push_back(std::move(contestant));
  }
  return Status::Ok();
}

}  // namespace

void DeclareReadOptions(CLI::App* app, ReadOptions* options) {
  DeclareDatasetPlace(app, &options->place);
  app->add_option("--mount", options->mount, "where the dataset is mounted");
  app->add_option("--compare", options->compare,
                  "NAME=DIR: the same files below DIR (loose=DIR); cmd=COMMAND: a program that reads them");
  app->add_option("--threads", options->threads, "readers of each process")->capture_default_str();
  app->add_option("--processes", options->processes, "reading processes")->capture_default_str();
  app->add_option("--cache", options->cache, "cold, first (archives cached, mount not), warm")
      ->capture_default_str();
  app->add_option("--unit", options->unit, "member, block or stream")->capture_default_str();
  app->add_option("--distribution", options->distribution, "uniform or zipf:THETA")->capture_default_str();
  app->add_option("--block-size", options->block_size, "bytes of a block (unit block)")
      ->capture_default_str();
  app->add_option("--read-size", options->read_size, "bytes of a request (unit stream)")
      ->capture_default_str();
  app->add_option(
      "--sweep", options->sweep,
      "KEY=V1,V2,...: all values of threads, processes, cache, unit, distribution, block-size, read-size");
  app->add_option("--runs", options->runs, "runs of each configuration")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  app->add_option("--reads", options->reads, "reads of a run")
      ->check(CLI::Range(uint64_t{1}, uint64_t{100'000'000}))
      ->capture_default_str();
  app->add_option("--ramp-up", options->ramp_up, "reads of a run that are not counted, or a share of them")
      ->capture_default_str();
  app->add_option("--time-limit", options->time_limit, "end a run after this time (30s); 0: read all")
      ->capture_default_str();
  app->add_option("--seed", options->seed, "what is read, and in which order")->capture_default_str();
  app->add_option("--server-pid", options->server_pids,
                  "process that serves --mount (found by itself if it may)");
  app->add_flag("--no-drop-caches", options->no_drop_caches,
                "drop pages file by file, not the whole machine's caches");
  app->add_option("--output", options->output, "write report.json, runs.csv, summary.md and plot.svg to DIR");
  app->add_flag("--json", options->json, "print the report as JSON");
}

Status InterpretReadOptions(ReadOptions* options) {
  TARN_RETURN_IF_ERROR(ApplySweeps(options));
  TARN_RETURN_IF_ERROR(CollectContestants(options));
  TARN_ASSIGN_OR_RETURN(const Axes axes, ParseAxes(*options));
  options->configurations = Product(axes);
  TARN_ASSIGN_OR_RETURN(options->limit, ParseDuration(options->time_limit));
  return RampSteps(options->ramp_up, options->reads).status();
}

Result<uint64_t> RampSteps(const std::string& ramp_up, uint64_t steps) {
  const bool share = ramp_up.ends_with('%');
  double number = 0;
  const char* const end = ramp_up.data() + ramp_up.size() - (share ? 1 : 0);
  const auto [stopped, error] = std::from_chars(ramp_up.data(), end, number);
  if (error != std::errc() || stopped != end || number < 0 || (share && number >= 100)) {
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("expected reads or a share for --ramp-up, found '{}'", ramp_up))
        .WithHint("for example 500 or 2%");
  }
  const double ramp = share ? number / 100 * static_cast<double>(steps) : number;
  return std::min(static_cast<uint64_t>(ramp), steps == 0 ? 0 : steps - 1);
}

}  // namespace tarn::bench

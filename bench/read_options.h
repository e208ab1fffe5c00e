// The command line of `tarn-bench read`, interpreted: which configurations are measured, how often, and
// against whom.
#ifndef TARN_BENCH_READ_OPTIONS_H_
#define TARN_BENCH_READ_OPTIONS_H_

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/contestant.h"
#include "bench/dataset_place.h"
#include "bench/read_report.h"

namespace tarn::bench {

inline constexpr unsigned kFewestRuns = 5;  // of which a median says something

struct ReadOptions {
  DatasetPlace place;
  std::string mount;
  std::vector<std::string> compare;  // as typed
  std::string threads = "1";
  std::string processes = "1";
  std::string cache = "cold,warm";
  std::string unit = "member";
  std::string distribution = "uniform";
  std::string block_size = "4KiB";
  std::string read_size = "1MiB";
  std::vector<std::string> sweep;  // KEY=V1,V2,...
  std::string ramp_up = "2%";
  std::string time_limit = "0";
  unsigned runs = kFewestRuns;
  uint64_t reads = 20'000;
  uint64_t seed = 1;
  std::vector<pid_t> server_pids;
  bool no_drop_caches = false;
  std::string output;  // directory for the report's files
  bool json = false;

  // Interpreted.
  std::vector<Contestant> contestants;  // raw first, then the mount
  std::vector<Configuration> configurations;
  std::chrono::nanoseconds limit{0};
};

void DeclareReadOptions(CLI::App* app, ReadOptions* options);

// Fills in what is interpreted. kInvalidArgument says which option cannot be right.
Status InterpretReadOptions(ReadOptions* options);

// Steps that are not counted: "2%" of `steps`, or a number of them; always leaves something to count.
Result<uint64_t> RampSteps(const std::string& ramp_up, uint64_t steps);

}  // namespace tarn::bench

#endif  // TARN_BENCH_READ_OPTIONS_H_

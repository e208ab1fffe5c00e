// tarn-bench fio: writes a job file for fio.
#include <fmt/format.h>

#include <ostream>

#include "bench/commands.h"
#include "bench/dataset_place.h"
#include "bench/fio_job.h"
#include "bench/units.h"
#include "cli/command_line.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {

int RunFio(const Program& program) {
  constexpr char kName[] = "tarn-bench fio";
  DatasetPlace place;
  FioOptions options;
  std::string jobs = "1,4,16,64";
  std::string output;
  bool buffered = false;
  const auto app = cli::MakeCommandLine(
      kName,
      "Writes a fio job that reads a dataset's archives at random, in requests as large as its files are.");
  DeclareDatasetPlace(app.get(), &place);
  app->add_option("--jobs", jobs, "numbers of readers, one after the other")->capture_default_str();
  app->add_option("--runtime", options.runtime_seconds, "seconds each is measured")->capture_default_str();
  app->add_option("--ramp", options.ramp_seconds, "seconds before, not counted")->capture_default_str();
  app->add_option("--engine", options.engine, "fio's ioengine")->capture_default_str();
  app->add_flag("--buffered", buffered, "through the page cache (else O_DIRECT)");
  app->add_option("--max-files", options.max_files, "most archives named; a larger dataset gives a sample")
      ->check(CLI::Range(1u, 100'000u))
      ->capture_default_str();
  app->add_option("--seed", options.seed, "fio's randseed")->capture_default_str();
  app->add_option("--output", output, "the file to write (else standard output)");
  if (const auto code = cli::ParseCommandLine(app.get(), program)) return *code;
  options.direct = !buffered;
  auto counts = ParseCounts(jobs);
  if (!counts.ok()) return program.Fail(kName, counts.status());
  options.jobs = std::move(*counts);
  const auto list = LoadMembers(place, program);
  if (!list.ok()) return program.Fail(kName, list.status());
  const auto job = MakeFioJob(*list, options);
  if (!job.ok()) return program.Fail(kName, job.status());
  if (output.empty()) {
    *program.out << *job;
    return static_cast<int>(ExitCode::kOk);
  }
  if (Status status = io::WriteFileAtomically(output, *job); !status.ok()) return program.Fail(kName, status);
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::bench

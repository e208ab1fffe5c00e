// Where the members to read come from, as the command line says it; shared by the commands that read.
#ifndef TARN_BENCH_DATASET_PLACE_H_
#define TARN_BENCH_DATASET_PLACE_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "bench/environment.h"
#include "bench/member_list.h"
#include "tarn/base/program.h"
#include "tarn/base/result.h"

namespace tarn::bench {

struct DatasetPlace {
  std::optional<std::string> index;
  std::string dataset;
  std::optional<std::string> source;
  std::string archives;  // --archives DIR: walk the tars, no index
  std::string files;     // --files DIR: loose files
};

void DeclareDatasetPlace(CLI::App* app, DatasetPlace* place);

// Loads the list. Exactly one of --dataset, --archives and --files names it; index root and source come from
// the environment and the configuration where the command line leaves them out.
Result<MemberList> LoadMembers(const DatasetPlace& place, const Program& program);

void DescribeMembers(const MemberList& list, Facts* facts);

}  // namespace tarn::bench

#endif  // TARN_BENCH_DATASET_PLACE_H_

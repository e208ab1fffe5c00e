// Dataset paths: how the commands of `tarn` are told what to look at. The same in every command:
//
//     NAME:PATH             in the newest generation of a dataset
//     NAME@7:PATH           in generation 7
//     NAME@DIGEST:PATH      in the generation with this dataset digest
//     NAME, NAME@7 ...      the dataset itself
//     a path below a mount  what a mount of Tarn shows there; "./NAME:x" for names with a colon
//
// The first four are answered from the index root and the sources, without a mount.
#ifndef TARN_CLI_DATASET_PATH_H_
#define TARN_CLI_DATASET_PATH_H_

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/view.h"
#include "tarn/base/config.h"
#include "tarn/base/program.h"
#include "tarn/base/result.h"
#include "tarn/index/index_root.h"
#include "tarn/io/random_access_file.h"

namespace tarn::cli {

// What commands that read datasets are told about places.
struct PlaceOptions {
  std::optional<std::string> index;
  std::vector<std::string> sources;
};
void AddIndexOption(CLI::App* app, PlaceOptions* options);
void AddSourceOption(CLI::App* app, PlaceOptions* options);

// The index root that options, environment and configuration name, opened. Errors say which one it was.
Result<std::unique_ptr<index::IndexRoot>> OpenIndexRoot(const Config& config, const PlaceOptions& options);

// The sources that options, environment and configuration name, opened; at least one.
Result<std::vector<std::shared_ptr<io::Source>>> OpenSources(const Config& config,
                                                             const PlaceOptions& options);

// Turns dataset paths into what can be asked. Indexes and mounts are opened when a path needs them, once.
class DatasetPaths {
 public:
  enum class Sources {
    kNeeded,   // somebody has to name one: bytes will be read
    kIfNamed,  // facts are asked: those of the command line have to be there, others are used if they are
  };
  DatasetPaths(const Program& program, PlaceOptions options, Sources sources);

  struct Target {
    const View* view = nullptr;  // lives as long as this
    std::string path;            // in it
  };
  Result<Target> Open(const std::string& argument);

 private:
  Result<Target> OpenDataset(const index::DatasetReference& reference, std::string path);
  Result<std::vector<std::shared_ptr<io::Source>>> SourcesFor() const;

  const PlaceOptions options_;
  const Sources sources_;
  const Config config_;
  std::unique_ptr<index::IndexRoot> root_;
  std::map<std::string, std::unique_ptr<View>> views_;  // by "name@7"; mounts by ""
};

}  // namespace tarn::cli

#endif  // TARN_CLI_DATASET_PATH_H_

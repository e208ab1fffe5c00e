// What the commands that read datasets share: publish, and the plan, worker and commit of many machines. One
// definition of each option, so that a worker on another machine is told the same in the same words.
#ifndef TARN_INDEXER_PUBLISH_COMMAND_H_
#define TARN_INDEXER_PUBLISH_COMMAND_H_

#include <optional>
#include <string>

#include "cli/command_line.h"
#include "indexer/progress.h"
#include "indexer/publish.h"
#include "tarn/base/config.h"
#include "tarn/base/program.h"

namespace tarn::indexer {

struct PublishCommand {
  const Program* program = nullptr;
  std::string name;  // "tarn-index publish"
  PublishOptions publish;
  std::optional<std::string> index = std::nullopt;
  bool json = false;
  bool quiet = false;

  // The index root that the command line, the environment or the configuration file names.
  Result<Setting> Index() const { return Config(*program).Index(index); }
  ProgressStyle Style() const;
  // Says, of an error that is about the index root, where its path came from, unless it was just typed.
  Status Explain(const Setting& root, Status status) const;
  // Prints the error, also as JSON when that was asked for; gives the exit code that fits, that of the signal
  // when one asked to stop.
  int Fail(const Status& status) const;
  // Prints the report of a generation that was published, or not; gives the exit code.
  int Finish(const PublishReport& report) const;
};

// --relative-to alone: where the plan's base is on this machine.
void AddBaseOption(CLI::App* app, PublishCommand* command);
// --include, --exclude, --archive-glob.
void AddFilterOptions(CLI::App* app, Selection* selection);
// DIR, --relative-to, --include, --exclude, --archive-glob: which files a dataset is made of.
void AddSelectionOptions(CLI::App* app, PublishCommand* command);
// --name, --index, --json, --quiet.
void AddPlaceOptions(CLI::App* app, PublishCommand* command);
// --identity.
void AddIdentityOption(CLI::App* app, PublishCommand* command);
// --jobs, --read-size, --depth, --memory, --max-rate, --max-iops, --back-off, --settle, --settle-timeout: how
// files are read.
void AddReadingOptions(CLI::App* app, PublishCommand* command);
// --keep, --keep-max, --no-keep: which files' bytes are kept in the index root.
void AddKeepOptions(CLI::App* app, PublishCommand* command);
// --on-damage.
void AddDamageOption(CLI::App* app, PublishCommand* command);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_PUBLISH_COMMAND_H_

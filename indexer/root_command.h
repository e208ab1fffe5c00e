// What the commands that care for an index root share: --index, --json, how they fail.
#ifndef TARN_INDEXER_ROOT_COMMAND_H_
#define TARN_INDEXER_ROOT_COMMAND_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/command_line.h"
#include "tarn/base/program.h"
#include "tarn/base/result.h"
#include "tarn/index/holds.h"
#include "tarn/index/index_root.h"

namespace tarn::indexer {

struct RootCommand {
  const Program* program = nullptr;
  std::string name;  // "tarn-index gc"
  std::optional<std::string> index = std::nullopt;
  std::optional<std::string> holds = std::nullopt;
  bool json = false;

  // Opens the root that the command line, the environment or the configuration file names.
  Result<std::unique_ptr<index::IndexRoot>> OpenRoot() const;
  // The holds of --holds, which must be there, or those of the root.
  Result<index::Holds> OpenHolds(const index::IndexRoot& root) const;
  // Prints the error, also as JSON when that was asked for; gives the exit code that fits.
  int Fail(const Status& status) const;
};

void AddIndexOption(CLI::App* app, RootCommand* command);
void AddHoldsOption(CLI::App* app, RootCommand* command);
void AddJsonOption(CLI::App* app, RootCommand* command);

// "NAME@N" or "NAME@DIGEST": a dataset's generation that is there. A name alone is kInvalidArgument: what is
// taken away or given away is said in full.
struct NamedGeneration {
  std::string dataset;
  uint32_t generation = 0;
};
Result<NamedGeneration> ResolveInFull(const index::IndexRoot& root, std::string_view text);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_ROOT_COMMAND_H_

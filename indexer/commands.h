// The commands of `tarn-index`: each a function over its own command line.
//
// `program.arguments` holds what follows the command's name. Each prints its report to `out`, progress and
// problems to `err`, and gives an exit code.
#ifndef TARN_INDEXER_COMMANDS_H_
#define TARN_INDEXER_COMMANDS_H_

#include "tarn/base/program.h"

namespace tarn::indexer {

int RunCommit(const Program& program);
int RunDu(const Program& program);
int RunExport(const Program& program);
int RunFsck(const Program& program);
int RunGc(const Program& program);
int RunImport(const Program& program);
int RunMigrate(const Program& program);
int RunPlan(const Program& program);
int RunPublish(const Program& program);
int RunQuota(const Program& program);
int RunRetire(const Program& program);
int RunThrottle(const Program& program);
int RunWatch(const Program& program);
int RunWorker(const Program& program);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_COMMANDS_H_

// The commands of `tarn`: each a function over its own command line.
//
// `program.arguments` holds what follows the command's name; streams and environment are those of `tarn`.
// Each parses its options with ParseCommandLine (command_line.h), prints facts to `out` and problems to
// `err`, and gives an exit code. None writes anywhere else.
#ifndef TARN_CLI_COMMANDS_H_
#define TARN_CLI_COMMANDS_H_

#include "tarn/base/program.h"

namespace tarn::cli {

int RunCat(const Program& program);
int RunDatasets(const Program& program);
int RunDescribe(const Program& program);
int RunDiff(const Program& program);
int RunLs(const Program& program);
int RunResolve(const Program& program);
int RunStat(const Program& program);
int RunVerify(const Program& program);
int RunWalk(const Program& program);
int RunWhere(const Program& program);

}  // namespace tarn::cli

#endif  // TARN_CLI_COMMANDS_H_

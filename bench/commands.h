// The commands of `tarn-bench`: each a function over its own command line.
//
// `program.arguments` holds what follows the command's name. Each parses its options, prints what it measured
// to `out`, progress and problems to `err`, and gives an exit code.
#ifndef TARN_BENCH_COMMANDS_H_
#define TARN_BENCH_COMMANDS_H_

#include "tarn/base/program.h"

namespace tarn::bench {

int RunFio(const Program& program);
int RunIndex(const Program& program);
int RunMakeDataset(const Program& program);
int RunRead(const Program& program);
#ifdef TARN_BENCH_WITH_FUSE
int RunSlowSource(const Program& program);
#endif

}  // namespace tarn::bench

#endif  // TARN_BENCH_COMMANDS_H_

// The commands of `tarn-bench`: each a function over its own command line.
//
// `program.arguments` holds what follows the command's name. Each parses its options, prints what it measured
// to `out`, progress and problems to `err`, and gives an exit code.
#ifndef TARN_BENCH_COMMANDS_H_
#define TARN_BENCH_COMMANDS_H_

#include "tarn/base/program.h"

namespace tarn::bench {

int RunMakeDataset(const Program& program);

}  // namespace tarn::bench

#endif  // TARN_BENCH_COMMANDS_H_

// tarn: read-only questions about datasets, archives and mounts.
#ifndef TARN_CLI_PROGRAM_H_
#define TARN_CLI_PROGRAM_H_

#include "tarn/base/program.h"

namespace tarn::cli {

// Runs one command line; gives the exit code. Writes nothing but to the program's streams.
int Run(const Program& program);

}  // namespace tarn::cli

#endif  // TARN_CLI_PROGRAM_H_

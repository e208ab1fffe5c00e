// tarn-index: the only program that writes an index root.
#ifndef TARN_INDEXER_PROGRAM_H_
#define TARN_INDEXER_PROGRAM_H_

#include "tarn/base/program.h"

namespace tarn::indexer {

// Runs one command line; gives the exit code.
int Run(const Program& program);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_PROGRAM_H_

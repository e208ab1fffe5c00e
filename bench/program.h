// tarn-bench: measurements that a storage engineer would trust, and the data to make them on.
#ifndef TARN_BENCH_PROGRAM_H_
#define TARN_BENCH_PROGRAM_H_

#include "tarn/base/program.h"

namespace tarn::bench {

// Runs one command line; gives the exit code: 0 measured, 1 a measurement is not valid, 2 usage, 3 input,
// output or the machine.
int Run(const Program& program);

}  // namespace tarn::bench

#endif  // TARN_BENCH_PROGRAM_H_

// tarn-mount: shows datasets as files.
#ifndef TARN_FUSE_PROGRAM_H_
#define TARN_FUSE_PROGRAM_H_

#include <string_view>

#include "tarn/base/program.h"

namespace tarn::fuse {

// Runs one command line; gives the exit code. `program_name`, as the program was called, tells whether
// mount(8) calls. Without --foreground returns when the mount answers, which a process of its own then
// serves.
int Run(const Program& program, std::string_view program_name = "tarn-mount");

}  // namespace tarn::fuse

#endif  // TARN_FUSE_PROGRAM_H_

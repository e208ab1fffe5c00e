// Work that is measured as a child process, so that wait4(2) gives its CPU time and nothing else's.
//
// The plain reader is what `cat` is: one thread, one file after the other, the kernel's own readahead.
#ifndef TARN_BENCH_CHILD_H_
#define TARN_BENCH_CHILD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tarn/base/result.h"

namespace tarn::bench {

struct ChildUse {
  double seconds = 0;       // wall
  double cpu_seconds = 0;   // user and system
  uint64_t peak_bytes = 0;  // resident, most
  int exit_code = 0;
  std::string output;  // what it wrote to standard output and error, the last few KiB
};

// Runs a program to its end. kNotFound when it cannot be started; its exit code is the caller's to judge.
Result<ChildUse> RunChildProgram(const std::vector<std::string>& command);

// Reads files front to back in a child, in requests of `read_bytes`.
Result<ChildUse> ReadInChild(const std::vector<std::string>& files, uint64_t read_bytes);

// Regular files below a directory, sorted, and the sum of their sizes.
struct FileSet {
  std::vector<std::string> paths;
  uint64_t bytes = 0;
};
Result<FileSet> RegularFilesBelow(const std::string& directory);

// The path of the program `name`: beside this program, or on PATH; kNotFound with what helps.
Result<std::string> FindProgram(const std::string& name, const std::optional<std::string>& search_path);

}  // namespace tarn::bench

#endif  // TARN_BENCH_CHILD_H_

// What a program is given: its arguments, its streams, its environment. Mains are three lines that fill one
// of these in; tests fill in their own and run any program in-process.
#ifndef TARN_BASE_PROGRAM_H_
#define TARN_BASE_PROGRAM_H_

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/status.h"

namespace tarn {

// Exit codes of every Tarn program (DESIGN of the command line: man pages).
enum class ExitCode : int {
  kOk = 0,
  kCheckFailed = 1,  // a check failed, or something was left out
  kUsage = 2,        // the command line cannot be right
  kEnvironment = 3,  // input, output or the machine
};

// 2 for kInvalidArgument, 3 for the rest.
ExitCode ExitCodeOf(const Status& status);

struct Program {
  std::vector<std::string> arguments;  // without the program's own name
  std::istream* in;
  std::ostream* out;
  std::ostream* err;
  std::map<std::string, std::string> environment;
  bool err_is_terminal = false;  // progress bars and colours go to `err`, and only then

  // The real thing: std::cin, std::cout, std::cerr and the process's environment.
  static Program FromMain(int argc, char** argv);

  // The value of an environment variable; nothing when unset or empty.
  std::optional<std::string> Environment(const std::string& name) const;
  // Prints "PROGRAM: error: message" and, on a line of its own, what helps; gives the exit code that fits.
  int Fail(std::string_view program, const Status& status) const;
};

// The word of `candidates` that was probably meant by `typed` (edit distance at most a third of its length),
// if any: for "did you mean".
std::optional<std::string> NearestMatch(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace tarn

#endif  // TARN_BASE_PROGRAM_H_

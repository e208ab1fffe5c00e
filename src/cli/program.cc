#include "cli/program.h"

#include <iostream>

#include "cli/commands.h"
#include "tarn/base/version.h"

namespace tarn::cli {

int Run(const Program& program) {
  if (!program.arguments.empty() && program.arguments[0] == "walk") {
    Program command = program;
    command.arguments.erase(command.arguments.begin());
    return RunWalk(command);
  }
  *program.out << "tarn " << VersionString() << '\n';
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::cli

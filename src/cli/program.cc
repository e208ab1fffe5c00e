#include "cli/program.h"

#include <iostream>

#include "tarn/base/version.h"

namespace tarn::cli {

int Run(const Program& program) {
  *program.out << "tarn " << VersionString() << '\n';
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::cli

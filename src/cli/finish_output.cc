#include "cli/finish_output.h"

#include <cerrno>
#include <ostream>

#include "tarn/base/status.h"

namespace tarn::cli {

int FinishOutput(const Program& program, std::string_view name, int code) {
  const bool was_good = program.out->good();
  errno = 0;
  program.out->flush();
  if (program.out->good()) return code;
  // A command that saw it has said so and failed.
  if (!was_good && code != 0) return code;
  return program.Fail(name, errno != 0 ? Status::FromErrno(errno, "cannot write to the standard output")
                                       : Status(ErrorCode::kIo, "cannot write to the standard output"));
}

}  // namespace tarn::cli

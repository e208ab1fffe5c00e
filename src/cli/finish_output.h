// The end of every command: what it printed has to have arrived.
#ifndef TARN_CLI_FINISH_OUTPUT_H_
#define TARN_CLI_FINISH_OUTPUT_H_

#include <string_view>

#include "tarn/base/program.h"

namespace tarn::cli {

// Writes out what is buffered. Gives `code`, or, when the standard output did not take it all, says so and
// gives the code of that: a full disk must not look like a command that went well.
int FinishOutput(const Program& program, std::string_view name, int code);

}  // namespace tarn::cli

#endif  // TARN_CLI_FINISH_OUTPUT_H_

#include "tarn/base/program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>

namespace tarn {

ExitCode ExitCodeOf(const Status& status) {
  if (status.ok()) return ExitCode::kOk;
  return status.code() == ErrorCode::kInvalidArgument ? ExitCode::kUsage : ExitCode::kEnvironment;
}

Program Program::FromMain(int argc, char** argv) {
  Program program{.arguments = {argv + 1, argv + argc},
                  .in = &std::cin,
                  .out = &std::cout,
                  .err = &std::cerr,
                  .environment = {},
                  .err_is_terminal = isatty(STDERR_FILENO) == 1};
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    program.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return program;
}

std::optional<std::string> Program::Environment(const std::string& name) const {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

int Program::Fail(std::string_view name, const Status& status) const {
  *err << name << ": error: " << status.message() << '\n';
  if (!status.hint().empty()) *err << name << ": help: " << status.hint() << '\n';
  err->flush();
  return static_cast<int>(ExitCodeOf(status));
}

std::optional<std::string> NearestMatch(std::string_view typed, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(1, typed.size() / 3) + 1;
  std::vector<size_t> row;
  for (const std::string& candidate : candidates) {
    row.resize(candidate.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < typed.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i + 1;
      for (size_t j = 0; j < candidate.size(); ++j) {
        const size_t substituted = diagonal + (typed[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({substituted, diagonal + 1, row[j] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace tarn

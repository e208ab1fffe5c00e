// Children with a deadline: whatever touches a mount runs in one, so that a mount that hangs fails a test and
// not the machine.
#ifndef TARN_TESTS_SUPPORT_CHILD_H_
#define TARN_TESTS_SUPPORT_CHILD_H_

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tarn::support {

inline constexpr std::chrono::seconds kDeadline{60};

// Runs `body` in a forked child. Its EXPECTs and ASSERTs count: failure, an exception, a signal and a missed
// deadline (the child is killed) all fail the result. What the child prints is in the test's output.
testing::AssertionResult InChild(const std::function<void()>& body,
                                 std::chrono::seconds deadline = kDeadline);

struct Finished {
  int exit_code = -1;  // -1: ended by a signal, or killed at the deadline
  std::string out;
  std::string err;
};

// Runs a program, found in PATH, with its standard streams captured. A daemon that it leaves behind does not
// keep it: what counts is the program's own end.
Finished RunProgram(const std::vector<std::string>& arguments, std::chrono::seconds deadline = kDeadline);

// Starts a program that stays, its standard error appended to the file `log`; gives its pid.
pid_t StartProgram(const std::vector<std::string>& arguments, const std::string& log);

// Waits for a child; its wait status, or -1 when it has not ended within `deadline`.
int WaitForChild(pid_t pid, std::chrono::milliseconds deadline);

}  // namespace tarn::support

#endif  // TARN_TESTS_SUPPORT_CHILD_H_

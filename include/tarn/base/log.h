// Logging, as the rest of Tarn sees it: a level and a line. spdlog stays in src/base/log.cc.
//
// The library logs little: findings and errors travel as values. Programs set the log up once at start.
// Thread-safe. A log that cannot be written never fails the work it tells about.
#ifndef TARN_BASE_LOG_H_
#define TARN_BASE_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tarn {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

enum class LogFormat : uint8_t {
  kText,  // "2026-01-31T12:00:00.000Z warning text"
  kJson,  // one object a line: time, level, message
};

enum class LogTarget : uint8_t {
  kStandardError,
  kSystemLog,  // syslog(3), facility daemon: for programs that have left their terminal
};

struct LogOptions {
  LogLevel level = LogLevel::kInfo;  // lines below it are dropped
  LogFormat format = LogFormat::kText;
  LogTarget target = LogTarget::kStandardError;
  std::string program;  // named in each line, e.g. "tarn-mount"
};

// Sets up the log of the process. Calling again replaces the set-up, also while other threads log.
void ConfigureLog(const LogOptions& options);

// Writes one line. Before ConfigureLog: text to standard error from kWarning up.
void Log(LogLevel level, std::string_view message);

// Whether a line of `level` would be written: to skip the work of making it.
bool LogEnabled(LogLevel level);

}  // namespace tarn

#endif  // TARN_BASE_LOG_H_

#include "tarn/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>
#include <spdlog/spdlog.h>
#include <syslog.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace tarn {
namespace {

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// JSON demands that quotes, backslashes and control characters of a message are escaped.
std::string JsonText(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 8);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

struct Process {
  std::shared_ptr<spdlog::logger> logger;
  bool json = false;
};

spdlog::sink_ptr MakeSink(const LogOptions& options) {
  if (options.target == LogTarget::kStandardError) return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  // The system log has time, program and level of its own; a JSON line brings them itself.
  return std::make_shared<spdlog::sinks::syslog_sink_mt>(options.program, LOG_PID, LOG_DAEMON,
                                                         options.format == LogFormat::kJson);
}

Process MakeProcessLog(const LogOptions& options) {
  auto sink = MakeSink(options);
  auto logger = std::make_shared<spdlog::logger>(options.program, std::move(sink));
  logger->set_level(SpdlogLevel(options.level));
  // A full disk or a closed pipe behind the log must not reach the caller.
  logger->set_error_handler([](const std::string&) {});
  const bool json = options.format == LogFormat::kJson;
  logger->set_pattern(
      json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","program":"%n","pid":%P,"message":"%v"})"
           : "%Y-%m-%dT%H:%M:%S.%eZ %n[%P] %l: %v",
      spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::debug);
  return Process{std::move(logger), json};
}

// The set-up in force, and those before it: another thread may be at a line of one.
class ProcessLogs {
 public:
  ProcessLogs() { Replace(LogOptions{.level = LogLevel::kWarning, .program = "tarn"}); }

  void Replace(const LogOptions& options) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::make_unique<Process>(MakeProcessLog(options)));
    current_.store(all_.back().get(), std::memory_order_release);
  }
  Process& current() { return *current_.load(std::memory_order_acquire); }

  static ProcessLogs& Get() {
    static auto* logs = new ProcessLogs;  // outlives every thread that logs
    return *logs;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Process>> all_;  // guarded by mutex_
  std::atomic<Process*> current_{nullptr};
};

}  // namespace

void ConfigureLog(const LogOptions& options) {
  ProcessLogs::Get().Replace(options);
}

void Log(LogLevel level, std::string_view message) {
  Process& process = ProcessLogs::Get().current();
  if (!process.logger->should_log(SpdlogLevel(level))) return;
  if (process.json) {
    process.logger->log(SpdlogLevel(level), JsonText(message));
  } else {
    process.logger->log(SpdlogLevel(level), message);
  }
}

bool LogEnabled(LogLevel level) {
  return ProcessLogs::Get().current().logger->should_log(SpdlogLevel(level));
}

}  // namespace tarn

#include "tarn/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

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

Process MakeProcessLog(const LogOptions& options) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
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

Process& ProcessLog() {
  static Process process = MakeProcessLog(LogOptions{.level = LogLevel::kWarning, .program = "tarn"});
  return process;
}

}  // namespace

void ConfigureLog(const LogOptions& options) {
  ProcessLog() = MakeProcessLog(options);
}

void Log(LogLevel level, std::string_view message) {
  Process& process = ProcessLog();
  if (!process.logger->should_log(SpdlogLevel(level))) return;
  if (process.json) {
    process.logger->log(SpdlogLevel(level), JsonText(message));
  } else {
    process.logger->log(SpdlogLevel(level), message);
  }
}

bool LogEnabled(LogLevel level) {
  return ProcessLog().logger->should_log(SpdlogLevel(level));
}

}  // namespace tarn

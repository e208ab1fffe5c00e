#include "index/rocksdb_log.h"

#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "tarn/base/log.h"

namespace tarn::index {
namespace {

// Failures travel as Status, with the file's name; what RocksDB says beside them is for whoever debugs.
class LogBridge final : public rocksdb::Logger {
 public:
  LogBridge() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

  // Hundreds of lines of options at each open.
  void LogHeader(const char* /*format*/, va_list /*arguments*/) override {}

  void Logv(const char* format, va_list arguments) override {
    Logv(rocksdb::InfoLogLevel::WARN_LEVEL, format, arguments);
  }

  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    const LogLevel ours = level >= rocksdb::InfoLogLevel::ERROR_LEVEL ? LogLevel::kInfo : LogLevel::kDebug;
    if (level < GetInfoLogLevel() || !LogEnabled(ours)) return;
    char line[1024] = "rocksdb: ";
    constexpr size_t kPrefix = std::string_view("rocksdb: ").size();
    std::vsnprintf(line + kPrefix, sizeof line - kPrefix, format, arguments);
    Log(ours, line);
  }
};

}  // namespace

std::shared_ptr<rocksdb::Logger> RocksDbLog() {
  static const auto log = std::make_shared<LogBridge>();
  return log;
}

}  // namespace tarn::index

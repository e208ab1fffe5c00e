// ServerClock: what time the file server thinks it is. Ages of files are differences to times that the server
// stamped, so the local clock would make a file that is being written look old when it is ahead.
#ifndef TARN_INDEXER_SERVER_CLOCK_H_
#define TARN_INDEXER_SERVER_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "tarn/base/result.h"

namespace tarn::indexer {

class ServerClock {
 public:
  // Asks the server of `directory` by writing a file there. It is the index root's server: data on another
  // one is judged by this clock.
  static Result<ServerClock> Ask(const std::string& directory);

  // Nanoseconds since 1970-01-01 UTC.
  int64_t Now() const { return LocalNow() + ahead_ns_; }

 private:
  explicit ServerClock(int64_t ahead_ns) : ahead_ns_(ahead_ns) {}
  static int64_t LocalNow() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  int64_t ahead_ns_;  // of the local clock
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_SERVER_CLOCK_H_

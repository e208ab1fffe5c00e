// StopSignal: SIGINT and SIGTERM ask for a clean stop while one of these lives; the earlier handlers come
// back with its end. A second signal of the same kind ends the process at once, as it would have without us.
#ifndef TARN_INDEXER_STOP_SIGNAL_H_
#define TARN_INDEXER_STOP_SIGNAL_H_

#include <csignal>

#include "tarn/base/status.h"

namespace tarn::indexer {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // The signal that came; 0 while none has. May be called from any thread.
  static int Received();
  // kCancelled once a signal has come.
  static Status Check();

 private:
  struct sigaction previous_interrupt_ {};
  struct sigaction previous_terminate_ {};
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_STOP_SIGNAL_H_

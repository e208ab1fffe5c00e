// The publishes of a watch: one at a time, beside the looks, which must not wait for it.
#ifndef TARN_INDEXER_WATCH_PUBLISH_H_
#define TARN_INDEXER_WATCH_PUBLISH_H_

#include <atomic>
#include <optional>
#include <thread>

#include "indexer/publish.h"

namespace tarn::indexer {

class WatchPublisher {
 public:
  WatchPublisher() = default;
  ~WatchPublisher();  // waits; a stop signal ends a publish early
  WatchPublisher(const WatchPublisher&) = delete;
  WatchPublisher& operator=(const WatchPublisher&) = delete;

  bool busy() const { return thread_.joinable(); }
  // Begins a publish; not while busy().
  void Start(PublishOptions options);

  struct Finished {
    std::string dataset;
    Result<PublishReport> report;
  };
  // What has finished since it was started; nothing while it runs, or when nothing was started.
  std::optional<Finished> Take();
  // The same, waiting for it. Not unless busy().
  Finished Wait();

 private:
  PublishOptions options_;
  std::atomic<bool> done_{false};
  std::optional<Result<PublishReport>> report_;  // of the thread until done_
  std::thread thread_;
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_WATCH_PUBLISH_H_

#include "indexer/watch_publish.h"

#include <iostream>
#include <utility>

namespace tarn::indexer {

WatchPublisher::~WatchPublisher() {
  if (thread_.joinable()) thread_.join();
}

void WatchPublisher::Start(PublishOptions options) {
  options_ = std::move(options);
  done_ = false;
  report_.reset();
  thread_ = std::thread([this] {
    Progress progress(&std::cerr, ProgressStyle::kNone);
    report_.emplace(Publish(options_, &progress));
    done_.store(true, std::memory_order_release);
  });
}

std::optional<WatchPublisher::Finished> WatchPublisher::Take() {
  if (!busy() || !done_.load(std::memory_order_acquire)) return std::nullopt;
  return Wait();
}

WatchPublisher::Finished WatchPublisher::Wait() {
  thread_.join();
  return {options_.name, std::move(*report_)};
}

}  // namespace tarn::indexer

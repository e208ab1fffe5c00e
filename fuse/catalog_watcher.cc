#include "fuse/catalog_watcher.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "tarn/base/log.h"

namespace tarn::fuse {
namespace {

constexpr std::chrono::seconds kPatience{1};

}  // namespace

struct CatalogWatcher::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;  // guarded by mutex
  bool ended = false;     // guarded by mutex
};

CatalogWatcher::CatalogWatcher(std::shared_ptr<dataset::Catalog> catalog, std::chrono::milliseconds interval)
    : state_(std::make_shared<State>()) {
  std::thread([catalog = std::move(catalog), interval, state = state_] {
    pthread_setname_np(pthread_self(), "tarn-catalog");
    std::string said;  // what is wrong is said once
    std::unique_lock lock(state->mutex);
    while (!state->changed.wait_for(lock, interval, [&] { return state->stopping; })) {
      lock.unlock();
      const Status status = catalog->Refresh();
      if (status.ok() && !said.empty()) Log(LogLevel::kInfo, "the index root can be read again");
      if (!status.ok() && status.message() != said) {
        Log(LogLevel::kWarning,
            "the index root cannot be looked at, what was known is shown: " + status.message());
      }
      said = status.ok() ? std::string() : status.message();
      lock.lock();
    }
    state->ended = true;
    state->changed.notify_all();
  }).detach();
}

CatalogWatcher::~CatalogWatcher() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kPatience, [this] { return state_->ended; });
}

}  // namespace tarn::fuse

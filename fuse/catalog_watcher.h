// CatalogWatcher: looks at the index root again and again, so that what is published appears in the mount.
//
// A thread of its own: an index volume that hangs holds nobody up, readers go on with what was known. It may
// hang with the volume, so the watcher ends without it when it has to.
#ifndef TARN_FUSE_CATALOG_WATCHER_H_
#define TARN_FUSE_CATALOG_WATCHER_H_

#include <chrono>
#include <memory>

#include "tarn/dataset/catalog.h"

namespace tarn::fuse {

class CatalogWatcher {
 public:
  CatalogWatcher(std::shared_ptr<dataset::Catalog> catalog, std::chrono::milliseconds interval);
  // Waits a second for a look that is under way, then leaves it to itself.
  ~CatalogWatcher();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_CATALOG_WATCHER_H_

#include "indexer/bundle_batch.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "indexer/kill_point.h"
#include "indexer/sync_all.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {

std::string BundleBatch::NewPath() {
  return fmt::format("{}/{}.sst", directory_, paths_.fetch_add(1, std::memory_order_relaxed));
}

Status BundleBatch::Add(Finished bundle) {
  bool full = false;
  {
    const std::lock_guard guard(mutex_);
    if (waiting_.empty()) oldest_ = Clock::now();
    archive_bytes_ += bundle.id.size;
    waiting_.push_back(std::move(bundle));
    full = waiting_.size() >= kMostBundles || archive_bytes_ >= kMostArchiveBytes || IsOld();
  }
  return full ? Flush() : Status::Ok();
}

Status BundleBatch::FlushIfOld() {
  {
    const std::lock_guard guard(mutex_);
    if (!IsOld()) return Status::Ok();
  }
  return Flush();
}

Status BundleBatch::Flush() {
  std::vector<Finished> bundles;
  {
    const std::lock_guard guard(mutex_);
    if (waiting_.empty()) return Status::Ok();
    bundles.swap(waiting_);
    archive_bytes_ = 0;
    ++placing_;
  }
  Status placed = Place(bundles);
  const std::lock_guard guard(mutex_);
  --placing_;
  return placed;
}

Status BundleBatch::Place(const std::vector<Finished>& bundles) {
  std::vector<std::string> files;
  std::set<std::string> shards;
  for (const Finished& bundle : bundles) {
    files.push_back(bundle.file);
    shards.emplace(io::DirName(root_->BundlePath(bundle.id)));
  }
  TARN_RETURN_IF_ERROR(SyncAll(files, io::SyncFile, directory_));
  for (const Finished& bundle : bundles) {
    // The line comes first, and counts once the bundle is there: so there is no instant at which a bundle is
    // complete and the next publish does not know it.
    if (bundle.line) {
      TARN_RETURN_IF_ERROR(journal_->Add(*bundle.line));
      KillPoint("journal-written");
    }
    TARN_RETURN_IF_ERROR(root_->PlaceBundle(bundle.id, bundle.file, bundle.replace));
    KillPoint("bundle-in-place");
  }
  return SyncAll(shards, io::SyncDirectory, directory_);
}

}  // namespace tarn::indexer

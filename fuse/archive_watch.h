// ArchiveWatch: how the archives stand that nobody reads here, and what a mount learns from that.
//
// One process of the cluster looks at everything and writes what it saw next to the generations
// (`tarn-index watch`, dataset/archive_states.h); mounts read that, one small file a dataset. Where there is
// no such process, a mount can look for itself (dataset/archive_patrol.h).
#ifndef TARN_FUSE_ARCHIVE_WATCH_H_
#define TARN_FUSE_ARCHIVE_WATCH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/dataset/archive_bytes.h"
#include "tarn/dataset/archive_patrol.h"
#include "tarn/dataset/archive_states.h"
#include "tarn/index/index_root.h"

namespace tarn::fuse {

enum class WatchMode : uint8_t {
  kNone,
  kShared,  // what the cluster's watch wrote
  kLocal,   // by looking
};

class ArchiveWatch {
 public:
  struct Options {
    WatchMode mode = WatchMode::kShared;
    std::string index_root;  // path
    std::string root_uuid;
    std::vector<std::shared_ptr<io::Source>> sources;
    // The generations that are mounted, at this moment. Does not wait.
    std::function<std::vector<dataset::LiveGeneration>()> generations;
    dataset::ArchiveBytes* bytes = nullptr;  // learns; must outlive this
  };

  explicit ArchiveWatch(Options options);

  // Does what is due; gives how long to wait before the next call. One thread; may wait for a source or the
  // index root.
  std::chrono::milliseconds Step();

  // By dataset, those of which anything is known. From any thread.
  std::map<std::string, dataset::DatasetStates> States() const;

 private:
  std::chrono::milliseconds ReadShared();
  std::chrono::milliseconds LookForMyself();
  // Follows what is mounted.
  void FollowGenerations();
  Status ReadOne(const std::string& dataset);
  void Take(dataset::DatasetStates states);
  Result<std::shared_ptr<const index::GenerationReader>> Open(
      const dataset::LiveGeneration& generation) const;

  const Options options_;
  std::map<std::string, std::string> read_;  // dataset -> how its STATES looked when it was read last
  std::map<std::string, std::string> said_;  // dataset -> what is wrong with its STATES
  std::unique_ptr<dataset::ArchivePatrol> patrol_;
  std::optional<std::chrono::steady_clock::time_point> followed_at_;
  std::vector<std::string> seen_;  // datasets of which the patrol saw something
  mutable std::mutex mutex_;
  std::map<std::string, dataset::DatasetStates> states_;  // guarded by mutex_
};

}  // namespace tarn::fuse

#endif  // TARN_FUSE_ARCHIVE_WATCH_H_

// OwnStaging: a directory of this publisher below staging/, gone with it.
#ifndef TARN_INDEXER_OWN_STAGING_H_
#define TARN_INDEXER_OWN_STAGING_H_

#include <string>
#include <utility>

#include "tarn/base/log.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {

class OwnStaging {
 public:
  // Takes over what IndexRoot::MakeStagingDirectory gave.
  explicit OwnStaging(std::string path) : path_(std::move(path)) {}
  ~OwnStaging() {
    if (const Status status = io::RemoveTree(path_); !status.ok()) {
      Log(LogLevel::kWarning, status.message());  // the next CleanStaging takes it away
    }
  }
  OwnStaging(const OwnStaging&) = delete;
  OwnStaging& operator=(const OwnStaging&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_OWN_STAGING_H_

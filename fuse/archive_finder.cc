#include "fuse/archive_finder.h"

#include <utility>

#include "tarn/base/log.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"

namespace tarn::fuse {

Status ArchiveFinder::Read() {
  known_.clear();
  TARN_ASSIGN_OR_RETURN(const auto root, index::IndexRoot::Open(index_root_));
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, root->Datasets());
  Status first_failure;
  for (const std::string& name : names) {
    const Result<uint32_t> newest = root->Latest(name);
    if (newest.code() == ErrorCode::kNotFound) continue;  // none is listed
    const auto reader = newest.ok() ? index::GenerationReader::Open(root->GenerationPath(name, *newest))
                                    : Result<std::shared_ptr<const index::GenerationReader>>(newest.status());
    const Status read =
        !reader.ok() ? reader.status() : (*reader)->ForEachManifestRow([&](const index::ManifestRow& row) {
          known_[row.id].push_back({(*reader)->facts().source_path, row.path, row.hint});
          return Status::Ok();
        });
    if (first_failure.ok()) first_failure = read;
  }
  return first_failure;
}

std::vector<dataset::KnownPlace> ArchiveFinder::Find(const ArchiveId& id) {
  const std::lock_guard lock(mutex_);
  if (!read_ || Clock::now() - read_at_ > kKept) {
    if (const Status status = Read(); !status.ok()) {
      Log(LogLevel::kWarning, "the index does not say where else archives are: " + status.message());
    }
    read_ = true;
    read_at_ = Clock::now();
  }
  const auto found = known_.find(id);
  return found == known_.end() ? std::vector<dataset::KnownPlace>() : found->second;
}

}  // namespace tarn::fuse

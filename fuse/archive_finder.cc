#include "fuse/archive_finder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tarn/base/log.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"
#include "tarn/io/filesystem.h"

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

// Lists the tree; what cannot be listed or looked at is as if it were not there.
void ArchiveFinder::List(size_t number) {
  const io::Source& source = *searched_[number];
  auto& paths_by_size = listings_[number]->paths_by_size;
  paths_by_size.clear();
  std::vector<std::string> directories{""};
  std::string failed;
  while (!directories.empty()) {
    const std::string directory = std::move(directories.back());
    directories.pop_back();
    const auto items = source.List(directory);
    if (!items.ok()) {
      if (failed.empty()) failed = items.status().message();
      continue;
    }
    for (const io::DirectoryItem& item : *items) {
      std::string path = io::JoinPath(directory, item.name);
      if (item.type == io::FileType::kDirectory) {
        directories.push_back(std::move(path));
      } else if (item.type == io::FileType::kRegular) {
        const auto stat = source.Stat(path);
        if (stat.ok()) paths_by_size[stat->identity.size].push_back(std::move(path));
      }
    }
  }
  if (!failed.empty()) Log(LogLevel::kWarning, "not all of '" + source.name() + "' is searched: " + failed);
}

Result<std::vector<dataset::FoundFile>> ArchiveFinder::Search(const ArchiveId& id, const std::string& path) {
  std::vector<dataset::FoundFile> found;
  for (size_t number = 0; number < searched_.size(); ++number) {
    const size_t source = first_searched_ + number;
    if (!guard_->Enter(source, path)) return Status(ErrorCode::kBusy, "the source is full");
    {
      Listing& listing = *listings_[number];
      const std::lock_guard lock(listing.mutex);
      if (!listing.listed || Clock::now() - listing.listed_at > kFoundKept) {
        List(number);
        listing.listed = true;
        listing.listed_at = Clock::now();
      }
      if (const auto same = listing.paths_by_size.find(id.size); same != listing.paths_by_size.end()) {
        for (const std::string& file : same->second) found.push_back({number, file});
      }
    }
    guard_->Leave(source);
  }
  const std::string_view name = io::BaseName(path);
  std::stable_partition(found.begin(), found.end(),
                        [name](const dataset::FoundFile& file) { return io::BaseName(file.path) == name; });
  return found;
}

}  // namespace tarn::fuse

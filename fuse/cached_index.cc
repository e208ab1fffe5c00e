#include "fuse/cached_index.h"

#include <algorithm>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/io/file_system_kind.h"
#include "tarn/io/filesystem.h"

namespace tarn::fuse {
namespace {

constexpr std::chrono::milliseconds kNothingWanted{3'600'000};
constexpr std::chrono::milliseconds kTryAgain{10'000};

std::string NameOf(const std::string& dataset, uint32_t number) {
  return dataset + "@" + std::to_string(number);
}

// Empty: there is to be no cache.
std::string CacheDirectory(const MountCommand& command, bool root_is_there) {
  if (command.index_cache) return *command.index_cache;
  const std::string& usual = command.default_index_cache;
  // The file system that a missing volume leaves to be seen says nothing of it: what was copied does.
  if (!root_is_there) return !usual.empty() && io::IsDirectory(usual) ? usual : "";
  const Result<bool> network = io::IsOnNetworkFileSystem(command.index.value);
  if (!network.ok()) Log(LogLevel::kWarning, "the index is not copied: " + network.status().message());
  return network.ok() && *network ? usual : "";
}

// Whether a root that cannot be opened may be there again later: its volume is not mounted, or does not
// answer.
bool MayComeBack(const Status& status) {
  switch (status.code()) {
    case ErrorCode::kNotFound:
    case ErrorCode::kInvalidArgument:  // an empty mountpoint is no index root
    case ErrorCode::kIo:
    case ErrorCode::kTimedOut:
      return true;
    default:
      return false;
  }
}

Result<OpenIndex> OpenCopies(const MountCommand& command, const std::string& directory) {
  TARN_ASSIGN_OR_RETURN(auto cache, index::IndexCache::OpenWithoutRoot(directory, command.index.value,
                                                                       command.index_cache_bytes));
  OpenIndex opened;
  TARN_ASSIGN_OR_RETURN(opened.copies, index::IndexRoot::Open(cache->path()));
  opened.root = index::IndexRoot::Remembered(command.index.value, opened.copies->uuid(),
                                             opened.copies->format_version());
  opened.cache = std::make_unique<CachedIndex>(std::move(cache), *opened.root);
  return opened;
}

// `failure`: why the root cannot be opened.
Result<OpenIndex> OpenWithoutRoot(const MountCommand& command, Status failure) {
  const std::string directory = CacheDirectory(command, /*root_is_there=*/false);
  if (directory.empty() || !MayComeBack(failure)) return failure;
  Result<OpenIndex> opened = OpenCopies(command, directory);
  if (!opened.ok()) {
    if (opened.code() != ErrorCode::kNotFound) Log(LogLevel::kWarning, opened.status().ToString());
    return failure;
  }
  if (command.dataset && !command.dataset->generation && !command.dataset->digest) {
    return std::move(failure).WithHint(
        "which generation is the newest is not known without it; one that is "
        "cached in '" +
        directory + "' can be named: --dataset " + command.dataset->name + "@N");
  }
  Log(LogLevel::kWarning, failure.message() + ": what is cached in '" + directory + "' is shown");
  return opened;
}

}  // namespace

Result<OpenIndex> OpenIndexRoot(const MountCommand& command) {
  auto root = index::IndexRoot::Open(command.index.value);
  if (!root.ok()) return OpenWithoutRoot(command, command.index.Explain(std::move(root).status()));
  OpenIndex opened;
  opened.root = std::move(root).value();
  const std::string directory = CacheDirectory(command, /*root_is_there=*/true);
  if (directory.empty()) return opened;
  auto cache = index::IndexCache::Open(directory, *opened.root, command.index_cache_bytes);
  if (cache.ok()) {
    opened.cache = std::make_unique<CachedIndex>(std::move(cache).value(), *opened.root);
  } else {
    Log(LogLevel::kWarning,
        "the index is read from '" + opened.root->path() + "' itself: " + cache.status().ToString());
  }
  return opened;
}

Result<std::vector<dataset::CatalogDataset>> ListDatasets(const index::IndexRoot& root) {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, root.Datasets());
  std::vector<dataset::CatalogDataset> datasets;
  for (const std::string& name : names) {
    dataset::CatalogDataset dataset;
    dataset.name = name;
    TARN_ASSIGN_OR_RETURN(dataset.number, root.DatasetNumber(name));
    TARN_ASSIGN_OR_RETURN(dataset.generations, root.Generations(name));
    datasets.push_back(std::move(dataset));
  }
  return datasets;
}

CachedIndex::CachedIndex(std::unique_ptr<index::IndexCache> cache, const index::IndexRoot& root)
    : cache_(std::move(cache)),
      root_(index::IndexRoot::Remembered(root.path(), root.uuid(), root.format_version())) {}

Result<std::shared_ptr<const index::GenerationReader>> CachedIndex::Open(const std::string& dataset,
                                                                         uint32_t number, bool soon,
                                                                         const index::ReaderOptions& reader) {
  if (auto copy = OpenCopy(dataset, number, reader)) return copy;
  Copied copied = Copied::kLater;
  if (soon && IsSmall(dataset, number)) copied = Copy({dataset, number});
  if (copied == Copied::kYes) {
    if (auto copy = OpenCopy(dataset, number, reader)) return copy;
  }
  auto original = index::GenerationReader::Open(root_->GenerationPath(dataset, number), reader);
  if (original.ok() && copied == Copied::kLater) WantCopy({dataset, number});
  return original;
}

// Null when there is no copy, or none that can be used: that one is removed.
std::shared_ptr<const index::GenerationReader> CachedIndex::OpenCopy(const std::string& dataset,
                                                                     uint32_t number,
                                                                     const index::ReaderOptions& reader) {
  const std::optional<std::string> path = cache_->Find(dataset, number);
  if (!path) return nullptr;
  auto copy = index::GenerationReader::Open(*path, reader);
  if (copy.ok()) return std::move(copy).value();
  Log(LogLevel::kWarning, "a copy of the index is removed: " + copy.status().message());
  if (const Status removed = cache_->Discard(dataset, number); !removed.ok()) {
    Log(LogLevel::kWarning, "it is not removed: " + removed.message());
  }
  return nullptr;
}

bool CachedIndex::IsSmall(const std::string& dataset, uint32_t number) const {
  const auto missing = cache_->MissingOf(root_->GenerationPath(dataset, number));
  return missing.ok() && missing->bytes <= kCopyFirstBytes && missing->files <= kCopyFirstFiles;
}

CachedIndex::Copied CachedIndex::Copy(const Generation& generation) {
  const auto& [dataset, number] = generation;
  const Status status = cache_->Copy(root_->GenerationPath(dataset, number), dataset, number);
  if (status.ok()) return Copied::kYes;
  // The root may be away for a while, and another server copies: then the copy is made later.
  const bool later = status.code() == ErrorCode::kBusy || status.code() == ErrorCode::kIo ||
                     status.code() == ErrorCode::kTimedOut || status.code() == ErrorCode::kNotFound;
  if (status.code() == ErrorCode::kCancelled) return Copied::kNever;
  const std::lock_guard lock(mutex_);
  if (status.code() != ErrorCode::kBusy && said_.insert(generation).second) {
    Log(LogLevel::kWarning, NameOf(dataset, number) + " is read from the index root: " + status.ToString());
  }
  return later ? Copied::kLater : Copied::kNever;
}

void CachedIndex::WantCopy(const Generation& generation) {
  const std::lock_guard lock(mutex_);
  if (std::find(wanted_.begin(), wanted_.end(), generation) != wanted_.end()) return;
  wanted_.push_back(generation);
  if (thread_ != nullptr) thread_->Wake();
}

std::chrono::milliseconds CachedIndex::CopyBehind() {
  Generation generation;
  {
    const std::lock_guard lock(mutex_);
    if (wanted_.empty()) return kNothingWanted;
    generation = wanted_.front();
    wanted_.pop_front();
  }
  const Copied copied = Copy(generation);
  if (copied == Copied::kYes) {
    Log(LogLevel::kInfo, NameOf(generation.first, generation.second) + " is copied to '" + cache_->path() +
                             "': who opens it next reads that");
  }
  const std::lock_guard lock(mutex_);
  if (copied != Copied::kLater) return wanted_.empty() ? kNothingWanted : std::chrono::milliseconds(0);
  wanted_.push_back(generation);
  return kTryAgain;
}

CacheFacts CachedIndex::facts() const {
  const index::IndexCache::Totals totals = cache_->totals();
  return {.path = cache_->path(), .bytes = totals.bytes, .generations = totals.generations};
}

void CachedIndex::Start() {
  const std::lock_guard lock(mutex_);
  thread_ = std::make_unique<PeriodicThread>("tarn-cache", std::chrono::milliseconds(0),
                                             [this] { return CopyBehind(); });
}

bool CachedIndex::Stop(std::chrono::milliseconds patience) {
  cache_->Cancel();
  return thread_ == nullptr || thread_->Stop(patience);
}

}  // namespace tarn::fuse

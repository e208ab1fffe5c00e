#include "fuse/dataset_service.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "fuse/status_report.h"
#include "tarn/base/log.h"
#include "tarn/index/index_root.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/random_access_file.h"
#include "tarn/io/shared_file.h"

namespace tarn::fuse {
namespace {

// Descriptors that are neither index nor archives: streams, /dev/fuse, the log, sockets.
constexpr rlim_t kOtherDescriptors = 64;

// Where every dataset is shown: so many generations that are in use share what there is.
constexpr int kGenerationsAtOnce = 8;
constexpr int kLeastOpenFiles = 64;

struct DescriptorBudget {
  unsigned archives = 0;
  int index = 0;
};

// Takes as many descriptors as the hard limit grants and shares them out: the index needs one for each SST
// file, archives one each while they are read.
DescriptorBudget TakeDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == -1) return {.archives = 256, .index = 256};
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == -1) getrlimit(RLIMIT_NOFILE, &limit);
  }
  const rlim_t usable =
      limit.rlim_cur > 2 * kOtherDescriptors ? limit.rlim_cur - kOtherDescriptors : kOtherDescriptors;
  return {.archives = static_cast<unsigned>(std::clamp<rlim_t>(usable / 4, 16, 4096)),
          .index = static_cast<int>(std::clamp<rlim_t>(usable / 2, 16, 4096))};
}

// Archives that were touched are left to their readers for so long: who touches them may not be done.
constexpr std::chrono::seconds kCheckAfter{10};
constexpr std::chrono::milliseconds kCheckEvery{100};
constexpr std::chrono::milliseconds kLookForTouched{1000};

Result<std::vector<std::shared_ptr<io::Source>>> OpenSources(const std::vector<Setting>& settings) {
  std::vector<std::shared_ptr<io::Source>> sources;
  for (const Setting& setting : settings) {
    auto source = io::OpenSource(setting.value);
    if (!source.ok()) {
      return setting.Explain(std::move(source).status())
          .WithHint("a source is the directory below which the datasets' archives are");
    }
    sources.push_back(std::move(source).value());
  }
  return sources;
}

// Whether a source has `path` of the dataset: below the place it was published from, or as the dataset
// itself.
bool IsSomewhere(const std::vector<std::shared_ptr<io::Source>>& sources, const std::string& source_path,
                 const std::string& path) {
  return std::any_of(sources.begin(), sources.end(), [&](const auto& source) {
    return source->Stat(io::JoinPath(source_path, path)).ok() || source->Stat(path).ok();
  });
}

// A file that is gone is an error of its readers alone, but a mount of which nothing is there was started
// with the wrong source, and says so now rather than in every read. Looks until it finds one, and not for
// ever.
Status CheckSources(const index::GenerationReader& generation, const MountCommand& command,
                    const std::vector<std::shared_ptr<io::Source>>& sources) {
  constexpr unsigned kLooks = 1000;
  unsigned looks = 0;
  bool found = false;
  std::string missing;
  const std::string& place = generation.facts().source_path;
  const Status status = generation.ForEachManifestRow([&](const index::ManifestRow& row) {
    found = IsSomewhere(sources, place, row.path);
    if (missing.empty()) missing = row.path;
    const bool enough = found || ++looks == kLooks;
    return enough ? Status(ErrorCode::kCancelled, "enough") : Status::Ok();
  });
  if (!status.ok() && status.code() != ErrorCode::kCancelled) return status;
  if (found || missing.empty()) return Status::Ok();
  std::string tried;
  for (const Setting& source : command.sources) tried += (tried.empty() ? "" : ", ") + source.Describe();
  return Status(ErrorCode::kNotFound, "no source has the files of " + generation.facts().dataset + ": '" +
                                          missing + "' is in none of " + tried + ", neither below '" + place +
                                          "' nor by itself")
      .WithHint("a source is the directory below which '" + place + "' lies, or the dataset's own directory");
}

// Sources in the order in which ArchiveBytes numbers them.
std::unique_ptr<SourceGate> MakeGate(const dataset::ArchiveBytesOptions& bytes, unsigned max_workers) {
  std::vector<std::string> names;
  for (const auto& source : bytes.sources) names.push_back(source->name());
  for (const auto& source : bytes.searched) names.push_back(source->name());
  names.push_back(bytes.kept->name());
  return std::make_unique<SourceGate>(std::move(names), max_workers);
}

// Whether there is a place for what a successor is to find; a mount without one serves as well.
bool UseRuntimeDirectory(const std::string& path) {
  if (path.empty()) return false;
  const Status made = io::MakePrivateDirectory(path);
  if (!made.ok()) {
    Log(LogLevel::kWarning,
        "nothing is kept for the next server: " +
            std::move(Status(made)).WithHint("name a directory of your own with --runtime-dir").ToString());
  }
  return made.ok();
}

}  // namespace

Status DatasetService::OpenGeneration(const MountCommand& command, const index::IndexRoot& root,
                                      const index::ReaderOptions& reader,
                                      const std::vector<std::shared_ptr<io::Source>>& sources) {
  TARN_ASSIGN_OR_RETURN(const uint32_t generation, root.Resolve(*command.dataset));
  const std::string& name = command.dataset->name;
  auto opened = index_cache_ != nullptr
                    ? index_cache_->Open(name, generation, /*soon=*/true, reader)
                    : index::GenerationReader::Open(root.GenerationPath(name, generation), reader);
  TARN_RETURN_IF_ERROR(opened.status());
  generation_ = std::move(opened).value();
  TARN_RETURN_IF_ERROR(CheckSources(*generation_, command, sources));
  TARN_ASSIGN_OR_RETURN(const dataset::NodeId node, tree_->Attach(generation_));
  file_system_ = std::make_unique<FileSystem>(tree_.get(), node);
  record_.dataset = generation_->facts().dataset + "@" + std::to_string(generation_->facts().generation);
  return Status::Ok();
}

Status DatasetService::OpenCatalog(const MountCommand& command, OpenIndex opened,
                                   index::ReaderOptions reader) {
  // Of each generation, of which there may be many; the cache is that of all.
  reader.max_open_files = std::max(reader.max_open_files / kGenerationsAtOnce, kLeastOpenFiles);
  reader.block_cache = index::MakeBlockCache(reader.block_cache_bytes);
  dataset::CatalogOptions options;
  options.reader = std::move(reader);
  options.status = [this] { return Report(); };
  if (index_cache_ != nullptr) {
    options.open = [cache = index_cache_.get()](const std::string& dataset, uint32_t generation, bool newest,
                                                const index::ReaderOptions& opened_with) {
      return cache->Open(dataset, generation, newest, opened_with);
    };
  }
  if (opened.copies != nullptr) {
    TARN_ASSIGN_OR_RETURN(options.known, ListDatasets(*opened.copies));
  }
  TARN_ASSIGN_OR_RETURN(catalog_,
                        dataset::Catalog::Open(std::move(opened.root), tree_.get(), std::move(options)));
  file_system_ = std::make_unique<FileSystem>(tree_.get(), catalog_.get());
  record_.dataset = "*";
  catalog_interval_ = command.catalog_interval;
  return Status::Ok();
}

Result<std::unique_ptr<DatasetService>> DatasetService::Open(const MountCommand& command) {
  TARN_ASSIGN_OR_RETURN(OpenIndex opened, OpenIndexRoot(command));
  const index::IndexRoot* const root = opened.root.get();
  const DescriptorBudget descriptors = TakeDescriptors();

  std::unique_ptr<DatasetService> service(new DatasetService);
  service->index_cache_ = std::move(opened.cache);
  dataset::ArchiveBytesOptions bytes;
  TARN_ASSIGN_OR_RETURN(bytes.sources, OpenSources(command.sources));
  TARN_ASSIGN_OR_RETURN(bytes.searched, OpenSources(command.searched));
  TARN_ASSIGN_OR_RETURN(bytes.kept, io::OpenSource(opened.readable().path()));
  service->gate_ = MakeGate(bytes, command.session.max_workers);
  bytes.guard = service->gate_.get();
  bytes.identity_interval = command.identity_interval;
  bytes.retry_for = command.retry_for;
  bytes.verify = command.verify;
  bytes.read_ahead = command.read_ahead;
  bytes.max_open_files = descriptors.archives;
  if (UseRuntimeDirectory(command.runtime_directory)) {
    bytes.verdict_file = io::JoinPath(command.runtime_directory, "verdicts");
    service->check_lock_ = io::JoinPath(command.runtime_directory, "checking");
  }
  service->check_bytes_per_second_ = command.check_bytes_per_second;
  service->finder_ = std::make_unique<ArchiveFinder>(root->path(), bytes.searched, bytes.sources.size(),
                                                     service->gate_.get());
  bytes.find_elsewhere = [finder = service->finder_.get()](const ArchiveId& id) { return finder->Find(id); };
  if (!bytes.searched.empty()) {
    bytes.search = [finder = service->finder_.get()](const ArchiveId& id, const std::string& path) {
      return finder->Search(id, path);
    };
  }
  bytes.forget_cached = [forgetter = &service->forgetter_](const dataset::ChangedArchive& archive,
                                                           std::function<void()> report) {
    forgetter->Forget(archive, std::move(report));
  };
  const std::vector<std::shared_ptr<io::Source>> sources = bytes.sources;
  service->bytes_ = std::make_shared<dataset::ArchiveBytes>(std::move(bytes));
  service->tree_ = std::make_unique<dataset::FileTree>(command.tree, service->bytes_);

  if (command.watch != WatchMode::kNone) {
    service->watch_ = std::make_unique<ArchiveWatch>(
        ArchiveWatch::Options{.mode = command.watch,
                              .index_root = root->path(),
                              .root_uuid = root->uuid(),
                              .sources = sources,
                              .generations = [service = service.get()] { return service->Generations(); },
                              .bytes = service->bytes_.get()});
  }
  service->record_.root_uuid = root->uuid();
  service->record_.tree = command.tree;
  service->record_.verify = command.verify;
  index::ReaderOptions reader;
  reader.max_open_files = descriptors.index;
  TARN_RETURN_IF_ERROR(command.dataset ? service->OpenGeneration(command, opened.readable(), reader, sources)
                                       : service->OpenCatalog(command, std::move(opened), std::move(reader)));
  return service;
}

std::string DatasetService::Report() const {
  return StatusReport(
      {.root = &catalog_->root(),
       .cache = index_cache_ != nullptr ? std::optional(index_cache_->facts()) : std::nullopt,
       .datasets = catalog_->datasets(),
       .watched = watch_ != nullptr ? watch_->States() : std::map<std::string, dataset::DatasetStates>(),
       .archives = bytes_->Overview(kMostTroubled),
       .reads = bytes_->Totals(),
       .sources = gate_->Totals()});
}

std::vector<dataset::LiveGeneration> DatasetService::Generations() const {
  if (generation_ != nullptr) {
    return {{.dataset = generation_->facts().dataset, .number = generation_->facts().generation}};
  }
  std::vector<dataset::LiveGeneration> generations;
  for (const dataset::CatalogDataset& dataset : catalog_->datasets()) {
    for (const uint32_t number : dataset.generations) generations.push_back({dataset.name, number});
  }
  return generations;
}

std::string DatasetService::Describe() const {
  if (generation_ != nullptr) return name() + ", digest " + generation_->facts().digest.ToHex();
  return std::to_string(catalog_->datasets().size()) + " datasets of index root '" + catalog_->root().path() +
         "'";
}

void DatasetService::Start(Session* session) {
  if (catalog_ != nullptr) watcher_ = std::make_unique<CatalogWatcher>(catalog_, catalog_interval_);
  if (index_cache_ != nullptr) index_cache_->Start();
  forgetter_.Start([session](dataset::NodeId file) { session->Forget(file); });
  if (watch_ != nullptr) {
    watch_thread_ = std::make_unique<PeriodicThread>("tarn-watch", std::chrono::milliseconds(0),
                                                     [this] { return watch_->Step(); });
  }
  if (check_bytes_per_second_ == 0) return;
  checker_ = std::make_unique<PeriodicThread>("tarn-check", kCheckEvery, [this] {
    return CheckWhatWasTouched() == 0 ? kLookForTouched : kCheckEvery;
  });
}

uint64_t DatasetService::CheckWhatWasTouched() {
  const uint64_t bytes =
      std::max<uint64_t>(check_bytes_per_second_ / (std::chrono::seconds(1) / kCheckEvery), 1);
  if (check_lock_.empty()) return bytes_->CheckBehind(bytes, kCheckAfter);
  // One of the machine's servers at a time: they share what they find out.
  const auto lock = io::FileLock::TryAcquire(check_lock_);
  return !lock.ok() || *lock ? bytes_->CheckBehind(bytes, kCheckAfter) : 0;
}

bool DatasetService::Stop(std::chrono::milliseconds patience) {
  const bool watched = watch_thread_ == nullptr || watch_thread_->Stop(patience);
  const bool copied = index_cache_ == nullptr || index_cache_->Stop(patience);
  const bool checked = checker_ == nullptr || checker_->Stop(patience);
  return forgetter_.Stop(patience) && checked && copied && watched;
}

}  // namespace tarn::fuse

#include "fuse/dataset_service.h"

#include <sys/resource.h>

#include <algorithm>

#include "tarn/base/log.h"
#include "tarn/index/index_root.h"
#include "tarn/io/random_access_file.h"

namespace tarn::fuse {
namespace {

// Descriptors that are neither index nor archives: streams, /dev/fuse, the log, sockets.
constexpr rlim_t kOtherDescriptors = 64;

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

}  // namespace

Result<std::unique_ptr<DatasetService>> DatasetService::Open(const MountCommand& command) {
  auto root = index::IndexRoot::Open(command.index.value);
  if (!root.ok()) return command.index.Explain(std::move(root).status());
  TARN_ASSIGN_OR_RETURN(const uint32_t generation, (*root)->Resolve(command.dataset));
  const DescriptorBudget descriptors = TakeDescriptors();

  std::unique_ptr<DatasetService> service(new DatasetService);
  index::ReaderOptions reader_options;
  reader_options.max_open_files = descriptors.index;
  TARN_ASSIGN_OR_RETURN(service->generation_,
                        index::GenerationReader::Open(
                            (*root)->GenerationPath(command.dataset.name, generation), reader_options));

  dataset::ArchiveBytesOptions bytes;
  TARN_ASSIGN_OR_RETURN(bytes.sources, OpenSources(command.sources));
  bytes.identity_interval = command.identity_interval;
  bytes.verify = command.verify;
  bytes.max_open_files = descriptors.archives;
  service->tree_ = std::make_unique<dataset::FileTree>(
      command.tree, std::make_shared<dataset::ArchiveBytes>(std::move(bytes)));
  TARN_ASSIGN_OR_RETURN(const dataset::NodeId node, service->tree_->Attach(service->generation_));
  service->file_system_ = std::make_unique<FileSystem>(service->tree_.get(), node);

  service->record_.root_uuid = (*root)->uuid();
  service->record_.dataset = service->name();
  service->record_.tree = command.tree;
  service->record_.verify = command.verify;
  return service;
}

std::string DatasetService::name() const {
  return facts().dataset + "@" + std::to_string(facts().generation);
}

}  // namespace tarn::fuse

#include "cli/dataset_path.h"

#include <utility>

#include "cli/index_view.h"
#include "cli/mount_view.h"
#include "tarn/base/bytes.h"
#include "tarn/index/generation_reader.h"

namespace tarn::cli {

void AddIndexOption(CLI::App* app, PlaceOptions* options) {
  app->add_option("--index", options->index, "Index root (default: TARN_INDEX, then the configuration file)");
}

void AddSourceOption(CLI::App* app, PlaceOptions* options) {
  app->add_option("--source", options->sources,
                  "Directory below which the datasets' archives are; may be given several times (default: "
                  "TARN_SOURCE, then the configuration file)")
      ->allow_extra_args(false);
}

Result<std::unique_ptr<index::IndexRoot>> OpenIndexRoot(const Config& config, const PlaceOptions& options) {
  TARN_ASSIGN_OR_RETURN(const Setting setting, config.Index(options.index));
  auto root = index::IndexRoot::Open(setting.value);
  if (!root.ok()) return setting.Explain(std::move(root).status());
  return root;
}

DatasetPaths::DatasetPaths(const Program& program, PlaceOptions options, Sources sources)
    : options_(std::move(options)), sources_(sources), config_(program) {}

Result<std::vector<std::shared_ptr<io::Source>>> OpenSources(const Config& config,
                                                             const PlaceOptions& options) {
  TARN_ASSIGN_OR_RETURN(const std::vector<Setting> settings, config.Sources(options.sources));
  std::vector<std::shared_ptr<io::Source>> opened;
  for (const Setting& setting : settings) {
    auto source = io::OpenSource(setting.value);
    if (!source.ok()) {
      return setting.Explain(std::move(source).status())
          .WithHint("a source is the directory below which the datasets' archives are");
    }
    opened.push_back(std::move(source).value());
  }
  return opened;
}

Result<std::vector<std::shared_ptr<io::Source>>> DatasetPaths::SourcesFor() const {
  if (sources_ == Sources::kNeeded || !options_.sources.empty()) return OpenSources(config_, options_);
  std::vector<std::shared_ptr<io::Source>> opened;
  const auto settings = config_.Sources(options_.sources);
  if (!settings.ok()) return opened;
  for (const Setting& setting : *settings) {
    auto source = io::OpenSource(setting.value);
    if (source.ok()) opened.push_back(std::move(source).value());
  }
  return opened;
}

Result<DatasetPaths::Target> DatasetPaths::OpenDataset(const index::DatasetReference& reference,
                                                       std::string path) {
  if (root_ == nullptr) {
    TARN_ASSIGN_OR_RETURN(root_, OpenIndexRoot(config_, options_));
  }
  TARN_ASSIGN_OR_RETURN(const uint32_t number, root_->Resolve(reference));
  std::unique_ptr<View>& view = views_[reference.name + "@" + std::to_string(number)];
  if (view == nullptr) {
    TARN_ASSIGN_OR_RETURN(auto sources, SourcesFor());
    TARN_ASSIGN_OR_RETURN(auto generation,
                          index::GenerationReader::Open(root_->GenerationPath(reference.name, number)));
    TARN_ASSIGN_OR_RETURN(auto kept, io::OpenSource(root_->path()));
    TARN_ASSIGN_OR_RETURN(view, IndexView::Open(std::move(generation), std::move(sources), std::move(kept)));
  }
  return Target{view.get(), std::move(path)};
}

Result<DatasetPaths::Target> DatasetPaths::Open(const std::string& argument) {
  const bool is_path = argument.starts_with('/') || argument.starts_with("./") || argument.starts_with("../");
  const size_t colon = argument.find(':');
  if (!is_path && colon != std::string::npos && argument.find('/') > colon) {
    TARN_ASSIGN_OR_RETURN(const auto reference, index::DatasetReference::Parse(argument.substr(0, colon)));
    return OpenDataset(reference, argument.substr(colon + 1));
  }
  const Result<bool> shown = MountView::Shows(argument);
  if (shown.ok() && *shown) {
    std::unique_ptr<View>& view = views_[""];
    if (view == nullptr) view = std::make_unique<MountView>();
    return Target{view.get(), argument};
  }
  if (!is_path) {
    if (const auto reference = index::DatasetReference::Parse(argument); reference.ok()) {
      return OpenDataset(*reference, "");
    }
  }
  if (!shown.ok()) return shown.status();
  return Status(ErrorCode::kInvalidArgument, "'" + EscapeName(argument) + "' is not below a mount of Tarn")
      .WithHint(
          "name a dataset as NAME[@GENERATION]:PATH ('tarn datasets' lists them), or a path below a mount");
}

}  // namespace tarn::cli

#include "tarn/index/survey.h"

#include <algorithm>
#include <optional>

#include "tarn/index/generation_reader.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

constexpr std::string_view kBundleSuffix = ".sst";

// The archive whose bundle `path` is by its name and place.
std::optional<ArchiveId> BundleOf(const IndexRoot& root, const std::string& path) {
  std::string_view name = io::BaseName(path);
  if (!name.ends_with(kBundleSuffix)) return std::nullopt;
  name.remove_suffix(kBundleSuffix.size());
  const auto id = ArchiveId::FromString(name);
  if (!id || root.BundlePath(*id) != path) return std::nullopt;
  return id;
}

Status ReadNames(const std::string& directory, std::vector<ArchiveId>* names) {
  TARN_ASSIGN_OR_RETURN(const auto reader, GenerationReader::Open(directory));
  TARN_RETURN_IF_ERROR(reader->ForEachManifestRow([names](const ManifestRow& row) {
    names->push_back(row.id);
    return Status::Ok();
  }));
  std::sort(names->begin(), names->end());
  names->erase(std::unique(names->begin(), names->end()), names->end());
  return Status::Ok();
}

}  // namespace

Result<std::vector<StoredBundle>> ListBundles(const IndexRoot& root,
                                              const std::function<void(const std::string&)>& foreign) {
  std::vector<StoredBundle> bundles;
  TARN_RETURN_IF_ERROR(io::WalkFiles(io::JoinPath(root.path(), "bundles"),
                                     [&](const std::string& path, const io::FileFacts& facts) {
                                       const auto id = BundleOf(root, path);
                                       if (id && facts.type == io::FileType::kRegular) {
                                         bundles.push_back({*id, path, facts});
                                       } else if (foreign) {
                                         foreign(path);
                                       }
                                       return Status::Ok();
                                     }));
  return bundles;
}

Result<StoredGeneration> LookAtGeneration(const IndexRoot& root, const std::string& dataset,
                                          uint32_t generation) {
  StoredGeneration stored{.dataset = dataset,
                          .generation = generation,
                          .retired = root.IsRetired(dataset, generation),
                          .files = {},
                          .names = {},
                          .readable = Status::Ok()};
  const std::string directory = root.GenerationPath(dataset, generation);
  TARN_RETURN_IF_ERROR(io::WalkFiles(directory, [&](const std::string&, const io::FileFacts& facts) {
    stored.files.push_back(facts);
    return Status::Ok();
  }));
  stored.readable = ReadNames(directory, &stored.names);
  return stored;
}

Status ForEachGeneration(const IndexRoot& root, const std::function<Status(const StoredGeneration&)>& visit) {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> datasets, root.Datasets());
  for (const std::string& dataset : datasets) {
    TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> generations, root.AllGenerations(dataset));
    for (const uint32_t generation : generations) {
      const Result<StoredGeneration> stored = LookAtGeneration(root, dataset, generation);
      if (!stored.ok() && !io::IsDirectory(root.GenerationPath(dataset, generation))) continue;
      if (!stored.ok()) return stored.status();
      TARN_RETURN_IF_ERROR(visit(*stored));
    }
  }
  return Status::Ok();
}

}  // namespace tarn::index

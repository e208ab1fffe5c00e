#include "bench/dataset_place.h"

#include "tarn/base/config.h"

namespace tarn::bench {

void DeclareDatasetPlace(CLI::App* app, DatasetPlace* place) {
  app->add_option("--index", place->index, "index root (else TARN_INDEX, the configuration)");
  app->add_option("--dataset", place->dataset, "dataset, NAME[@N]");
  app->add_option("--source", place->source,
                  "source root, or the dataset's directory (else TARN_SOURCE, ...)");
  app->add_option("--archives", place->archives,
                  "in place of --dataset: the tars below DIR, without an index");
  app->add_option("--files", place->files, "in place of --dataset: the files below DIR");
}

Result<MemberList> LoadMembers(const DatasetPlace& place, const Program& program) {
  const int named =
      (place.dataset.empty() ? 0 : 1) + (place.archives.empty() ? 0 : 1) + (place.files.empty() ? 0 : 1);
  if (named != 1) {
    return Status(ErrorCode::kInvalidArgument, "expected one of --dataset, --archives and --files, found " +
                                                   std::string(named == 0 ? "none" : "several"))
        .WithHint("--dataset NAME with --index and --source, or --archives DIR for tars without an index");
  }
  if (!place.archives.empty()) return MemberList::FromArchives(place.archives);
  if (!place.files.empty()) return MemberList::FromFiles(place.files);
  const Config config(program);
  TARN_ASSIGN_OR_RETURN(const Setting index, config.Index(place.index));
  TARN_ASSIGN_OR_RETURN(
      const auto sources,
      config.Sources(place.source ? std::vector<std::string>{*place.source} : std::vector<std::string>{}));
  return MemberList::FromIndex(index.value, place.dataset, sources.front().value);
}

void DescribeMembers(const MemberList& list, Facts* facts) {
  const std::string section = "dataset";
  facts->push_back({section, "name", list.name()});
  if (!list.digest().empty()) facts->push_back({section, "digest", list.digest()});
  if (!list.index_uuid().empty()) facts->push_back({section, "index_uuid", list.index_uuid()});
  facts->push_back({section, "archives", std::to_string(list.archives().size())});
  facts->push_back({section, "files", std::to_string(list.targets().size())});
  facts->push_back({section, "bytes", std::to_string(list.total_bytes())});
}

}  // namespace tarn::bench

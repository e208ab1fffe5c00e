// IndexView: a generation read straight from its index and archives, no mount needed.
#ifndef TARN_CLI_INDEX_VIEW_H_
#define TARN_CLI_INDEX_VIEW_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/view.h"
#include "tarn/dataset/file_tree.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/random_access_file.h"

namespace tarn::cli {

class IndexView final : public View {
 public:
  // `sources` may be empty: then nothing can be read, and owners are those of the publication.
  static Result<std::unique_ptr<IndexView>> Open(std::shared_ptr<const index::GenerationReader> generation,
                                                 std::vector<std::shared_ptr<io::Source>> sources,
                                                 std::shared_ptr<io::Source> kept = nullptr);

  Result<NodeFacts> Find(std::string_view path, bool follow) const override;
  Status List(const NodeFacts& directory,
              const std::function<void(std::string_view, const NodeFacts&)>& visit) const override;
  Result<std::string> ReadLink(const NodeFacts& link) const override;
  Status Read(const NodeFacts& file,
              const std::function<Status(std::span<const std::byte>)>& consume) const override;
  Result<nlohmann::ordered_json> AllFacts(const NodeFacts& node) const override;

 private:
  // What stands behind a node: an archive's manifest row, a member.
  struct Origin {
    index::ManifestRow row;
    std::optional<uint32_t> ordinal;  // of the member, if one names it
    std::optional<index::MemberRecord> member;
  };

  IndexView(std::shared_ptr<const index::GenerationReader> generation,
            std::vector<std::shared_ptr<io::Source>> sources, std::shared_ptr<io::Source> kept);

  static NodeFacts FactsOf(const dataset::Attributes& attributes, std::string path);
  Status NoSuchName(dataset::NodeId directory, const std::string& path, std::string_view name) const;
  Result<std::optional<Origin>> OriginOf(dataset::NodeId node) const;
  // Where the archive's file is on this machine, and how it stands to what was published.
  nlohmann::ordered_json FileOf(const index::ManifestRow& row) const;

  const std::shared_ptr<const index::GenerationReader> generation_;
  const std::vector<std::shared_ptr<io::Source>> sources_;
  dataset::FileTree tree_;
  dataset::NodeId root_;
};

}  // namespace tarn::cli

#endif  // TARN_CLI_INDEX_VIEW_H_

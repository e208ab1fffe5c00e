// Catalog: every dataset of an index root as one tree, around the generations that FileTree shows.
//
//     /imagenet -> imagenet@7            the newest generation that is listed
//     /imagenet@7/                       immutable; everything below it is FileTree's
//     /imagenet@<digest> -> imagenet@7   not listed, but there for whoever asks
//     /.tarn/status.json
//
// What is listed follows the index root (Refresh). A retired generation is listed no more and is found by its
// name until gc takes it; one that somebody has used stays usable as long as the process lives. Generations
// are opened when somebody first asks for something in them. Nodes here have dataset number 0; all is
// computed from them, so that any server of the same root answers the same. All functions may be called from
// any thread.
#ifndef TARN_DATASET_CATALOG_H_
#define TARN_DATASET_CATALOG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/dataset/file_tree.h"
#include "tarn/dataset/node_id.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"

namespace tarn::dataset {

// One dataset as it is listed.
struct CatalogDataset {
  std::string name;
  uint32_t number = 0;
  std::vector<uint32_t> generations;  // rising
  // Those that are listed no more and that somebody has used here, rising: their paths, open files and
  // working directories go on. Until gc takes them from the index root, and after that as far as they are
  // open.
  std::vector<uint32_t> retired_in_use;
};

struct CatalogOptions {
  index::ReaderOptions reader;          // of each generation that is opened
  std::function<std::string()> status;  // the text of .tarn/status.json, made when somebody looks at it
  // How long the text that was made last is shown.
  std::chrono::milliseconds status_interval{1000};
  // Opens a generation in the place of the catalog, from a copy for one; `newest`: of those that are listed.
  // Called for one at a time, while those who ask for any wait. Null: it is opened in the index root.
  std::function<Result<std::shared_ptr<const index::GenerationReader>>(
      const std::string& dataset, uint32_t generation, bool newest, const index::ReaderOptions& reader)>
      open = nullptr;
  // What is listed while the index root cannot be read: the root is first looked at by Refresh, which checks
  // that what is there then has the UUID that is expected. Nothing: it is looked at by Open.
  std::optional<std::vector<CatalogDataset>> known = std::nullopt;
};

class Catalog {
 public:
  static constexpr NodeId kRoot{1};
  static constexpr NodeId kTarnDirectory = NodeId::Directory(0, 0, 1);
  static constexpr NodeId kStatusFile = NodeId::File(0, 0, 2);

  // `tree` must outlive the catalog; generations are attached to it. Looks at the index root once, unless
  // options.known says what to show without.
  static Result<std::unique_ptr<Catalog>> Open(std::unique_ptr<const index::IndexRoot> root, FileTree* tree,
                                               CatalogOptions options);
  ~Catalog();

  // Looks at the index root again. What cannot be read stays as it was known, and the first reason is given.
  Status Refresh();
  // As it was seen last, by name.
  std::vector<CatalogDataset> datasets() const;
  const index::IndexRoot& root() const;

  // Whether a node is the catalog's own; all others are the tree's.
  static bool Owns(NodeId node) { return node.dataset() == 0; }
  // Whether what is said of a node of the catalog holds for the moment only.
  static bool IsVolatile(NodeId node) { return node == kStatusFile; }

  // As those of FileTree. Names that lead to a generation are followed into the tree.
  Result<std::optional<Attributes>> Lookup(NodeId parent, std::string_view name) const;
  Result<Attributes> GetAttributes(NodeId node) const;
  // The parent of one of the catalog's directories, or of a generation's root.
  static NodeId Parent(NodeId /*directory*/) { return kRoot; }
  Result<std::string> ReadLink(NodeId node) const;
  Status List(NodeId directory, uint64_t cookie, const std::function<bool(const ListedEntry&)>& visit) const;
  Result<size_t> Read(NodeId node, uint64_t offset, std::span<std::byte> out) const;
  // The catalog's directories have one attribute, user.tarn.index: the UUID of the index root.
  std::optional<std::string> GetXattr(NodeId node, std::string_view name) const;
  static std::vector<std::string> ListXattrs(NodeId node);

 private:
  class Impl;
  explicit Catalog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_CATALOG_H_

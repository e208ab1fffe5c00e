#include "tarn/dataset/catalog.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>

#include "dataset/shared_slot.h"
#include "tarn/base/log.h"

namespace tarn::dataset {
namespace {

constexpr std::string_view kTarnName = ".tarn";
constexpr std::string_view kStatusName = "status.json";
constexpr std::string_view kIndexXattr = "user.tarn.index";
constexpr uint32_t kDirectoryMode = S_IFDIR | 0555;
constexpr uint32_t kLinkMode = S_IFLNK | 0777;
constexpr uint32_t kFileMode = S_IFREG | 0444;

// Cookies: a number for each name that does not depend on what else is listed, so that a listing goes on
// where it was although datasets come and go. 1 to 7 are the caller's.
constexpr uint64_t kTarnCookie = 8;
constexpr uint64_t kStatusCookie = 8;
constexpr uint64_t CookieOf(uint32_t dataset, uint32_t generation) {  // generation 0: the dataset's link
  return (uint64_t{dataset} << kGenerationBits | generation) + 16;
}

// The link to a generation has a node of its own for each target: kernels keep targets by node.
constexpr NodeId LinkNode(uint32_t dataset, uint32_t generation) {
  return NodeId::File(0, dataset, generation);
}

Status NoSuchNode(NodeId node) {
  return Status(ErrorCode::kNotFound, "no node " + std::to_string(node.value()));
}

std::string NameOf(const std::string& dataset, uint32_t generation) {
  return dataset + "@" + std::to_string(generation);
}

Attributes Make(NodeId node, uint32_t mode, uint64_t size, timespec changed) {
  Attributes attributes;
  attributes.node = node;
  attributes.mode = mode;
  attributes.size = size;
  attributes.links = S_ISDIR(mode) ? 2 : 1;
  attributes.mtime = changed.tv_sec;
  attributes.mtime_ns = static_cast<uint32_t>(changed.tv_nsec);
  return attributes;
}

timespec Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now;
}

// What was listed at one moment.
struct Listing {
  std::vector<CatalogDataset> datasets;  // by number
  timespec changed{};                    // when it was first seen to be so

  const CatalogDataset* ByName(std::string_view name) const {
    const auto found = std::find_if(datasets.begin(), datasets.end(),
                                    [name](const CatalogDataset& dataset) { return dataset.name == name; });
    return found == datasets.end() ? nullptr : &*found;
  }
  const CatalogDataset* ByNumber(uint32_t number) const {
    const auto found =
        std::find_if(datasets.begin(), datasets.end(),
                     [number](const CatalogDataset& dataset) { return dataset.number == number; });
    return found == datasets.end() ? nullptr : &*found;
  }
};

bool SameDatasets(const std::vector<CatalogDataset>& a, const std::vector<CatalogDataset>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& left, const auto& right) {
    return left.name == right.name && left.number == right.number && left.generations == right.generations &&
           left.retired_in_use == right.retired_in_use;
  });
}

std::vector<CatalogDataset> SortedByNumber(std::vector<CatalogDataset> datasets) {
  std::sort(datasets.begin(), datasets.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return datasets;
}

struct StatusText {
  std::string text;
  timespec changed{};
  std::chrono::steady_clock::time_point made;
};

}  // namespace

class Catalog::Impl {
 public:
  Impl(std::unique_ptr<const index::IndexRoot> root, FileTree* tree, CatalogOptions options)
      : root_(std::move(root)), tree_(tree), options_(std::move(options)) {
    auto first = std::make_shared<Listing>();
    if (options_.known) *first = {.datasets = SortedByNumber(*options_.known), .changed = Now()};
    listing_.Exchange(std::move(first));
  }

  Status Refresh();
  std::shared_ptr<const Listing> listing() const { return listing_.Load(); }
  std::vector<CatalogDataset> Datasets() const;
  const index::IndexRoot& root() const { return *root_; }
  // Makes a generation of the dataset with this number answerable, or all of them.
  Status AttachMissing(uint32_t dataset, std::optional<uint32_t> generation);

  Result<std::optional<Attributes>> Lookup(NodeId parent, std::string_view name);
  Result<Attributes> GetAttributes(NodeId node);
  Result<std::string> ReadLink(NodeId node) const;
  Status List(NodeId directory, uint64_t cookie, const std::function<bool(const ListedEntry&)>& visit) const;
  Result<size_t> Read(NodeId node, uint64_t offset, std::span<std::byte> out);

 private:
  Status CheckRoot();
  Result<CatalogDataset> Look(const std::string& name) const;
  Result<NodeId> Attach(const std::string& dataset, uint32_t generation);
  Attributes OfLink(const CatalogDataset& dataset, uint32_t generation) const;
  Result<std::shared_ptr<const StatusText>> CurrentStatus();

  const std::unique_ptr<const index::IndexRoot> root_;
  FileTree* const tree_;
  const CatalogOptions options_;
  SharedSlot<const Listing> listing_;
  std::mutex refresh_mutex_;
  bool root_checked_ = !options_.known;  // guarded by refresh_mutex_
  mutable std::mutex attach_mutex_;
  std::map<std::pair<std::string, uint32_t>, NodeId> attached_;  // guarded by attach_mutex_
  std::mutex status_mutex_;
  std::shared_ptr<const StatusText> status_;  // guarded by status_mutex_
};

Result<CatalogDataset> Catalog::Impl::Look(const std::string& name) const {
  CatalogDataset dataset;
  dataset.name = name;
  TARN_ASSIGN_OR_RETURN(dataset.number, root_->DatasetNumber(name));
  TARN_ASSIGN_OR_RETURN(dataset.generations, root_->Generations(name));
  // All of them: which are in use is looked up when somebody asks.
  TARN_ASSIGN_OR_RETURN(dataset.retired_in_use, root_->RetiredGenerations(name));
  return dataset;
}

// Whether what has come back is the root whose generations are shown.
Status Catalog::Impl::CheckRoot() {
  if (root_checked_) return Status::Ok();
  TARN_ASSIGN_OR_RETURN(const auto found, index::IndexRoot::Open(root_->path()));
  if (found->uuid() != root_->uuid()) {
    return Status(ErrorCode::kChanged, "index root '" + root_->path() + "' should have the UUID " +
                                           root_->uuid() + " and has " + found->uuid())
        .WithHint("mount again to show what it has");
  }
  root_checked_ = true;
  return Status::Ok();
}

Status Catalog::Impl::Refresh() {
  const std::lock_guard lock(refresh_mutex_);
  TARN_RETURN_IF_ERROR(CheckRoot());
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, root_->Datasets());
  const std::shared_ptr<const Listing> known = listing();
  auto seen = std::make_shared<Listing>();
  Status first_failure;
  for (const std::string& name : names) {
    Result<CatalogDataset> dataset = Look(name);
    if (dataset.ok()) {
      seen->datasets.push_back(std::move(dataset).value());
      continue;
    }
    // A dataset that has just been begun has no number yet.
    if (const CatalogDataset* before = known->ByName(name)) seen->datasets.push_back(*before);
    if (first_failure.ok() && dataset.code() != ErrorCode::kNotFound) first_failure = dataset.status();
  }
  seen->datasets = SortedByNumber(std::move(seen->datasets));
  const bool unchanged = known->changed.tv_sec != 0 && SameDatasets(known->datasets, seen->datasets);
  if (!unchanged) {
    seen->changed = Now();
    listing_.Exchange(std::move(seen));
  }
  return first_failure;
}

Result<NodeId> Catalog::Impl::Attach(const std::string& dataset, uint32_t generation) {
  const std::lock_guard lock(attach_mutex_);
  const auto key = std::pair(dataset, generation);
  if (const auto found = attached_.find(key); found != attached_.end()) return found->second;
  const std::shared_ptr<const Listing> now = listing();
  const CatalogDataset* known = now->ByName(dataset);
  const bool newest =
      known != nullptr && !known->generations.empty() && known->generations.back() == generation;
  auto reader = options_.open ? options_.open(dataset, generation, newest, options_.reader)
                              : index::GenerationReader::Open(root_->GenerationPath(dataset, generation),
                                                              options_.reader);
  TARN_RETURN_IF_ERROR(reader.status());
  TARN_ASSIGN_OR_RETURN(const NodeId node, tree_->Attach(std::move(reader).value()));
  attached_.emplace(key, node);
  return node;
}

std::vector<CatalogDataset> Catalog::Impl::Datasets() const {
  std::vector<CatalogDataset> datasets = listing()->datasets;
  const std::lock_guard lock(attach_mutex_);
  for (CatalogDataset& dataset : datasets) {
    std::erase_if(dataset.retired_in_use, [&](uint32_t generation) {
      return !attached_.contains(std::pair(dataset.name, generation));
    });
  }
  std::sort(datasets.begin(), datasets.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return datasets;
}

Status Catalog::Impl::AttachMissing(uint32_t dataset, std::optional<uint32_t> generation) {
  const std::shared_ptr<const Listing> now = listing();
  const CatalogDataset* known = now->ByNumber(dataset);
  if (known == nullptr) return NoSuchNode(NodeId::Directory(dataset, generation.value_or(0), 0));
  if (generation) return Attach(known->name, *generation).status();
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> all, root_->AllGenerations(known->name));
  Status first_failure;
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    const Status attached = Attach(known->name, *one).status();
    if (first_failure.ok()) first_failure = attached;
  }
  return first_failure;
}

Attributes Catalog::Impl::OfLink(const CatalogDataset& dataset, uint32_t generation) const {
  return Make(LinkNode(dataset.number, generation), kLinkMode, NameOf(dataset.name, generation).size(),
              listing()->changed);
}

Result<std::optional<Attributes>> Catalog::Impl::Lookup(NodeId parent, std::string_view name) {
  const std::optional<Attributes> nothing;
  if (parent == kTarnDirectory) {
    if (name != kStatusName) return nothing;
    TARN_ASSIGN_OR_RETURN(const Attributes attributes, GetAttributes(kStatusFile));
    return std::optional(attributes);
  }
  if (parent != kRoot) return NoSuchNode(parent);
  if (name == kTarnName) {
    TARN_ASSIGN_OR_RETURN(const Attributes attributes, GetAttributes(kTarnDirectory));
    return std::optional(attributes);
  }
  const auto reference = index::DatasetReference::Parse(name);
  // One spelling for each name: not "imagenet@07".
  if (!reference.ok() || reference->ToString() != name) return nothing;
  const std::shared_ptr<const Listing> now = listing();
  const CatalogDataset* dataset = now->ByName(reference->name);
  if (dataset == nullptr) return nothing;
  if (!reference->generation) {
    if (!reference->digest) {
      if (dataset->generations.empty()) return nothing;
      return std::optional(OfLink(*dataset, dataset->generations.back()));
    }
    const Result<uint32_t> resolved = root_->Resolve(*reference);
    if (resolved.code() == ErrorCode::kNotFound) return nothing;
    TARN_RETURN_IF_ERROR(resolved.status());
    return std::optional(OfLink(*dataset, *resolved));
  }
  // Also one that is retired, or that was published a moment ago.
  const Result<NodeId> node = Attach(dataset->name, *reference->generation);
  if (node.code() == ErrorCode::kNotFound) return nothing;
  TARN_RETURN_IF_ERROR(node.status());
  TARN_ASSIGN_OR_RETURN(const Attributes attributes, tree_->GetAttributes(*node));
  return std::optional(attributes);
}

Result<Attributes> Catalog::Impl::GetAttributes(NodeId node) {
  const std::shared_ptr<const Listing> now = listing();
  if (node == kRoot) {
    Attributes attributes = Make(node, kDirectoryMode, 0, now->changed);
    ++attributes.links;  // .tarn
    for (const CatalogDataset& dataset : now->datasets) {
      attributes.links += static_cast<uint32_t>(dataset.generations.size());
      attributes.size += (dataset.generations.empty() ? 0 : 1) + dataset.generations.size();
    }
    return attributes;
  }
  if (node == kTarnDirectory) return Make(node, kDirectoryMode, 1, now->changed);
  if (node == kStatusFile) {
    TARN_ASSIGN_OR_RETURN(const auto status, CurrentStatus());
    return Make(node, kFileMode, status->text.size(), status->changed);
  }
  const CatalogDataset* dataset = now->ByNumber(node.archive());
  if (node.IsDirectory() || dataset == nullptr || node.ordinal() == 0 || node.ordinal() > kMaxGeneration) {
    return NoSuchNode(node);
  }
  return OfLink(*dataset, node.ordinal());
}

Result<std::string> Catalog::Impl::ReadLink(NodeId node) const {
  const std::shared_ptr<const Listing> now = listing();
  const CatalogDataset* dataset = now->ByNumber(node.archive());
  if (!node.IsDirectory() && dataset != nullptr && node.ordinal() != 0 && node.ordinal() <= kMaxGeneration) {
    return NameOf(dataset->name, node.ordinal());
  }
  return Status(ErrorCode::kInvalidArgument, "node " + std::to_string(node.value()) + " is no symbolic link");
}

Status Catalog::Impl::List(NodeId directory, uint64_t cookie,
                           const std::function<bool(const ListedEntry&)>& visit) const {
  const auto listed = [&](std::string_view name, NodeId node, uint32_t mode, uint64_t own_cookie) {
    if (own_cookie <= cookie) return true;
    ListedEntry entry{.name = name, .attributes = {}, .cookie = own_cookie};
    entry.attributes.node = node;
    entry.attributes.mode = mode;
    return visit(entry);
  };
  if (directory == kTarnDirectory) {
    listed(kStatusName, kStatusFile, kFileMode, kStatusCookie);
    return Status::Ok();
  }
  if (directory != kRoot) return NoSuchNode(directory);
  if (!listed(kTarnName, kTarnDirectory, kDirectoryMode, kTarnCookie)) return Status::Ok();
  const std::shared_ptr<const Listing> now = listing();
  for (const CatalogDataset& dataset : now->datasets) {
    if (dataset.generations.empty()) continue;
    if (!listed(dataset.name, LinkNode(dataset.number, dataset.generations.back()), kLinkMode,
                CookieOf(dataset.number, 0))) {
      return Status::Ok();
    }
    for (const uint32_t generation : dataset.generations) {
      if (!listed(NameOf(dataset.name, generation), NodeId::Directory(dataset.number, generation, 0),
                  kDirectoryMode, CookieOf(dataset.number, generation))) {
        return Status::Ok();
      }
    }
  }
  return Status::Ok();
}

Result<std::shared_ptr<const StatusText>> Catalog::Impl::CurrentStatus() {
  const std::lock_guard lock(status_mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (status_ != nullptr && now - status_->made < options_.status_interval) return status_;
  auto fresh = std::make_shared<StatusText>();
  if (options_.status) fresh->text = options_.status();
  fresh->made = now;
  // A time of its own for each text: that is how the kernel knows that what it keeps is old.
  const bool same = status_ != nullptr && status_->text == fresh->text;
  fresh->changed = same ? status_->changed : Now();
  status_ = std::move(fresh);
  return status_;
}

Result<size_t> Catalog::Impl::Read(NodeId node, uint64_t offset, std::span<std::byte> out) {
  if (node != kStatusFile) {
    return Status(ErrorCode::kInvalidArgument,
                  "node " + std::to_string(node.value()) + " is no regular file");
  }
  TARN_ASSIGN_OR_RETURN(const auto status, CurrentStatus());
  if (offset >= status->text.size()) return size_t{0};
  const size_t count = std::min<size_t>(out.size(), status->text.size() - static_cast<size_t>(offset));
  std::memcpy(out.data(), status->text.data() + offset, count);
  return count;
}

Catalog::Catalog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Catalog::~Catalog() = default;

Result<std::unique_ptr<Catalog>> Catalog::Open(std::unique_ptr<const index::IndexRoot> root, FileTree* tree,
                                               CatalogOptions options) {
  const bool away = options.known.has_value();
  auto impl = std::make_unique<Impl>(std::move(root), tree, std::move(options));
  const Status status = away ? Status::Ok() : impl->Refresh();
  if (!status.ok()) Log(LogLevel::kWarning, status.message());
  tree->AttachMissingWith([catalog = impl.get()](uint32_t dataset, std::optional<uint32_t> generation) {
    return catalog->AttachMissing(dataset, generation);
  });
  return std::unique_ptr<Catalog>(new Catalog(std::move(impl)));
}

Status Catalog::Refresh() {
  return impl_->Refresh();
}
std::vector<CatalogDataset> Catalog::datasets() const {
  return impl_->Datasets();
}
const index::IndexRoot& Catalog::root() const {
  return impl_->root();
}
Result<std::optional<Attributes>> Catalog::Lookup(NodeId parent, std::string_view name) const {
  return impl_->Lookup(parent, name);
}
Result<Attributes> Catalog::GetAttributes(NodeId node) const {
  return impl_->GetAttributes(node);
}
Result<std::string> Catalog::ReadLink(NodeId node) const {
  return impl_->ReadLink(node);
}
Status Catalog::List(NodeId directory, uint64_t cookie,
                     const std::function<bool(const ListedEntry&)>& visit) const {
  return impl_->List(directory, cookie, visit);
}
Result<size_t> Catalog::Read(NodeId node, uint64_t offset, std::span<std::byte> out) const {
  return impl_->Read(node, offset, out);
}

std::optional<std::string> Catalog::GetXattr(NodeId node, std::string_view name) const {
  if (ListXattrs(node).empty() || name != kIndexXattr) return std::nullopt;
  return root().uuid();
}
std::vector<std::string> Catalog::ListXattrs(NodeId node) {
  if (node == kRoot || node == kTarnDirectory) return {std::string(kIndexXattr)};
  return {};
}

}  // namespace tarn::dataset

#include "tarn/index/usage.h"

#include <fmt/format.h>

#include <charconv>
#include <unordered_map>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/index/kept_files.h"
#include "tarn/index/survey.h"
#include "tarn/io/file_facts.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

constexpr size_t kQuotaFileBytes = 4096;

struct FileKey {
  uint64_t device;
  uint64_t inode;
  bool operator==(const FileKey&) const = default;
};
struct FileKeyHash {
  size_t operator()(const FileKey& key) const noexcept {
    return static_cast<size_t>(key.inode ^ (key.device * 0x9e3779b97f4a7c15ULL));
  }
};

FileKey KeyOf(const io::FileFacts& facts) {
  return {facts.device, facts.inode};
}

// Who needs a file: one generation, several of one dataset, or several datasets.
struct Needed {
  uint64_t bytes = 0;
  size_t dataset = 0;  // position, from 1; 0: nobody
  size_t generation = 0;
  bool by_other_datasets = false;
  bool by_other_generations = false;
  size_t counted_for = 0;  // the last dataset whose sum it is in
};

using NeededFiles = std::unordered_map<FileKey, Needed, FileKeyHash>;

// One pass over the generations leaves who needs each file, a second one over what it left sums up.
class Meter {
 public:
  explicit Meter(const IndexRoot& root) : root_(root) {}

  Result<RootUsage> Measure() {
    TARN_RETURN_IF_ERROR(CountBundles());
    TARN_RETURN_IF_ERROR(CountKept());
    TARN_ASSIGN_OR_RETURN(const std::vector<std::string> datasets, root_.Datasets());
    for (const std::string& dataset : datasets) {
      DatasetUsage& usage = usage_.datasets.emplace_back();
      usage.dataset = dataset;
      TARN_ASSIGN_OR_RETURN(usage.quota_bytes, ReadQuota(root_, dataset));
    }
    TARN_RETURN_IF_ERROR(ForEachGeneration(root_, [this](const auto& stored) { return Count(stored); }));
    SumUp();
    TARN_RETURN_IF_ERROR(CountAll());
    return std::move(usage_);
  }

 private:
  Status CountBundles();
  Status CountKept();
  Status Count(const StoredGeneration& stored);
  void Need(const io::FileFacts& facts, GenerationUsage* usage);
  void SumUp();
  Status CountAll();

  const IndexRoot& root_;
  RootUsage usage_;
  std::unordered_map<ArchiveId, io::FileFacts> bundles_;
  std::unordered_map<ArchiveId, io::FileFacts> kept_;
  NeededFiles files_;
  size_t dataset_ = 0;                             // the one whose generations are being counted, from 1
  size_t generation_ = 0;                          // counted over all datasets, from 1
  std::vector<std::pair<size_t, size_t>> places_;  // by generation_ - 1: positions in usage_
};

Status Meter::CountBundles() {
  TARN_ASSIGN_OR_RETURN(const std::vector<StoredBundle> bundles, ListBundles(root_, nullptr));
  for (const StoredBundle& bundle : bundles) {
    bundles_.emplace(bundle.id, bundle.facts);
    ++usage_.bundles;
    usage_.bundle_bytes += bundle.facts.bytes;
  }
  return Status::Ok();
}

Status Meter::CountKept() {
  TARN_ASSIGN_OR_RETURN(const std::vector<StoredKept> kept, ListKept(root_, nullptr));
  for (const StoredKept& file : kept) {
    kept_.emplace(file.id, file.facts);
    ++usage_.kept_files;
    usage_.kept_bytes += file.facts.bytes;
  }
  return Status::Ok();
}

Status Meter::Count(const StoredGeneration& stored) {
  if (!stored.readable.ok()) return stored.readable;
  while (dataset_ == 0 || usage_.datasets[dataset_ - 1].dataset != stored.dataset) {
    // A dataset that was made since the list was taken is not counted.
    if (dataset_ == usage_.datasets.size()) return Status::Ok();
    ++dataset_;
  }
  DatasetUsage& dataset = usage_.datasets[dataset_ - 1];
  ++generation_;
  places_.emplace_back(dataset_ - 1, dataset.generations.size());
  GenerationUsage& usage = dataset.generations.emplace_back();
  usage.generation = stored.generation;
  usage.retired = stored.retired;
  for (const io::FileFacts& facts : stored.files) Need(facts, &usage);
  for (const ArchiveId& id : stored.names) {
    if (const auto bundle = bundles_.find(id); bundle != bundles_.end()) Need(bundle->second, &usage);
    if (const auto kept = kept_.find(id); kept != kept_.end()) Need(kept->second, &usage);
  }
  return Status::Ok();
}

void Meter::Need(const io::FileFacts& facts, GenerationUsage* usage) {
  Needed& file = files_[KeyOf(facts)];
  if (file.dataset == dataset_ && file.generation == generation_) return;  // linked and named: once
  file.bytes = facts.bytes;
  usage->bytes += facts.bytes;
  if (file.counted_for != dataset_) usage_.datasets[dataset_ - 1].bytes += facts.bytes;
  file.counted_for = dataset_;
  if (file.dataset != 0) {
    file.by_other_generations = true;
    file.by_other_datasets = file.by_other_datasets || file.dataset != dataset_;
  }
  file.dataset = dataset_;
  file.generation = generation_;
}

void Meter::SumUp() {
  for (const auto& [key, file] : files_) {
    DatasetUsage& dataset = usage_.datasets[file.dataset - 1];
    if (!file.by_other_datasets) dataset.exclusive_bytes += file.bytes;
    if (!file.by_other_generations) {
      dataset.generations[places_[file.generation - 1].second].exclusive_bytes += file.bytes;
    }
  }
  for (const auto& [id, facts] : bundles_) {
    if (files_.contains(KeyOf(facts))) continue;
    ++usage_.unreferenced_bundles;
    usage_.unreferenced_bytes += facts.bytes;
  }
  for (const auto& [id, facts] : kept_) {
    if (files_.contains(KeyOf(facts))) continue;
    ++usage_.unreferenced_kept_files;
    usage_.unreferenced_kept_bytes += facts.bytes;
  }
}

Status Meter::CountAll() {
  std::unordered_map<FileKey, uint64_t, FileKeyHash> all;
  TARN_RETURN_IF_ERROR(io::WalkFiles(root_.path(), [&](const std::string& path, const io::FileFacts& facts) {
    if (!all.emplace(KeyOf(facts), facts.bytes).second) return Status::Ok();
    usage_.total_bytes += facts.bytes;
    if (path.starts_with(root_.staging_path() + "/")) usage_.staging_bytes += facts.bytes;
    return Status::Ok();
  }));
  return Status::Ok();
}

std::string QuotaPath(const IndexRoot& root, std::string_view dataset) {
  return io::JoinPath(root.DatasetPath(dataset), "quota");
}

// Adds up files, each once.
class ByteSum {
 public:
  void Add(const io::FileFacts& facts) {
    if (files_.emplace(KeyOf(facts), true).second) bytes_ += facts.bytes;
  }
  // What the root has of these archives: bundles and kept files.
  Status AddNamed(const IndexRoot& root, const std::vector<ArchiveId>& names) {
    const bool keeps = io::IsDirectory(KeptDirectory(root));
    for (const ArchiveId& id : names) {
      TARN_RETURN_IF_ERROR(AddIfThere(root.BundlePath(id)));
      if (keeps) TARN_RETURN_IF_ERROR(AddIfThere(io::JoinPath(root.path(), KeptPath(id))));
    }
    return Status::Ok();
  }
  uint64_t bytes() const { return bytes_; }

 private:
  Status AddIfThere(const std::string& path) {
    const Result<io::FileFacts> facts = io::LookAt(path);
    if (facts.ok()) Add(*facts);
    return facts.code() == ErrorCode::kNotFound ? Status::Ok() : facts.status();
  }

  std::unordered_map<FileKey, bool, FileKeyHash> files_;
  uint64_t bytes_ = 0;
};

Status AddDataset(const IndexRoot& root, const std::string& dataset, ByteSum* sum) {
  if (!io::IsDirectory(root.DatasetPath(dataset))) return Status::Ok();
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> generations, root.AllGenerations(dataset));
  for (const uint32_t generation : generations) {
    TARN_ASSIGN_OR_RETURN(const StoredGeneration stored, LookAtGeneration(root, dataset, generation));
    // A damaged one counts with its files: what it names nobody can tell, and it must not keep its successor
    // from being published.
    for (const io::FileFacts& facts : stored.files) sum->Add(facts);
    if (stored.readable.ok()) TARN_RETURN_IF_ERROR(sum->AddNamed(root, stored.names));
  }
  return Status::Ok();
}

Status Within(const IndexRoot& root, std::string_view dataset, uint64_t quota, uint64_t taken,
              uint64_t wanted) {
  if (wanted <= quota) return Status::Ok();
  return Status(ErrorCode::kNoSpace,
                fmt::format("dataset '{}' would take {} of index root '{}' and may take {} (it takes {} now)",
                            dataset, HumanBytes(wanted), root.path(), HumanBytes(quota), HumanBytes(taken)))
      .WithHint(fmt::format("retire old generations ('tarn-index retire {0}@N', then 'tarn-index gc'), or "
                            "raise the limit: 'tarn-index quota {0} --bytes N'",
                            dataset));
}

}  // namespace

Result<RootUsage> MeasureUsage(const IndexRoot& root) {
  return Meter(root).Measure();
}

Result<std::optional<uint64_t>> ReadQuota(const IndexRoot& root, std::string_view dataset) {
  const std::string path = QuotaPath(root, dataset);
  const Result<std::string> text = io::ReadFile(path, kQuotaFileBytes);
  if (text.code() == ErrorCode::kNotFound) return std::optional<uint64_t>();
  if (!text.ok()) return text.status();
  uint64_t bytes = 0;
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, bytes);
  if (error == std::errc() && stopped + 1 == end && *stopped == '\n') return std::optional<uint64_t>(bytes);
  return Status(ErrorCode::kCorrupt, fmt::format("'{}' should hold a number of bytes, and holds '{}'", path,
                                                 EscapeName(std::string_view(*text).substr(0, 32))))
      .WithHint(fmt::format("set it again: 'tarn-index quota {} --bytes N'", dataset));
}

Status SetQuota(IndexRoot* root, std::string_view dataset, std::optional<uint64_t> bytes) {
  TARN_RETURN_IF_ERROR(root->DatasetNumberOrCreate(dataset).status());
  const std::string path = QuotaPath(*root, dataset);
  if (bytes) return io::WriteFileAtomically(path, fmt::format("{}\n", *bytes));
  TARN_RETURN_IF_ERROR(io::RemoveFile(path));
  return io::SyncDirectory(root->DatasetPath(dataset));
}

Result<uint64_t> DatasetBytes(const IndexRoot& root, std::string_view dataset) {
  ByteSum sum;
  TARN_RETURN_IF_ERROR(AddDataset(root, std::string(dataset), &sum));
  return sum.bytes();
}

Status CheckQuota(const IndexRoot& root, std::string_view dataset, uint64_t more_bytes) {
  TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> quota, ReadQuota(root, dataset));
  if (!quota) return Status::Ok();
  TARN_ASSIGN_OR_RETURN(const uint64_t taken, DatasetBytes(root, dataset));
  return Within(root, dataset, *quota, taken, taken + more_bytes);
}

Status CheckQuotaWith(const IndexRoot& root, std::string_view dataset, const std::string& staged,
                      const std::vector<ArchiveId>& names) {
  TARN_ASSIGN_OR_RETURN(const std::optional<uint64_t> quota, ReadQuota(root, dataset));
  if (!quota) return Status::Ok();
  ByteSum sum;
  TARN_RETURN_IF_ERROR(AddDataset(root, std::string(dataset), &sum));
  const uint64_t taken = sum.bytes();
  TARN_RETURN_IF_ERROR(io::WalkFiles(staged, [&](const std::string&, const io::FileFacts& facts) {
    sum.Add(facts);
    return Status::Ok();
  }));
  TARN_RETURN_IF_ERROR(sum.AddNamed(root, names));
  return Within(root, dataset, *quota, taken, sum.bytes());
}

}  // namespace tarn::index

#include "dataset/attachments.h"

#include <string>
#include <utility>

namespace tarn::dataset {
namespace {

Status NoSuchNode(const std::string& what) {
  return Status(ErrorCode::kNotFound, what);
}

}  // namespace

AttachedGeneration::AttachedGeneration(std::shared_ptr<const index::GenerationReader> reader,
                                       ArchiveBytes* bytes)
    : reader_(std::move(reader)), bytes_(bytes) {}

Result<const AttachedFile*> AttachedGeneration::Find(uint32_t number) const {
  if (const AttachedFile* found = files_.Find(number)) return found;
  auto file = std::make_unique<AttachedFile>();
  TARN_ASSIGN_OR_RETURN(const bool there, reader_->GetManifestRow(number, &file->row));
  const AttachedFile* const nothing = nullptr;
  if (!there || file->row.kind == index::ManifestKind::kQuarantined) return nothing;
  if (file->IsArchive()) {
    TARN_ASSIGN_OR_RETURN(const bool has_facts, reader_->GetArchiveFacts(file->row.id, &file->facts));
    if (!has_facts) {
      return Status(ErrorCode::kCorrupt, "generation " + facts().dataset + "@" +
                                             std::to_string(facts().generation) +
                                             " lacks the rows of archive " + file->row.id.ToString())
          .WithHint("publish the dataset again");
    }
  }
  file->generation = this;
  file->bytes = bytes_->Add(reader_, file->row);
  const std::lock_guard lock(mutex_);
  const AttachedFile* kept = files_.Put(number, file.get());
  if (kept == file.get()) owned_.push_back(std::move(file));
  return kept;
}

Result<const AttachedFile*> AttachedGeneration::FindByDirectory(uint64_t directory) const {
  std::atomic<uint64_t>& place =
      directory_places_[(directory * 0x9e3779b97f4a7c15ULL >> 32) % kDirectoryPlaces];
  const uint64_t known = place.load(std::memory_order_relaxed);
  if (known >> kArchiveBits == directory && known != 0)
    return Find(static_cast<uint32_t>(known) & kMaxArchive);
  uint32_t number = 0;
  TARN_ASSIGN_OR_RETURN(const bool there, reader_->ArchiveOfDirectory(directory, &number));
  if (!there) return nullptr;
  TARN_ASSIGN_OR_RETURN(const AttachedFile* const file, Find(number));
  if (file == nullptr || !file->IsArchive() || directory < file->row.first_directory ||
      directory - file->row.first_directory >= file->row.directories) {
    return nullptr;
  }
  place.store(directory << kArchiveBits | number, std::memory_order_relaxed);
  return file;
}

const AttachedGeneration* AttachedDataset::Find(uint32_t generation) const {
  for (const Node* node = newest(); node != nullptr; node = node->older.get()) {
    if (node->generation->facts().generation == generation) return node->generation.get();
  }
  return nullptr;
}

Result<const AttachedFile*> AttachedDataset::FindFile(uint32_t number) const {
  if (const AttachedFile* found = files_.Find(number)) return found;
  for (const Node* node = newest(); node != nullptr; node = node->older.get()) {
    TARN_ASSIGN_OR_RETURN(const AttachedFile* const file, node->generation->Find(number));
    if (file != nullptr) return files_.Put(number, file);
  }
  return nullptr;
}

void AttachedDataset::Add(std::unique_ptr<AttachedGeneration> generation) {
  auto node = std::make_unique<Node>();
  node->generation = std::move(generation);
  node->older = std::move(owned_);
  owned_ = std::move(node);
  newest_.store(owned_.get(), std::memory_order_release);
}

Attachments::Attachments(std::shared_ptr<ArchiveBytes> bytes) : bytes_(std::move(bytes)) {}

Attachments::~Attachments() {
  for (auto& dataset : datasets_) delete dataset.load(std::memory_order_relaxed);
}

Status Attachments::Attach(std::shared_ptr<const index::GenerationReader> reader) {
  const index::GenerationFacts& facts = reader->facts();
  if (facts.dataset_number == 0 || facts.dataset_number > kMaxDataset || facts.generation == 0 ||
      facts.generation > kMaxGeneration || facts.directories > kMaxDirectory + 1) {
    return Status(ErrorCode::kCorrupt, "generation " + facts.dataset + "@" +
                                           std::to_string(facts.generation) + " of dataset number " +
                                           std::to_string(facts.dataset_number) + " does not fit a node id");
  }
  if (!facts.view.empty()) {
    return Status(ErrorCode::kUnsupported, "generation " + facts.dataset + "@" +
                                               std::to_string(facts.generation) + " has the view '" +
                                               facts.view + "'; this build shows datasets by archive")
        .WithHint("use a newer tarn for this generation");
  }
  const std::lock_guard lock(mutex_);
  AttachedDataset* dataset = datasets_[facts.dataset_number].load(std::memory_order_relaxed);
  if (dataset == nullptr) {
    dataset = new AttachedDataset;
    datasets_[facts.dataset_number].store(dataset, std::memory_order_release);
  }
  if (dataset->Find(facts.generation) == nullptr) {
    dataset->Add(std::make_unique<AttachedGeneration>(std::move(reader), bytes_.get()));
  }
  return Status::Ok();
}

Result<const AttachedGeneration*> Attachments::FindGeneration(uint32_t dataset, uint32_t generation) const {
  const AttachedDataset* attached = datasets_[dataset].load(std::memory_order_acquire);
  const AttachedGeneration* found = attached == nullptr ? nullptr : attached->Find(generation);
  if (found == nullptr) {
    return NoSuchNode("generation " + std::to_string(generation) + " of dataset number " +
                      std::to_string(dataset) + " is not attached");
  }
  return found;
}

Result<const AttachedFile*> Attachments::FindFile(NodeId node) const {
  const AttachedDataset* attached = datasets_[node.dataset()].load(std::memory_order_acquire);
  const AttachedFile* file = nullptr;
  if (attached != nullptr) {
    TARN_ASSIGN_OR_RETURN(file, attached->FindFile(node.archive()));
  }
  if (file == nullptr) {
    return NoSuchNode("no attached generation of dataset number " + std::to_string(node.dataset()) +
                      " shows archive number " + std::to_string(node.archive()));
  }
  return file;
}

}  // namespace tarn::dataset

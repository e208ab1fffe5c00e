// Attachments: the generations a FileTree answers for, and the way from a node id to what it names.
//
// Nothing is read for an archive before somebody asks for it: attaching costs the same for ten archives and
// for a hundred thousand. What was read once is kept and found without a lock: tables of atomic pointers that
// only ever go from null to their value.
#ifndef TARN_DATASET_ATTACHMENTS_H_
#define TARN_DATASET_ATTACHMENTS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/dataset/archive_bytes.h"
#include "tarn/dataset/node_id.h"
#include "tarn/index/generation_reader.h"

namespace tarn::dataset {

// Archive number -> what stands for it. Grows by blocks; pointers are not owned.
template <typename T>
class NumberTable {
 public:
  NumberTable() = default;
  ~NumberTable() {
    for (auto& block : blocks_) delete block.load(std::memory_order_relaxed);
  }
  NumberTable(const NumberTable&) = delete;
  NumberTable& operator=(const NumberTable&) = delete;

  const T* Find(uint32_t number) const {
    const Block* block = blocks_[number / kBlock].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : (*block)[number % kBlock].load(std::memory_order_acquire);
  }

  // Keeps the first of several; gives the one that was kept.
  const T* Put(uint32_t number, const T* value) {
    std::atomic<Block*>& slot = blocks_[number / kBlock];
    Block* block = slot.load(std::memory_order_acquire);
    if (block == nullptr) {
      auto fresh = std::make_unique<Block>();
      if (slot.compare_exchange_strong(block, fresh.get(), std::memory_order_acq_rel))
        block = fresh.release();
    }
    const T* found = nullptr;
    return (*block)[number % kBlock].compare_exchange_strong(found, value, std::memory_order_acq_rel) ? value
                                                                                                      : found;
  }

 private:
  static constexpr uint32_t kBlock = 1024;
  using Block = std::array<std::atomic<const T*>, kBlock>;
  std::array<std::atomic<Block*>, (kMaxArchive + 1) / kBlock> blocks_{};
};

class AttachedDataset;
class AttachedGeneration;

// An archive or loose file of an attached generation.
struct AttachedFile {
  const AttachedGeneration* generation = nullptr;
  index::ManifestRow row;
  index::ArchiveFacts facts;  // of archives
  ArchiveBytes::Archive* bytes = nullptr;

  bool IsArchive() const { return row.kind == index::ManifestKind::kArchive; }
};

class AttachedGeneration {
 public:
  AttachedGeneration(std::shared_ptr<const index::GenerationReader> reader, ArchiveBytes* bytes);

  const index::GenerationReader& reader() const { return *reader_; }
  const index::GenerationFacts& facts() const { return reader_->facts(); }

  // The archive or loose file with this number; null when the generation shows none.
  Result<const AttachedFile*> Find(uint32_t number) const;
  // The archive one of whose directories has this number of the generation; null when there is none.
  Result<const AttachedFile*> FindByDirectory(uint64_t directory) const;

 private:
  const std::shared_ptr<const index::GenerationReader> reader_;
  ArchiveBytes* const bytes_;
  // Directory number << kArchiveBits | archive number, of the last ones asked for: a seek in the index less
  // for each lookup in an archive.
  static constexpr size_t kDirectoryPlaces = 4096;
  static_assert(kDirectoryBits + kArchiveBits <= 64);
  mutable std::array<std::atomic<uint64_t>, kDirectoryPlaces> directory_places_{};
  mutable NumberTable<AttachedFile> files_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<AttachedFile>> owned_;  // guarded by mutex_
};

// The attached generations of one dataset. They are never detached while the tree lives.
class AttachedDataset {
 public:
  // Null when it is not attached.
  const AttachedGeneration* Find(uint32_t generation) const;
  // Null when no attached generation shows it.
  Result<const AttachedFile*> FindFile(uint32_t number) const;
  // One thread at a time.
  void Add(std::unique_ptr<AttachedGeneration> generation);

 private:
  struct Node {
    std::unique_ptr<AttachedGeneration> generation;
    std::unique_ptr<Node> older;
  };
  const Node* newest() const { return newest_.load(std::memory_order_acquire); }

  std::atomic<const Node*> newest_{nullptr};  // = owned_.get()
  std::unique_ptr<Node> owned_;
  mutable NumberTable<AttachedFile> files_;
};

class Attachments {
 public:
  explicit Attachments(std::shared_ptr<ArchiveBytes> bytes);
  ~Attachments();

  // Fine when the generation is attached already.
  Status Attach(std::shared_ptr<const index::GenerationReader> reader);

  // kNotFound: the node id is of no attached generation, or nothing there is shown.
  Result<const AttachedGeneration*> FindGeneration(uint32_t dataset, uint32_t generation) const;
  // The archive or loose file that holds a file node: of whichever attached generation has it.
  Result<const AttachedFile*> FindFile(NodeId node) const;

 private:
  const std::shared_ptr<ArchiveBytes> bytes_;
  mutable std::array<std::atomic<AttachedDataset*>, kMaxDataset + 1> datasets_{};
  std::mutex mutex_;  // of Attach
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ATTACHMENTS_H_

// Node ids: computed, never remembered (DESIGN section 8).
//
// A node id says which file or directory it is, so any server of the same index root can answer any request,
// FORGET has nothing to do, and a server may be replaced while requests are in flight. The same member in two
// generations has one id: one inode, one page cache. Do not change a bit of this: kernels hold ids across
// upgrades.
//
//     bit 63   zero (the kernel uses it to mark resent requests in `unique`, and ids stay positive)
//     bit 62   0: file         61..50 dataset number   49..30 archive number      29..0 ordinal
//              1: directory    61..50 dataset number   49..34 generation          33..0 directory number
//
// Loose files have ordinal 0 of their own archive number; the archive itself has the last ordinal. Dataset
// number 0 is what the mount makes up. Id 1, FUSE's root, is dataset 0, archive 0, ordinal 1: never a
// member's.
#ifndef TARN_DATASET_NODE_ID_H_
#define TARN_DATASET_NODE_ID_H_

#include <cstdint>

namespace tarn::dataset {

inline constexpr unsigned kDatasetBits = 12;
inline constexpr unsigned kArchiveBits = 20;
inline constexpr unsigned kOrdinalBits = 30;
inline constexpr unsigned kGenerationBits = 16;
inline constexpr unsigned kDirectoryBits = 34;
static_assert(kDatasetBits + kArchiveBits + kOrdinalBits == 62);
static_assert(kDatasetBits + kGenerationBits + kDirectoryBits == 62);

inline constexpr uint32_t kMaxDataset = (uint32_t{1} << kDatasetBits) - 1;
inline constexpr uint32_t kMaxArchive = (uint32_t{1} << kArchiveBits) - 1;
inline constexpr uint32_t kMaxGeneration = (uint32_t{1} << kGenerationBits) - 1;
inline constexpr uint64_t kMaxDirectory = (uint64_t{1} << kDirectoryBits) - 1;
inline constexpr uint32_t kArchiveItself = (uint32_t{1} << kOrdinalBits) - 1;  // the last ordinal
inline constexpr uint32_t kMaxOrdinal = kArchiveItself - 1;                    // of a member

class NodeId {
 public:
  constexpr NodeId() = default;
  constexpr explicit NodeId(uint64_t value) : value_(value) {}

  static constexpr NodeId File(uint32_t dataset, uint32_t archive, uint32_t ordinal) {
    return NodeId(uint64_t{dataset} << (kArchiveBits + kOrdinalBits) | uint64_t{archive} << kOrdinalBits |
                  ordinal);
  }
  static constexpr NodeId Directory(uint32_t dataset, uint32_t generation, uint64_t directory) {
    return NodeId(kDirectoryBit | uint64_t{dataset} << (kGenerationBits + kDirectoryBits) |
                  uint64_t{generation} << kDirectoryBits | directory);
  }

  constexpr uint64_t value() const { return value_; }
  constexpr bool IsDirectory() const { return (value_ & kDirectoryBit) != 0; }
  // Whether a node id could have been made by the functions above.
  constexpr bool IsWellFormed() const { return (value_ >> 63) == 0; }
  constexpr uint32_t dataset() const {
    return static_cast<uint32_t>(value_ >> (kArchiveBits + kOrdinalBits)) & kMaxDataset;
  }
  constexpr uint32_t archive() const { return static_cast<uint32_t>(value_ >> kOrdinalBits) & kMaxArchive; }
  constexpr uint32_t ordinal() const { return static_cast<uint32_t>(value_) & kArchiveItself; }
  constexpr uint32_t generation() const {
    return static_cast<uint32_t>(value_ >> kDirectoryBits) & kMaxGeneration;
  }
  constexpr uint64_t directory() const { return value_ & kMaxDirectory; }

  constexpr bool operator==(const NodeId&) const = default;

 private:
  static constexpr uint64_t kDirectoryBit = uint64_t{1} << 62;
  uint64_t value_ = 0;
};

static_assert(kArchiveBits + kOrdinalBits == kGenerationBits + kDirectoryBits, "dataset() reads both kinds");
static_assert(NodeId::File(kMaxDataset, kMaxArchive, kArchiveItself).value() == (uint64_t{1} << 62) - 1);
static_assert(NodeId::Directory(kMaxDataset, kMaxGeneration, kMaxDirectory).value() ==
              (uint64_t{1} << 63) - 1);
static_assert(NodeId::File(3, 5, 7).dataset() == 3 && NodeId::File(3, 5, 7).archive() == 5 &&
              NodeId::File(3, 5, 7).ordinal() == 7 && !NodeId::File(3, 5, 7).IsDirectory());
static_assert(NodeId::Directory(3, 5, 7).dataset() == 3 && NodeId::Directory(3, 5, 7).generation() == 5 &&
              NodeId::Directory(3, 5, 7).directory() == 7 && NodeId::Directory(3, 5, 7).IsDirectory());

}  // namespace tarn::dataset

#endif  // TARN_DATASET_NODE_ID_H_

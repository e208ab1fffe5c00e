// Keys on the stack: a lookup allocates nothing.
#ifndef TARN_SRC_INDEX_KEY_H_
#define TARN_SRC_INDEX_KEY_H_

#include <rocksdb/slice.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "tarn/base/archive_id.h"
#include "tarn/index/records.h"

namespace tarn::index {

inline constexpr size_t kPrefixBytes = ArchiveId::kEncodedBytes + 1;  // ArchiveId and kind
inline constexpr size_t kNumberedBytes = kPrefixBytes + 4;            // and a number

// The bytes of Key(): the same key, without the heap unless the name is longer than a file system's.
class StackKey {
 public:
  StackKey(const ArchiveId& id, RowKind kind) {
    PutBigEndian(id.size, 8);
    PutBigEndian(id.digest.high, 8);
    PutBigEndian(id.digest.low, 8);
    bytes_[size_++] = static_cast<char>(kind);
  }
  StackKey(const ArchiveId& id, RowKind kind, uint32_t number) : StackKey(id, kind) {
    PutBigEndian(number, 4);
  }
  StackKey(const ArchiveId& id, RowKind kind, uint32_t directory, std::string_view name)
      : StackKey(id, kind, directory) {
    if (name.size() > bytes_.size() - size_) {
      long_.reserve(size_ + name.size());
      long_.assign(bytes_.data(), size_).append(name);
    } else {
      std::memcpy(bytes_.data() + size_, name.data(), name.size());
      size_ += name.size();
    }
  }

  rocksdb::Slice slice() const {
    return long_.empty() ? rocksdb::Slice(bytes_.data(), size_) : rocksdb::Slice(long_);
  }

 private:
  void PutBigEndian(uint64_t value, int count) {
    for (int shift = 8 * (count - 1); shift >= 0; shift -= 8)
      bytes_[size_++] = static_cast<char>(value >> shift);
  }

  std::array<char, kNumberedBytes + 255> bytes_;
  size_t size_ = 0;
  std::string long_;
};

// The least key greater than all that start with `prefix`, which must not be all 0xff.
std::string AfterPrefix(std::string prefix);

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_KEY_H_

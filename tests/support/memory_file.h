// A RandomAccessFile over bytes in memory.
#ifndef TARN_TESTS_SUPPORT_MEMORY_FILE_H_
#define TARN_TESTS_SUPPORT_MEMORY_FILE_H_

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "tarn/io/random_access_file.h"

namespace tarn::support {

class MemoryFile final : public io::RandomAccessFile {
 public:
  // `bytes` must outlive the file.
  explicit MemoryFile(std::string_view bytes) : bytes_(bytes) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= bytes_.size()) return size_t{0};
    const size_t count = std::min(out.size(), bytes_.size() - static_cast<size_t>(offset));
    std::memcpy(out.data(), bytes_.data() + offset, count);
    return count;
  }
  Result<io::FileStat> Stat() const override {
    io::FileStat stat;
    stat.identity.size = bytes_.size();
    return stat;
  }
  const std::string& name() const override { return name_; }

 private:
  const std::string_view bytes_;
  const std::string name_ = "memory";
};

}  // namespace tarn::support

#endif  // TARN_TESTS_SUPPORT_MEMORY_FILE_H_

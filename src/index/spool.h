// Spool: records that are written in one order and read back in the same, later: in memory while they fit.
#ifndef TARN_SRC_INDEX_SPOOL_H_
#define TARN_SRC_INDEX_SPOOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/forward_reader.h"
#include "tarn/io/random_access_file.h"

namespace tarn::index {

class Spool {
 public:
  // Up to `memory_bytes` stay in memory; beyond it all records go to `file`, which is made then and is the
  // caller's to remove.
  Spool(std::string file, size_t memory_bytes) : file_(std::move(file)), memory_bytes_(memory_bytes) {}

  Status Add(std::string_view record);

  // Ends adding; records can then be read.
  Status Rewind();
  // The next record, or false behind the last. The view is valid until the next call.
  Result<bool> Next(std::string_view* record);

  bool spilled() const { return output_ != nullptr; }

 private:
  Status Spill();
  Result<bool> NextInMemory(std::string_view* record);

  const std::string file_;
  const size_t memory_bytes_;
  // Whole records with their lengths, in blocks: growing copies nothing.
  std::vector<std::string> blocks_;
  size_t bytes_ = 0;
  std::unique_ptr<io::AppendFile> output_;

  // While reading.
  size_t block_ = 0;
  size_t in_block_ = 0;
  std::unique_ptr<io::RandomAccessFile> input_;
  std::unique_ptr<io::WindowReader> window_;
  uint64_t offset_ = 0;
};

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_SPOOL_H_

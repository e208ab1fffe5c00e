// SST files by themselves: bundles, packs and a generation's own rows are written with SstWriter and read
// front to back with SstScan.
#ifndef TARN_SRC_INDEX_SST_H_
#define TARN_SRC_INDEX_SST_H_

#include <rocksdb/iterator.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tarn/base/result.h"

namespace tarn::index {

class SstWriter {
 public:
  // Creates `path`, which must not exist. Unless Finish() succeeds the destructor removes it. `sync`: whether
  // Finish() syncs the file.
  static Result<std::unique_ptr<SstWriter>> Create(const std::string& path, bool sync = true);
  ~SstWriter();

  // Keys in strictly rising order.
  Status Put(std::string_view key, std::string_view value);
  // Ends the file, and syncs it unless that is the caller's; its directory always is.
  Status Finish();

  uint64_t rows() const { return rows_; }
  uint64_t file_bytes() { return writer_.FileSize(); }

 private:
  SstWriter(std::string path, bool sync);

  std::string path_;
  const bool sync_;
  rocksdb::SstFileWriter writer_;
  uint64_t rows_ = 0;
  bool finished_ = false;
};

class SstScan {
 public:
  // kNotFound when there is no such file, kCorrupt when it is no SST file.
  static Result<std::unique_ptr<SstScan>> Open(const std::string& path);

  // Steps to the next row, from before the first; false behind the last.
  Result<bool> Next();
  std::string_view key() const;  // valid until the next call
  std::string_view value() const;

  // Key of the last row, wherever the scan stands; kNotFound when there is none.
  Result<std::string> LastKey();
  // Rows as the file itself counts them.
  uint64_t rows() const;
  // Reads every block and compares its checksum.
  Status VerifyChecksums();

 private:
  explicit SstScan(std::string path);

  std::string path_;
  rocksdb::SstFileReader reader_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_SST_H_

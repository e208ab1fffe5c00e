// RowScan: walks the rows whose keys start with one prefix.
#ifndef TARN_SRC_INDEX_ROW_SCAN_H_
#define TARN_SRC_INDEX_ROW_SCAN_H_

#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <string_view>

#include "tarn/base/result.h"

namespace tarn::index {

class RowScan {
 public:
  // Starts before the first row. `what` names the store in messages; it and `db` must outlive the scan.
  RowScan(rocksdb::DB* db, std::string prefix, std::string_view what);
  RowScan(const RowScan&) = delete;  // RocksDB holds a pointer to upper_bound_
  RowScan& operator=(const RowScan&) = delete;

  // Goes before the first row whose key behind the prefix is `suffix` or greater; greater than `suffix`.
  Status SeekTo(std::string_view suffix);
  Status SeekBehind(std::string_view suffix);

  // Steps to the next row; false behind the last.
  Result<bool> Next();

  // Of the row Next() stepped to; valid until the next call.
  std::string_view suffix() const;  // its key behind the prefix
  std::string_view value() const;

  // An error of the row's decoder, with the place where the row lies.
  Status InContext(Status decoded) const;
  Status BadKey() const;

 private:
  std::string prefix_;
  std::string end_;
  rocksdb::Slice upper_bound_;
  std::string_view what_;
  std::unique_ptr<rocksdb::Iterator> rows_;
  bool before_next_ = false;  // rows_ stands where Next() has to go
};

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_ROW_SCAN_H_

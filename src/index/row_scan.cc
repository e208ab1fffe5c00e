#include "index/row_scan.h"

#include <fmt/format.h>

#include "index/key.h"
#include "index/rocksdb_status.h"
#include "tarn/base/bytes.h"

namespace tarn::index {

RowScan::RowScan(rocksdb::DB* db, std::string prefix, std::string_view what)
    : prefix_(std::move(prefix)), end_(AfterPrefix(prefix_)), upper_bound_(end_), what_(what) {
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &upper_bound_;
  rows_.reset(db->NewIterator(options));
}

Status RowScan::SeekTo(std::string_view suffix) {
  const std::string key = prefix_ + std::string(suffix);
  rows_->Seek(key);
  before_next_ = true;
  return FromRocksDb(rows_->status(), fmt::format("cannot read '{}'", what_));
}

Status RowScan::SeekBehind(std::string_view suffix) {
  TARN_RETURN_IF_ERROR(SeekTo(suffix));
  if (!suffix.empty() && rows_->Valid() && this->suffix() == suffix) rows_->Next();
  return FromRocksDb(rows_->status(), fmt::format("cannot read '{}'", what_));
}

Result<bool> RowScan::Next() {
  if (before_next_) {
    before_next_ = false;
  } else if (rows_->Valid()) {
    rows_->Next();
  } else {
    rows_->Seek(prefix_);
  }
  if (rows_->Valid()) return true;
  TARN_RETURN_IF_ERROR(FromRocksDb(rows_->status(), fmt::format("cannot read '{}'", what_)));
  before_next_ = true;  // stays behind the last row
  return false;
}

std::string_view RowScan::suffix() const {
  const rocksdb::Slice key = rows_->key();
  return {key.data() + prefix_.size(), key.size() - prefix_.size()};
}

std::string_view RowScan::value() const {
  const rocksdb::Slice value = rows_->value();
  return {value.data(), value.size()};
}

Status RowScan::InContext(Status decoded) const {
  if (decoded.ok()) return decoded;
  const rocksdb::Slice key = rows_->key();
  return std::move(decoded).WithContext(
      fmt::format("row {} of '{}'", ToHex({key.data(), key.size()}), what_));
}

Status RowScan::BadKey() const {
  return InContext(Status(ErrorCode::kCorrupt, "a key that no writer makes"));
}

}  // namespace tarn::index

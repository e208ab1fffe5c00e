#include "index/sst.h"

#include <fmt/format.h>
#include <rocksdb/table_properties.h>

#include "index/rocksdb_options.h"
#include "index/rocksdb_status.h"
#include "tarn/base/log.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace

// RocksDB's own sync is left out in any case: one of ours does for both.
SstWriter::SstWriter(std::string path, bool sync)
    : path_(std::move(path)), sync_(sync), writer_(rocksdb::EnvOptions(), WriterOptions()) {}

Result<std::unique_ptr<SstWriter>> SstWriter::Create(const std::string& path, bool sync) {
  if (io::Exists(path)) return Status(ErrorCode::kAlreadyExists, fmt::format("'{}' exists already", path));
  std::unique_ptr<SstWriter> writer(new SstWriter(path, sync));
  TARN_RETURN_IF_ERROR(FromRocksDb(writer->writer_.Open(path), fmt::format("cannot create '{}'", path)));
  return writer;
}

SstWriter::~SstWriter() {
  if (finished_) return;
  if (const Status status = io::RemoveFile(path_); !status.ok()) Log(LogLevel::kWarning, status.message());
}

Status SstWriter::Put(std::string_view key, std::string_view value) {
  const rocksdb::Status status =
      writer_.Put(rocksdb::Slice(key.data(), key.size()), rocksdb::Slice(value.data(), value.size()));
  if (!status.ok()) return FromRocksDb(status, fmt::format("cannot write '{}'", path_));
  ++rows_;
  return Status::Ok();
}

Status SstWriter::Finish() {
  TARN_RETURN_IF_ERROR(FromRocksDb(writer_.Finish(), fmt::format("cannot write '{}'", path_)));
  if (sync_) TARN_RETURN_IF_ERROR(io::SyncFile(path_));
  finished_ = true;
  return Status::Ok();
}

SstScan::SstScan(std::string path) : path_(std::move(path)), reader_(ScanOptions()) {}

Result<std::unique_ptr<SstScan>> SstScan::Open(const std::string& path) {
  if (!io::Exists(path)) return Status(ErrorCode::kNotFound, fmt::format("'{}' does not exist", path));
  std::unique_ptr<SstScan> scan(new SstScan(path));
  TARN_RETURN_IF_ERROR(FromRocksDb(scan->reader_.Open(path), fmt::format("cannot open '{}'", path)));
  return scan;
}

Result<bool> SstScan::Next() {
  if (!iterator_) {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    iterator_.reset(reader_.NewIterator(options));
    iterator_->SeekToFirst();
  } else if (iterator_->Valid()) {
    iterator_->Next();
  }
  if (iterator_->Valid()) return true;
  TARN_RETURN_IF_ERROR(FromRocksDb(iterator_->status(), fmt::format("cannot read '{}'", path_)));
  return false;
}

std::string_view SstScan::key() const {
  return View(iterator_->key());
}
std::string_view SstScan::value() const {
  return View(iterator_->value());
}

Result<std::string> SstScan::LastKey() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> last(reader_.NewIterator(options));
  last->SeekToLast();
  if (last->Valid()) return last->key().ToString();
  TARN_RETURN_IF_ERROR(FromRocksDb(last->status(), fmt::format("cannot read '{}'", path_)));
  return Status(ErrorCode::kNotFound, fmt::format("'{}' holds no rows", path_));
}

uint64_t SstScan::rows() const {
  return reader_.GetTableProperties()->num_entries;
}

Status SstScan::VerifyChecksums() {
  const std::string what = fmt::format("'{}' is damaged", path_);
  TARN_RETURN_IF_ERROR(FromRocksDb(reader_.VerifyChecksum(), what));
  // The one property that RocksDB leaves out of the checksum, because it may write it when it takes a table
  // in. We do not let it.
  const auto& properties = reader_.GetTableProperties()->user_collected_properties;
  const auto sequence_number = properties.find("rocksdb.external_sst_file.global_seqno");
  if (sequence_number == properties.end() || sequence_number->second != std::string(sizeof(uint64_t), '\0')) {
    return Status(ErrorCode::kCorrupt, what + ": a global sequence number of 0 expected, found another");
  }
  return Status::Ok();
}

}  // namespace tarn::index

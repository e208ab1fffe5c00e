// Records lie end to end in the chunks of an arena, which grows without copying; what is sorted is a list of
// their places with the first eight bytes beside each, so that most comparisons touch no record. A run on
// disk is records in order, each behind its varint length. More runs than kMaxRuns are merged into one before
// another is written: descriptors and merge buffers stay bounded whatever the input.
#include "tarn/io/sorter.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/random_access_file.h"

namespace tarn::io {
namespace {

constexpr size_t kLeastMemory = size_t{64} << 10;
constexpr size_t kMaxRuns = 64;
constexpr size_t kLeastRunBuffer = size_t{16} << 10;
constexpr size_t kMostRunBuffer = size_t{1} << 20;
constexpr size_t kMaxVarintBytes = 10;
constexpr size_t kFirstChunk = size_t{16} << 10;
constexpr size_t kLargestChunk = size_t{1} << 20;

// Where a record lies in memory, and its first eight bytes as a number: shorter records are padded with
// zeros, so equal prefixes say nothing and unequal ones decide.
struct Place {
  uint64_t prefix;
  const char* data;
  size_t length;
};

// Keeps bytes in chunks that are never moved.
class Arena {
 public:
  const char* Add(std::string_view bytes) {
    if (chunks_.empty() || chunk_bytes_ - used_ < bytes.size()) {
      chunk_bytes_ = std::max(std::clamp(chunk_bytes_ * 2, kFirstChunk, kLargestChunk), bytes.size());
      chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk_bytes_));
      used_ = 0;
    }
    char* const at = chunks_.back().get() + used_;
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    used_ += bytes.size();
    size_ += bytes.size();
    return at;
  }

  size_t size() const { return size_; }  // of all records

  void Clear() {
    chunks_.clear();
    chunk_bytes_ = used_ = size_ = 0;
  }

 private:
  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t chunk_bytes_ = 0;  // of the last chunk
  size_t used_ = 0;         // of it
  size_t size_ = 0;
};

uint64_t PrefixOf(std::string_view record) {
  char first[8] = {};
  std::memcpy(first, record.data(), std::min(record.size(), sizeof first));
  return ReadBigEndian64(first);
}

// Reads the records of one run in order.
class RunReader {
 public:
  static Result<std::unique_ptr<RunReader>> Open(const std::string& path, size_t buffer_bytes) {
    TARN_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, OpenFile(path));
    TARN_ASSIGN_OR_RETURN(const FileStat stat, file->Stat());
    file->Advise(AccessPattern::kSequential);
    return std::unique_ptr<RunReader>(new RunReader(std::move(file), stat.identity.size, buffer_bytes));
  }

  // Moves to the next record; false behind the last.
  Result<bool> Advance() {
    if (left() == 0) return false;
    TARN_RETURN_IF_ERROR(Fill(kMaxVarintBytes));
    ByteReader header(Buffered());
    const uint64_t length = header.Varint();
    const size_t header_bytes = Buffered().size() - header.remaining();
    if (!header.ok() || length > left() - header_bytes) return Damaged();
    position_ += header_bytes;
    TARN_RETURN_IF_ERROR(Fill(static_cast<size_t>(length)));
    record_ = Buffered().substr(0, static_cast<size_t>(length));
    prefix_ = PrefixOf(record_);
    position_ += static_cast<size_t>(length);
    return true;
  }

  std::string_view record() const { return record_; }

  // Whether this run's record comes before the other's.
  bool Before(const RunReader& other) const {
    return prefix_ != other.prefix_ ? prefix_ < other.prefix_ : record_ < other.record_;
  }

 private:
  RunReader(std::unique_ptr<RandomAccessFile> file, uint64_t size, size_t buffer_bytes)
      : file_(std::move(file)), size_(size), buffer_(buffer_bytes, '\0') {}

  // Bytes of the run that have not been given out.
  uint64_t left() const { return size_ - file_offset_ + (end_ - position_); }
  std::string_view Buffered() const { return std::string_view(buffer_).substr(position_, end_ - position_); }

  // Has `wanted` bytes in the buffer, or all that are left.
  Status Fill(size_t wanted) {
    if (end_ - position_ >= wanted || file_offset_ == size_) return Status::Ok();
    std::memmove(buffer_.data(), buffer_.data() + position_, end_ - position_);
    end_ -= position_;
    position_ = 0;
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    const size_t count = static_cast<size_t>(std::min<uint64_t>(buffer_.size() - end_, size_ - file_offset_));
    TARN_ASSIGN_OR_RETURN(
        const size_t got,
        file_->ReadAt(file_offset_, std::as_writable_bytes(std::span(buffer_).subspan(end_, count))));
    if (got < count) return Damaged();
    end_ += got;
    file_offset_ += got;
    return Status::Ok();
  }

  Status Damaged() const {
    return Status(ErrorCode::kCorrupt, "sorted run '" + file_->name() + "' is damaged before offset " +
                                           std::to_string(file_offset_) + " of " + std::to_string(size_))
        .WithHint("somebody else changed a file of the scratch directory; run again");
  }

  const std::unique_ptr<RandomAccessFile> file_;
  const uint64_t size_;
  std::string buffer_;
  uint64_t file_offset_ = 0;  // bytes read into the buffer so far
  size_t position_ = 0;       // in the buffer: what comes next
  size_t end_ = 0;            // in the buffer: behind the last byte
  std::string_view record_;
  uint64_t prefix_ = 0;
};

// Merges runs: a heap of readers, the one with the least record on top.
class Merge {
 public:
  static Result<Merge> Open(const std::vector<std::string>& runs, size_t memory_bytes) {
    const size_t buffer_bytes = std::clamp(memory_bytes / runs.size(), kLeastRunBuffer, kMostRunBuffer);
    Merge merge;
    for (const std::string& path : runs) {
      TARN_ASSIGN_OR_RETURN(std::unique_ptr<RunReader> reader, RunReader::Open(path, buffer_bytes));
      TARN_ASSIGN_OR_RETURN(const bool some, reader->Advance());
      if (some) merge.heap_.push_back(std::move(reader));
    }
    std::make_heap(merge.heap_.begin(), merge.heap_.end(), After);
    return merge;
  }

  Result<bool> Next(std::string_view* record) {
    if (given_) {  // the top was given out and has been used: move it on
      std::pop_heap(heap_.begin(), heap_.end(), After);
      TARN_ASSIGN_OR_RETURN(const bool more, heap_.back()->Advance());
      if (more) {
        std::push_heap(heap_.begin(), heap_.end(), After);
      } else {
        heap_.pop_back();
      }
      given_ = false;
    }
    if (heap_.empty()) return false;
    *record = heap_.front()->record();
    given_ = true;
    return true;
  }

 private:
  static bool After(const std::unique_ptr<RunReader>& a, const std::unique_ptr<RunReader>& b) {
    return b->Before(*a);
  }

  std::vector<std::unique_ptr<RunReader>> heap_;
  bool given_ = false;
};

}  // namespace

class ExternalSorter::Impl {
 public:
  Impl(std::string scratch_directory, std::string prefix, size_t memory_bytes)
      : scratch_directory_(std::move(scratch_directory)),
        prefix_(std::move(prefix)),
        memory_bytes_(std::max(memory_bytes, kLeastMemory)) {}

  ~Impl() {
    merge_.reset();
    // Left-over runs cost space in a directory that is cleaned anyway; a destructor cannot report more.
    for (const std::string& path : runs_) (void)RemoveFile(path).ok();
  }

  Status Add(std::string_view record) {
    if (!places_.empty() && Memory() + record.size() + sizeof(Place) > memory_bytes_) {
      TARN_RETURN_IF_ERROR(Spill());
    }
    places_.push_back(Place{PrefixOf(record), arena_.Add(record), record.size()});
    ++records_;
    return Status::Ok();
  }

  Status Sort() {
    if (runs_.empty()) {
      SortPlaces();
      return Status::Ok();
    }
    if (!places_.empty()) TARN_RETURN_IF_ERROR(Spill());
    arena_.Clear();
    places_ = std::vector<Place>();
    TARN_ASSIGN_OR_RETURN(Merge merge, Merge::Open(runs_, memory_bytes_));
    merge_ = std::make_unique<Merge>(std::move(merge));
    return Status::Ok();
  }

  Result<bool> Next(std::string_view* record) {
    if (merge_) return merge_->Next(record);
    if (next_ == places_.size()) return false;
    *record = RecordAt(places_[next_++]);
    return true;
  }

  uint64_t records() const { return records_; }
  unsigned runs() const { return runs_written_; }

 private:
  size_t Memory() const { return arena_.size() + places_.size() * sizeof(Place); }
  static std::string_view RecordAt(const Place& place) { return {place.data, place.length}; }

  void SortPlaces() {
    std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
      return a.prefix != b.prefix ? a.prefix < b.prefix : RecordAt(a) < RecordAt(b);
    });
  }

  // Writes what is in memory as a run.
  Status Spill() {
    SortPlaces();
    size_t next = 0;
    TARN_RETURN_IF_ERROR(WriteRun([&](std::string_view* record) -> Result<bool> {
      if (next == places_.size()) return false;
      *record = RecordAt(places_[next++]);
      return true;
    }));
    arena_.Clear();
    places_.clear();
    if (runs_.size() < kMaxRuns) return Status::Ok();
    return MergeRuns();
  }

  // Makes one run of all.
  Status MergeRuns() {
    const std::vector<std::string> merged = runs_;
    {
      TARN_ASSIGN_OR_RETURN(Merge merge, Merge::Open(merged, memory_bytes_));
      TARN_RETURN_IF_ERROR(WriteRun([&merge](std::string_view* record) { return merge.Next(record); }));
    }
    for (const std::string& path : merged) {
      TARN_RETURN_IF_ERROR(RemoveFile(path));
      runs_.erase(runs_.begin());
    }
    return Status::Ok();
  }

  // `next` gives records in order, as Merge::Next does.
  template <typename Records>
  Status WriteRun(Records next) {
    const std::string path =
        JoinPath(scratch_directory_, prefix_ + "." + std::to_string(runs_written_) + ".run");
    TARN_ASSIGN_OR_RETURN(const std::unique_ptr<AppendFile> file, AppendFile::Create(path));
    runs_.push_back(path);
    ++runs_written_;
    std::string header;
    for (;;) {
      std::string_view record;
      TARN_ASSIGN_OR_RETURN(const bool some, next(&record));
      if (!some) return file->Close();
      header.clear();
      AppendVarint(&header, record.size());
      TARN_RETURN_IF_ERROR(file->Append(header));
      TARN_RETURN_IF_ERROR(file->Append(record));
    }
  }

  const std::string scratch_directory_;
  const std::string prefix_;
  const size_t memory_bytes_;
  Arena arena_;
  std::vector<Place> places_;
  size_t next_ = 0;
  std::vector<std::string> runs_;  // on disk now
  unsigned runs_written_ = 0;
  uint64_t records_ = 0;
  std::unique_ptr<Merge> merge_;
};

ExternalSorter::ExternalSorter(std::string scratch_directory, std::string prefix, size_t memory_bytes)
    : impl_(std::make_unique<Impl>(std::move(scratch_directory), std::move(prefix), memory_bytes)) {}

ExternalSorter::~ExternalSorter() = default;

Status ExternalSorter::Add(std::string_view record) {
  return impl_->Add(record);
}

Status ExternalSorter::Sort() {
  return impl_->Sort();
}

Result<bool> ExternalSorter::Next(std::string_view* record) {
  return impl_->Next(record);
}

uint64_t ExternalSorter::records() const {
  return impl_->records();
}

unsigned ExternalSorter::runs() const {
  return impl_->runs();
}

}  // namespace tarn::io

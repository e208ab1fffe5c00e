// A source in memory, whose files a test changes, removes and breaks as file servers do.
#ifndef TARN_TESTS_SUPPORT_FAKE_SOURCE_H_
#define TARN_TESTS_SUPPORT_FAKE_SOURCE_H_

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tarn/io/random_access_file.h"

namespace tarn::testing_support {

class FakeSource final : public io::Source {
 public:
  struct File {
    std::string contents;
    io::FileIdentity identity;
    io::FileAccess access{0644, 1000, 1000};
    int open_errno = 0;      // if not 0, Open and Stat fail with it
    int stale_reads = 0;     // so many reads of files opened from now on fail with ESTALE
    int read_errno = 0;      // if not 0, reads fail with it
    int failing_reads = -1;  // if not negative, only so many reads fail with read_errno
    // Called once, after the next read has taken its bytes: somebody writes while we read.
    std::function<void(File*)> after_read;
    // What an open file is of: Replace makes a new one, as a rename over the path does.
    uint64_t inode = 0;
  };

  explicit FakeSource(std::string name) : name_(std::move(name)) {}

  // A new file at `path`, with a new inode; what was there lives on in those who have it open, with the later
  // ctime that losing its name gives it.
  void Put(const std::string& path, std::string contents, int64_t mtime_ns = 1'000'000'000) {
    const std::lock_guard lock(mutex_);
    auto file = std::make_shared<File>();
    file->inode = ++last_inode_;
    file->identity = {contents.size(), mtime_ns, ++clock_, file->inode};
    file->contents = std::move(contents);
    std::shared_ptr<File>& place = files_[path];
    if (place != nullptr) place->identity.ctime_ns = ++clock_;
    place = std::move(file);
  }
  // Changes the file at `path` in place: open files see it. The ctime moves on.
  void Edit(const std::string& path, const std::function<void(File*)>& edit) {
    const std::lock_guard lock(mutex_);
    File& file = *files_.at(path);
    edit(&file);
    file.identity.size = file.contents.size();
    file.identity.ctime_ns = ++clock_;
  }
  void Remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    // Unlinking moves the ctime of the file on.
    files_.at(path)->identity.ctime_ns = ++clock_;
    files_.erase(path);
  }
  io::FileIdentity Identity(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return files_.at(path)->identity;
  }

  Result<std::unique_ptr<io::RandomAccessFile>> Open(std::string_view path) const override;
  Result<io::FileStat> Stat(std::string_view path) const override {
    const std::lock_guard lock(mutex_);
    stats++;
    const auto found = files_.find(std::string(path));
    if (found == files_.end()) return Status::FromErrno(ENOENT, "cannot look at '" + std::string(path) + "'");
    if (found->second->open_errno != 0) return Status::FromErrno(found->second->open_errno, "cannot look");
    return StatOf(*found->second);
  }
  Result<std::vector<io::DirectoryItem>> List(std::string_view) const override {
    return Status(ErrorCode::kUnsupported, "a fake source lists nothing");
  }
  const std::string& name() const override { return name_; }

  mutable std::atomic<int> opens{0};
  mutable std::atomic<int> stats{0};
  mutable std::atomic<int> reads{0};
  mutable std::atomic<uint64_t> read_bytes{0};
  mutable std::atomic<uint64_t> ahead_bytes{0};
  mutable std::atomic<int> open_now{0};
  mutable std::atomic<int> random_advice{0};

 private:
  class OpenFile;

  static io::FileStat StatOf(const File& file) {
    return io::FileStat{io::FileType::kRegular, file.identity, file.access};
  }

  const std::string name_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<File>> files_;
  uint64_t last_inode_ = 0;
  int64_t clock_ = 0;
};

class FakeSource::OpenFile final : public io::RandomAccessFile {
 public:
  OpenFile(const FakeSource* source, std::shared_ptr<File> file, std::string name)
      : source_(source), file_(std::move(file)), name_(std::move(name)) {
    source_->open_now++;
  }
  ~OpenFile() override { source_->open_now--; }

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    const std::lock_guard lock(source_->mutex_);
    source_->reads++;
    if (file_->stale_reads > 0) {
      file_->stale_reads--;
      return Status::FromErrno(ESTALE, "cannot read '" + name_ + "'");
    }
    if (file_->read_errno != 0 && file_->failing_reads != 0) {
      if (file_->failing_reads > 0) file_->failing_reads--;
      return Status::FromErrno(file_->read_errno, "cannot read '" + name_ + "'");
    }
    const std::string& contents = file_->contents;
    if (offset >= contents.size()) return size_t{0};
    const size_t got = std::min<size_t>(out.size(), contents.size() - offset);
    std::memcpy(out.data(), contents.data() + offset, got);
    source_->read_bytes += got;
    if (file_->after_read) std::exchange(file_->after_read, nullptr)(file_.get());
    return got;
  }
  std::optional<io::FileIdentity> KnownIdentity() const override {
    const std::lock_guard lock(source_->mutex_);
    return file_->identity;
  }
  Result<io::FileStat> Stat() const override {
    const std::lock_guard lock(source_->mutex_);
    source_->stats++;
    return StatOf(*file_);
  }
  void Advise(io::AccessPattern pattern) const override {
    if (pattern == io::AccessPattern::kRandom) source_->random_advice++;
  }
  void Prefetch(uint64_t, uint64_t length) const override { source_->ahead_bytes += length; }
  const std::string& name() const override { return name_; }

 private:
  const FakeSource* const source_;
  const std::shared_ptr<File> file_;
  const std::string name_;
};

inline Result<std::unique_ptr<io::RandomAccessFile>> FakeSource::Open(std::string_view path) const {
  std::shared_ptr<File> file;
  {
    const std::lock_guard lock(mutex_);
    opens++;
    const auto found = files_.find(std::string(path));
    if (found == files_.end()) return Status::FromErrno(ENOENT, "cannot open '" + std::string(path) + "'");
    if (found->second->open_errno != 0) return Status::FromErrno(found->second->open_errno, "cannot open");
    file = found->second;
  }
  return std::unique_ptr<io::RandomAccessFile>(
      std::make_unique<OpenFile>(this, std::move(file), name_ + "/" + std::string(path)));
}

}  // namespace tarn::testing_support

#endif  // TARN_TESTS_SUPPORT_FAKE_SOURCE_H_

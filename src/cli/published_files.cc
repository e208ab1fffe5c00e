#include "cli/published_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/digest/archive_digester.h"
#include "tarn/index/kept_files.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/forward_reader.h"
#include "tarn/io/thread_pool.h"

namespace tarn::cli {
namespace {

// Verdicts that wait for one before them, at most: an archive that takes long must not fill the memory.
constexpr size_t kMostWaiting = 4096;

class Verifier {
 public:
  Verifier(const std::string& source_path, const std::vector<std::shared_ptr<io::Source>>& sources,
           const VerifyOptions& options)
      : source_path_(source_path), sources_(sources), kept_(options.kept), full_(options.full) {}

  // The best that any place has.
  FileVerdict Look(const index::ManifestRow& row) const {
    FileVerdict best{
        .path = row.path, .id = row.id, .state = FileState::kMissing, .found = "it is at no source"};
    for (const auto& source : sources_) {
      for (const std::string& path : {io::JoinPath(source_path_, row.path), row.path}) {
        FileVerdict here{.path = row.path, .id = row.id, .state = FileState::kMissing, .found = {}};
        LookAt(*source, path, row, &here);
        if (Rank(here.state) < Rank(best.state)) best = std::move(here);
        if (best.state == FileState::kAsPublished) return best;
      }
    }
    if (kept_ != nullptr && best.state != FileState::kTouched) LookAtKept(row, &best);
    return best;
  }

 private:
  // A copy says nothing by its stat: its bytes are read.
  void LookAtKept(const index::ManifestRow& row, FileVerdict* best) const {
    const std::string path = index::KeptPath(row.id);
    FileVerdict copy{.path = row.path, .id = row.id, .state = FileState::kMissing, .found = {}};
    LookAt(*kept_, path, row, &copy);
    if (copy.state != FileState::kAsPublished && copy.state != FileState::kTouched) return;
    best->state = FileState::kKept;
    best->found +=
        fmt::format("; its copy '{}' has the bytes", EscapeName(io::JoinPath(kept_->name(), path)));
  }

  // How far from well; what is nowhere says least.
  static int Rank(FileState state) { return state == FileState::kMissing ? 100 : static_cast<int>(state); }

  void LookAt(const io::Source& source, const std::string& path, const index::ManifestRow& row,
              FileVerdict* verdict) const {
    const std::string name = EscapeName(io::JoinPath(source.name(), path));
    const auto file = source.Open(path);
    if (file.code() == ErrorCode::kNotFound) return;
    const auto stat = file.ok() ? (*file)->Stat() : Result<io::FileStat>(file.status());
    if (!stat.ok()) {
      verdict->state = FileState::kUnreadable;
      verdict->found = stat.status().message();
      return;
    }
    if (stat->identity.size != row.id.size) {
      verdict->state = FileState::kChanged;
      verdict->found = fmt::format("'{}' has {} bytes", name, stat->identity.size);
      return;
    }
    // Another time says that nobody knows: only the bytes can tell.
    const bool touched = stat->identity.mtime_ns != row.hint.mtime_ns;
    if (!full_ && !touched && &source != kept_.get()) {
      verdict->state = FileState::kAsPublished;
      return;
    }
    digest::ArchiveDigester digester;
    io::StreamReader reader(file->get(), row.id.size, {.buffers = buffers_},
                            [&digester](std::span<const std::byte> bytes) { digester.Update(bytes); });
    if (const Status read = reader.Finish(); !read.ok()) {
      verdict->state = read.code() == ErrorCode::kChanged ? FileState::kChanged : FileState::kUnreadable;
      verdict->found = read.message();
      return;
    }
    const ArchiveId id = digester.Finish().id;
    if (id != row.id) {
      verdict->state = FileState::kChanged;
      verdict->found = fmt::format("'{}' is {}", name, id.ToString());
    } else {
      verdict->state = touched ? FileState::kTouched : FileState::kAsPublished;
      if (touched)
        verdict->found = fmt::format("'{}' has another modification time and the same bytes", name);
    }
  }

  const std::string& source_path_;
  const std::vector<std::shared_ptr<io::Source>>& sources_;
  const std::shared_ptr<io::Source> kept_;
  const bool full_;
  const std::shared_ptr<io::BufferPool> buffers_ = std::make_shared<io::BufferPool>();
};

// Gives verdicts on in the order in which the files were begun.
class InOrder {
 public:
  explicit InOrder(const std::function<void(const FileVerdict&)>& visit) : visit_(visit) {}

  // A place in the order; waits while too many are waiting.
  uint64_t Begin() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [this] { return begun_ - next_ < kMostWaiting; });
    return begun_++;
  }

  void Give(uint64_t place, FileVerdict verdict) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(place, std::move(verdict));
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
         first = waiting_.erase(first), ++next_) {
      visit_(first->second);
    }
    moved_.notify_all();
  }

 private:
  const std::function<void(const FileVerdict&)>& visit_;
  std::mutex mutex_;
  std::condition_variable moved_;
  uint64_t begun_ = 0;
  uint64_t next_ = 0;
  std::map<uint64_t, FileVerdict> waiting_;
};

}  // namespace

std::string_view FileStateName(FileState state) {
  switch (state) {
    case FileState::kAsPublished:
      return "as published";
    case FileState::kTouched:
      return "touched";
    case FileState::kKept:
      return "kept";
    case FileState::kChanged:
      return "changed";
    case FileState::kMissing:
      return "missing";
    case FileState::kUnreadable:
      return "unreadable";
  }
  return "unknown";
}

Status VerifyPublishedFiles(const index::GenerationReader& generation,
                            const std::vector<std::shared_ptr<io::Source>>& sources,
                            const VerifyOptions& options,
                            const std::function<void(const FileVerdict&)>& visit) {
  const Verifier verifier(generation.facts().source_path, sources, options);
  InOrder order(visit);
  io::ThreadPool pool(std::max(options.jobs, 1U));
  return generation.ForEachManifestRow([&](const index::ManifestRow& row) {
    if (row.kind == index::ManifestKind::kQuarantined) return Status::Ok();
    const uint64_t place = order.Begin();
    pool.Submit([&verifier, &order, place, row] { order.Give(place, verifier.Look(row)); });
    return Status::Ok();
  });
}

}  // namespace tarn::cli

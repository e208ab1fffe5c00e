#include "indexer/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "indexer/stop_signal.h"
#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/thread_pool.h"

namespace tarn::indexer {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kReadAgainAfter = kSecond / 5;  // at least, when a file changed under us
constexpr std::chrono::milliseconds kLookForSignals{100};

// A file to be read, at the earliest at a time of the server's clock.
struct Work {
  ScannedFile file;
  int64_t not_before = 0;
  Status seen;  // what was wrong when it was read last
};

// When the file was written last. A writer stamps both times; whoever sets the mtime afterwards (rsync, tar,
// cp -p) is done writing. So it was written no later than the earlier of the two says.
int64_t LastWrite(const io::FileIdentity& identity) {
  return std::min(identity.mtime_ns, identity.ctime_ns);
}

class Pipeline {
 public:
  Pipeline(FilePassContext context, const PipelineOptions& options)
      : context_(std::move(context)),
        options_(options),
        deadline_(context_.clock->Now() + options.settle_timeout_ns),
        batch_(context_.root, context_.journal, io::JoinPath(options.scratch, "bundles")) {
    context_.batch = &batch_;
  }

  Result<PipelineResult> Run(std::vector<ScannedFile> files) {
    std::sort(files.begin(), files.end(), [](const ScannedFile& a, const ScannedFile& b) {
      return a.stat.identity.size != b.stat.identity.size ? a.stat.identity.size > b.stat.identity.size
                                                          : a.path < b.path;
    });
    for (ScannedFile& file : files) Schedule(std::move(file));
    TARN_RETURN_IF_ERROR(io::MakeDirectory(io::JoinPath(options_.scratch, "bundles")));
    {
      io::ThreadPool pool(options_.jobs);
      for (unsigned job = 0; job < options_.jobs; ++job) {
        pool.Submit([this, job] {
          Status status = ReadSome(io::JoinPath(options_.scratch, fmt::format("job-{}", job)));
          if (!status.ok()) Fail(std::move(status));
        });
      }
    }
    // Also when a signal asked to stop, or the root failed: what is whole is kept if it can be.
    Status placed = batch_.Flush();
    TARN_RETURN_IF_ERROR(failure_);
    TARN_RETURN_IF_ERROR(placed);
    std::sort(result_.read.begin(), result_.read.end(),
              [](const FilePassResult& a, const FilePassResult& b) { return a.file.path < b.file.path; });
    std::sort(result_.left_out.begin(), result_.left_out.end(),
              [](const LeftOut& a, const LeftOut& b) { return a.path < b.path; });
    return std::move(result_);
  }

 private:
  // Puts a file where it belongs: at once, when it has settled, or out.
  void Schedule(ScannedFile file) {
    const int64_t settles = LastWrite(file.stat.identity) + options_.settle_ns;
    if (options_.settle_ns == 0 || settles <= context_.clock->Now()) {
      ready_.push_back(Work{std::move(file), 0, {}});
    } else {
      Defer(Work{std::move(file), settles, {}});
    }
  }

  void Defer(Work work) {
    if (work.not_before <= deadline_) {
      const int64_t not_before = work.not_before;
      waiting_.emplace(not_before, std::move(work));
      return;
    }
    if (work.seen.ok()) {
      const int64_t age = context_.clock->Now() - LastWrite(work.file.stat.identity);
      work.seen =
          Status(ErrorCode::kChanged,
                 fmt::format("it was written {} s ago and is still being written as far as anyone can tell",
                             std::max<int64_t>(age, 0) / kSecond));
    }
    LeaveOut(std::move(work.file.path),
             std::move(work.seen)
                 .WithContext("not settled")
                 .WithHint("publish again when it is complete, or give a smaller --settle or a larger "
                           "--settle-timeout"));
  }

  void LeaveOut(std::string path, Status reason) {
    context_.progress->Say(fmt::format("left out: {}: {}", EscapeName(path), reason.message()));
    result_.left_out.push_back({std::move(path), std::move(reason)});
  }

  void Fail(Status status) {
    const std::lock_guard guard(mutex_);
    if (failure_.ok()) failure_ = std::move(status);
    changed_.notify_all();
  }

  // The next file that may be read now: one that had to wait, else the largest. Waits while others may still
  // put some back. Nothing: all is done, or something failed.
  std::optional<Work> Take() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (Status stop = StopSignal::Check(); !stop.ok() && failure_.ok()) failure_ = std::move(stop);
      if (!failure_.ok() || (ready_.empty() && waiting_.empty() && reading_ == 0)) {
        changed_.notify_all();
        return std::nullopt;
      }
      if (!waiting_.empty() && waiting_.begin()->first <= context_.clock->Now()) {
        ++reading_;
        return std::move(waiting_.extract(waiting_.begin()).mapped());
      }
      if (!ready_.empty()) {
        Work work = std::move(ready_.front());
        ready_.pop_front();
        ++reading_;
        return work;
      }
      changed_.wait_for(lock, kLookForSignals);
      lock.unlock();
      Status placed = batch_.FlushIfOld();
      lock.lock();
      if (!placed.ok() && failure_.ok()) failure_ = std::move(placed);
    }
  }

  Status ReadSome(const std::string& scratch) {
    TARN_RETURN_IF_ERROR(io::MakeDirectory(scratch));
    while (std::optional<Work> work = Take()) {
      Status status = Read(*std::move(work), scratch);
      const std::lock_guard guard(mutex_);
      --reading_;
      changed_.notify_all();
      if (!status.ok() && failure_.ok()) failure_ = std::move(status);
    }
    return Status::Ok();
  }

  Status Read(Work work, const std::string& scratch) {
    if (work.not_before > 0 && !HasSettled(&work)) return Status::Ok();
    TARN_ASSIGN_OR_RETURN(FilePassResult pass, ReadFileOnce(context_, work.file, scratch));
    if (pass.outcome == FilePassResult::Outcome::kRead) context_.progress->AddFile();
    const std::lock_guard guard(mutex_);
    switch (pass.outcome) {
      case FilePassResult::Outcome::kRead:
        result_.read.push_back(std::move(pass));
        break;
      case FilePassResult::Outcome::kLeftOut:
        LeaveOut(std::move(work.file.path), std::move(pass.reason));
        break;
      case FilePassResult::Outcome::kUnsettled:
        context_.progress->AddAgain(work.file.stat.identity.size);
        work.not_before = context_.clock->Now() + std::max(options_.settle_ns, kReadAgainAfter);
        work.seen = std::move(pass.reason);
        Defer(std::move(work));
        break;
    }
    return Status::Ok();
  }

  // Looks again at a file that was young: it may have been written meanwhile, or be gone.
  bool HasSettled(Work* work) {
    Result<io::FileStat> stat = context_.source->Stat(io::JoinPath(context_.dataset, work->file.path));
    const std::lock_guard guard(mutex_);
    if (!stat.ok()) {
      LeaveOut(std::move(work->file.path), std::move(stat).status());
      return false;
    }
    work->file.stat = *stat;
    const int64_t settles = LastWrite(stat->identity) + options_.settle_ns;
    if (settles <= context_.clock->Now()) return true;
    work->not_before = settles;
    Defer(std::move(*work));
    return false;
  }

  FilePassContext context_;
  const PipelineOptions& options_;
  const int64_t deadline_;  // by the server's clock
  BundleBatch batch_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> ready_;                // guarded by mutex_, like the rest
  std::multimap<int64_t, Work> waiting_;  // by not_before
  unsigned reading_ = 0;
  PipelineResult result_;
  Status failure_;
};

}  // namespace

Result<PipelineResult> ReadFiles(FilePassContext context, const PipelineOptions& options,
                                 std::vector<ScannedFile> files) {
  return Pipeline(std::move(context), options).Run(std::move(files));
}

}  // namespace tarn::indexer

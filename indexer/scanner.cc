#include "indexer/scanner.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "indexer/stop_signal.h"
#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/thread_pool.h"

namespace tarn::indexer {
namespace {

// Looking at a file is a round trip to a file server: several at once hide it.
constexpr unsigned kLookers = 8;
constexpr size_t kFilesPerLook = 64;

std::string Quoted(std::string_view path) {
  return "'" + EscapeName(path) + "'";
}

// NFS clients rename a file that is removed while it is open to such a name; it is gone when it is closed.
bool IsRemovedButOpen(std::string_view name) {
  return name.starts_with(".nfs") && name.size() > 20;
}

class Scanner {
 public:
  Scanner(const io::Source& source, const std::string& dataset, const Selection& selection)
      : source_(source), dataset_(dataset), selection_(selection) {}

  Result<Scan> Run() {
    TARN_ASSIGN_OR_RETURN(std::vector<io::DirectoryItem> items, source_.List(dataset_));
    AddItems("", std::move(items));
    while (!directories_.empty()) {
      TARN_RETURN_IF_ERROR(StopSignal::Check());
      const std::string directory = std::move(directories_.back());
      directories_.pop_back();
      Result<std::vector<io::DirectoryItem>> listed = source_.List(io::JoinPath(dataset_, directory));
      if (listed.ok()) {
        AddItems(directory, *std::move(listed));
      } else {
        scan_.left_out.push_back({directory, std::move(listed).status()});
      }
    }
    TARN_RETURN_IF_ERROR(LookAtAll());
    return std::move(scan_);
  }

 private:
  // A name that takes part, and what its directory says it is.
  struct Candidate {
    std::string path;
    bool is_link;
  };

  void AddItems(const std::string& directory, std::vector<io::DirectoryItem> items) {
    for (io::DirectoryItem& item : items) {
      std::string path = io::JoinPath(directory, item.name);
      switch (item.type) {
        case io::FileType::kDirectory:
          if (selection_.Enters(path)) directories_.push_back(std::move(path));
          break;
        case io::FileType::kRegular:
        case io::FileType::kSymlink:
          if (selection_.Selects(path) && !IsRemovedButOpen(item.name)) {
            candidates_.push_back({std::move(path), item.type == io::FileType::kSymlink});
          }
          break;
        case io::FileType::kOther:
          if (selection_.Selects(path)) {
            scan_.notes.push_back(Quoted(path) + " is a fifo, socket or device: not shown");
          }
          break;
      }
    }
  }

  // Looks at every candidate, several at the same time; then sorts them out in order.
  Status LookAtAll() {
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Candidate& a, const Candidate& b) { return a.path < b.path; });
    std::vector<std::optional<Result<io::FileStat>>> stats(candidates_.size());
    {
      io::ThreadPool pool(kLookers);
      for (size_t first = 0; first < candidates_.size(); first += kFilesPerLook) {
        pool.Submit([this, first, &stats] {
          const size_t last = std::min(first + kFilesPerLook, candidates_.size());
          for (size_t i = first; i < last && StopSignal::Received() == 0; ++i) {
            stats[i] = source_.Stat(io::JoinPath(dataset_, candidates_[i].path));
          }
        });
      }
    }
    TARN_RETURN_IF_ERROR(StopSignal::Check());
    for (size_t i = 0; i < candidates_.size(); ++i) Sort(std::move(candidates_[i]), *std::move(stats[i]));
    return Status::Ok();
  }

  void Sort(Candidate candidate, Result<io::FileStat> stat) {
    if (!stat.ok()) {
      scan_.left_out.push_back({std::move(candidate.path), std::move(stat).status()});
    } else if (stat->type == io::FileType::kRegular) {
      scan_.files.push_back({std::move(candidate.path), *stat});
    } else if (stat->type == io::FileType::kDirectory && candidate.is_link) {
      scan_.notes.push_back(Quoted(candidate.path) + " is a symbolic link to a directory: not followed");
    } else {
      scan_.notes.push_back(Quoted(candidate.path) + " is no regular file: not shown");
    }
  }

  const io::Source& source_;
  const std::string& dataset_;
  const Selection& selection_;
  std::vector<std::string> directories_;  // to be listed
  std::vector<Candidate> candidates_;
  Scan scan_;
};

}  // namespace

Result<Scan> ScanDataset(const io::Source& source, const std::string& dataset, const Selection& selection) {
  return Scanner(source, dataset, selection).Run();
}

}  // namespace tarn::indexer

#include "indexer/unpublished.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "indexer/scanner.h"

namespace tarn::indexer {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

// A source in which what is held is known to be there, without asking.
class HeldSource final : public io::Source {
 public:
  HeldSource(const io::Source& source, const std::string& directory,
             const std::function<bool(const std::string&)>& held, const std::function<void()>& before_request)
      : source_(source), directory_(directory), held_(held), before_request_(before_request) {}

  Result<std::unique_ptr<io::RandomAccessFile>> Open(std::string_view path) const override {
    before_request_();
    return source_.Open(path);
  }
  Result<io::FileStat> Stat(std::string_view path) const override {
    if (held_(Below(path))) return io::FileStat{};
    before_request_();
    return source_.Stat(path);
  }
  Result<std::vector<io::DirectoryItem>> List(std::string_view path) const override {
    before_request_();
    return source_.List(path);
  }
  const std::string& name() const override { return source_.name(); }

 private:
  // `path` as the dataset has it.
  std::string Below(std::string_view path) const {
    if (directory_.empty()) return std::string(path);
    if (!path.starts_with(directory_) || path.size() <= directory_.size()) return "";
    return std::string(path.substr(directory_.size() + 1));
  }

  const io::Source& source_;
  const std::string& directory_;
  const std::function<bool(const std::string&)>& held_;
  const std::function<void()>& before_request_;
};

}  // namespace

Result<UnpublishedScan> FindUnpublished(const io::Source& source, const std::string& directory,
                                        const Selection& selection,
                                        const std::function<bool(const std::string& path)>& held,
                                        const std::function<void()>& before_request) {
  const HeldSource paced(source, directory, held, before_request);
  TARN_ASSIGN_OR_RETURN(const Scan scan, ScanDataset(paced, directory, selection));
  UnpublishedScan found;
  for (const ScannedFile& file : scan.files) {  // in order of paths
    if (!selection.NamesArchive(file.path) || held(file.path)) continue;
    const io::FileIdentity& identity = file.stat.identity;
    const int64_t mtime = identity.mtime_ns / kNanosecondsPerSecond;
    dataset::UnpublishedArchives& archives = found.archives;
    archives.oldest_mtime = archives.count == 0 ? mtime : std::min(archives.oldest_mtime, mtime);
    found.youngest_ns = std::max({found.youngest_ns, identity.mtime_ns, identity.ctime_ns});
    ++archives.count;
    if (archives.names.size() < dataset::UnpublishedArchives::kMostNames) {
      archives.names.push_back(file.path);
    }
  }
  return found;
}

}  // namespace tarn::indexer

// FsckSink: where the checks of an fsck put what they find. Bounds what is told of each file.
#ifndef TARN_SRC_INDEX_FSCK_REPORT_H_
#define TARN_SRC_INDEX_FSCK_REPORT_H_

#include <string>
#include <string_view>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/index/fsck.h"

namespace tarn::index {

inline constexpr std::string_view kRestoreGeneration =
    "publish the dataset again with --identity=full, or retire the generation if it is an old one; others "
    "are not "
    "concerned";
inline constexpr std::string_view kPublishAgain =
    "publish the dataset again: the archive is read once more and its bundle made anew";
inline constexpr std::string_view kRemoveBundle =
    "remove the file; the next publish of a dataset that has the archive reads it again";
inline constexpr std::string_view kRemoveKept =
    "remove the file; the next publish that keeps it copies it again from the original";

class FsckSink {
 public:
  FsckSink(FsckListener* listener, size_t problems_per_file)
      : listener_(listener), limit_(problems_per_file) {}

  // Ends the account of the file before.
  Status StartFile(const std::string& path) {
    EndFile();
    path_ = path;
    return listener_->OnFile(path);
  }
  void EndFile() {
    if (told_ > limit_) {
      listener_->OnNote("'" + path_ + "' has " + std::to_string(told_ - limit_) + " more problems");
      ++report_.notes;
    }
    told_ = 0;
  }

  void Problem(FsckProblem problem) {
    ++report_.problems;
    if (problem.path.empty()) problem.path = path_;
    if (++told_ <= limit_) listener_->OnProblem(problem);
  }
  // Of the row with `key`, in the file of StartFile.
  void BadRow(std::string_view key, std::string what, std::string expected = "", std::string found = "") {
    Problem({path_, ToHex(key), std::move(what), std::move(expected), std::move(found), help_});
  }
  void BadFile(std::string what, std::string expected = "", std::string found = "") {
    Problem({path_, "", std::move(what), std::move(expected), std::move(found), help_});
  }
  void Note(const std::string& note) {
    ++report_.notes;
    listener_->OnNote(note);
  }

  void set_help(std::string_view help) { help_ = help; }
  const std::string& path() const { return path_; }
  FsckListener* listener() const { return listener_; }
  FsckReport& report() { return report_; }

 private:
  FsckListener* const listener_;
  const size_t limit_;
  std::string path_;
  std::string help_;
  size_t told_ = 0;
  FsckReport report_;
};

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_FSCK_REPORT_H_

// The journal: what publishes have learned about files that no generation tells yet.
//
// One line a file: its path, its hints, and the ArchiveId that was read behind them. A line is written just
// before the file's bundle is put in place, and counts once it is there: a publish that is killed at any
// instant leaves what it finished, and the next one reads no complete archive again. Each publish writes a
// file of its own, which it holds locked, and reads those of all others: publishes of one dataset never wait
// for each other. A line starts with its checksum: a torn one, or one of a newer version, is passed over.
//
//     <16 hex: XXH3-64 of the rest> 1 <size> <mtime ns> <ctime ns> <inode> <ArchiveId> <path, escaped>
#ifndef TARN_INDEXER_JOURNAL_H_
#define TARN_INDEXER_JOURNAL_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/random_access_file.h"

namespace tarn::indexer {

struct JournalLine {
  std::string path;  // relative to the dataset's directory
  io::FileIdentity hint;
  ArchiveId id;

  bool operator==(const JournalLine&) const = default;
};

std::string RenderJournalLine(const JournalLine& line);  // with its newline
// Nothing when `text` (without newline) is no whole line of this version.
std::optional<JournalLine> ParseJournalLine(std::string_view text);

class Journal {
 public:
  // Reads the journals in `directory` (made when it is not there) and starts one called `name`, which nobody
  // else uses.
  static Result<std::unique_ptr<Journal>> Open(const std::string& directory, const std::string& name);

  // Reads the journals in `directory`, if it is there, and writes nothing: Add and Compact are not for this
  // one.
  static Result<std::unique_ptr<Journal>> Look(const std::string& directory);

  // What the journals that were there say of `path`; null when nothing. Several lines: the last.
  const JournalLine* Find(const std::string& path) const;

  // Adds a line and hands it to the system. From any thread.
  Status Add(const JournalLine& line);

  // Replaces this journal and all whose writers are gone by one that holds `lines`, or by none.
  Status Compact(const std::vector<JournalLine>& lines);

 private:
  Journal(std::string directory, std::string path, std::optional<io::FileLock> lock,
          std::unique_ptr<io::AppendFile> file)
      : directory_(std::move(directory)),
        path_(std::move(path)),
        lock_(std::move(lock)),
        file_(std::move(file)) {}
  Status ReadOthers();

  const std::string directory_;
  const std::string path_;
  const std::optional<io::FileLock> lock_;
  std::vector<std::string> others_;  // paths of the journals that were read
  std::unordered_map<std::string, JournalLine> known_;
  std::mutex mutex_;
  std::unique_ptr<io::AppendFile> file_;  // guarded by mutex_
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_JOURNAL_H_

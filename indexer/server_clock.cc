#include "indexer/server_clock.h"

#include "tarn/io/filesystem.h"
#include "tarn/io/random_access_file.h"

namespace tarn::indexer {

Result<ServerClock> ServerClock::Ask(const std::string& directory) {
  const std::string path = io::JoinPath(directory, "clock");
  TARN_RETURN_IF_ERROR(io::WriteFileAtomically(path, "now\n"));
  TARN_ASSIGN_OR_RETURN(const std::unique_ptr<io::RandomAccessFile> file, io::OpenFile(path));
  TARN_ASSIGN_OR_RETURN(const io::FileStat stat, file->Stat());
  const int64_t local = LocalNow();
  TARN_RETURN_IF_ERROR(io::RemoveFile(path));
  // File systems stamp with a coarse clock that lags by milliseconds: a little behind is no skew.
  return ServerClock(stat.identity.mtime_ns - local);
}

}  // namespace tarn::indexer

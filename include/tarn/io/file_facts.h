// What the system says of files that are ours: for those who count and clean (an index root, caches).
#ifndef TARN_IO_FILE_FACTS_H_
#define TARN_IO_FILE_FACTS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tarn/base/result.h"
#include "tarn/io/random_access_file.h"

namespace tarn::io {

struct FileFacts {
  FileType type = FileType::kRegular;
  uint64_t bytes = 0;   // st_size
  uint64_t links = 0;   // names it has
  uint64_t device = 0;  // with inode: two names of one file agree in both. Means nothing on another machine
  uint64_t inode = 0;
  int64_t mtime_ns = 0;  // nanoseconds since 1970-01-01 UTC
};

// As lstat(2): a link is looked at, not followed.
Result<FileFacts> LookAt(const std::string& path);

// Visits everything below `directory` but directories, in order of names, never following links. What
// vanishes while it is walked is left out: others write and clean at the same time. kNotFound when
// `directory` is not there.
Status WalkFiles(const std::string& directory,
                 const std::function<Status(const std::string& path, const FileFacts& facts)>& visit);

}  // namespace tarn::io

#endif  // TARN_IO_FILE_FACTS_H_

#include "tarn/io/file_mode.h"

#include <sys/stat.h>

#include <cerrno>

#include "io/descriptor.h"

namespace tarn::io {

Status MakeReadOnly(const std::string& path) {
  if (RetryInterrupted([&] { return ::chmod(path.c_str(), 0444); }) == 0) return Status::Ok();
  return Status::FromErrno(errno, Cannot("change the mode of", path));
}

}  // namespace tarn::io

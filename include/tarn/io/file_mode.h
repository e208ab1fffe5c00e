// Permission bits of files that are ours.
#ifndef TARN_IO_FILE_MODE_H_
#define TARN_IO_FILE_MODE_H_

#include <string>

#include "tarn/base/status.h"

namespace tarn::io {

// Gives a file mode 0444, whatever the umask: everyone may read it, nobody writes it. Not synced.
Status MakeReadOnly(const std::string& path);

}  // namespace tarn::io

#endif  // TARN_IO_FILE_MODE_H_

// The file ROOT/format: says that a directory is an index root, of which format, and which one it is.
//
//     tarn-index-root
//     format 1
//     features 0
//     uuid 0f8fad5b-d9cd-469f-a165-70867728950e
//
// Text, so that `cat` answers. Lines behind the second may be added by later formats; a reader looks at the
// format and the features before it believes anything else, and passes over lines it does not know, because
// what it must know is a feature.
#ifndef TARN_SRC_INDEX_FORMAT_FILE_H_
#define TARN_SRC_INDEX_FORMAT_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tarn/base/result.h"

namespace tarn::index {

struct FormatFile {
  uint32_t version = 0;
  uint64_t features = 0;  // incompatible ones: hexadecimal in the file
  std::string uuid;       // 36 characters
};

std::string RenderFormatFile(const FormatFile& file);

// kInvalidArgument when `text` is no format file at all, kUnsupported when it says a format or feature this
// build does not know, kCorrupt when it is damaged. `root` is named in messages.
Result<FormatFile> ParseFormatFile(std::string_view text, std::string_view root);

// A random (version 4) UUID.
std::string MakeUuid();

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_FORMAT_FILE_H_

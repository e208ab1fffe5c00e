// Versions a reader may meet: the program's, and those of the formats it reads and writes.
#ifndef TARN_BASE_VERSION_H_
#define TARN_BASE_VERSION_H_

#include <cstdint>
#include <string_view>

namespace tarn {

// "0.1.0", from CMake's project version. Static storage.
std::string_view VersionString();

// Format of an index root and of everything below it (docs/index-format.md). Raised only by `tarn-index
// migrate`.
inline constexpr uint32_t kIndexFormatVersion = 1;

}  // namespace tarn

#endif  // TARN_BASE_VERSION_H_

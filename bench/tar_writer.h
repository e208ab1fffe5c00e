// TarWriter: headers of tars for generated datasets, in the three dialects that datasets come in.
//
//     gnu     old GNU magic, long names in an L member, large numbers in base-256 (GNU tar's default)
//     pax     ustar magic; every file has an extended header with its time to the nanosecond, as POSIX-mode
//             GNU tar and Python's tarfile write them; long names and large sizes in there too
//     ustar   POSIX.1-1988; a name that fits neither field, or a file of 8 GiB, is refused
//
// It writes bytes and knows no archive: what it appends is in order, and the data follows from the caller.
#ifndef TARN_BENCH_TAR_WRITER_H_
#define TARN_BENCH_TAR_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tarn/base/result.h"

namespace tarn::bench {

enum class TarFormat : uint8_t { kGnu, kPax, kUstar };

Result<TarFormat> ParseTarFormat(std::string_view text);
std::string_view TarFormatName(TarFormat format);

inline constexpr size_t kTarBlockBytes = 512;

// Zero bytes that fill the last block of `size` bytes of data.
constexpr size_t TarPadding(uint64_t size) {
  return static_cast<size_t>((kTarBlockBytes - size % kTarBlockBytes) % kTarBlockBytes);
}

struct TarMember {
  std::string_view name;  // a directory's ends in '/'
  uint64_t size = 0;
  uint32_t mode = 0644;
  uint32_t uid = 1000;
  uint32_t gid = 1000;
  int64_t mtime = 0;
  uint32_t mtime_ns = 0;  // kept by pax alone
};

// Appends the header blocks of one file or directory, extended headers included. kUnsupported: the dialect
// cannot say it.
Status AppendTarHeader(TarFormat format, const TarMember& member, std::string* out);
// Appends the end-of-archive marker, and zeros up to a whole record of 10 KiB of the archive's `size` bytes.
void AppendTarEnd(uint64_t size, std::string* out);

}  // namespace tarn::bench

#endif  // TARN_BENCH_TAR_WRITER_H_

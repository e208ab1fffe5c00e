// A second opinion: the same archive walked by libarchive, and every difference.
//
// Two readers that share no code rarely share a mistake. Where they differ for a reason that is known and
// decided (docs/tar-dialects.md, "Where libarchive differs"), the difference carries that reason; one without
// a reason is a defect of one of the two.
#ifndef TARN_TAR_REFERENCE_H_
#define TARN_TAR_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/io/random_access_file.h"

namespace tarn::tar {

struct Difference {
  uint64_t offset = 0;  // header offset of the member in question
  std::string member;   // its name
  std::string field;    // "name", "type", "mtime", "content", "member", "end", ...
  std::string ours;     // as Tarn has it
  std::string theirs;   // as libarchive has it
  std::string reason;   // why they differ; empty: unexplained
};

struct ReferenceOptions {
  bool compare_content = true;  // every byte of every file; without it headers alone
  size_t kept = 1000;           // differences kept; all are counted
};

struct ReferenceReport {
  uint64_t members = 0;            // ours
  uint64_t reference_members = 0;  // libarchive's
  uint64_t explained = 0;
  uint64_t unexplained = 0;
  std::vector<Difference> differences;
};

// Walks the first `size` bytes of `file` with both readers. Fails only when the file cannot be read.
Result<ReferenceReport> CompareWithReference(const io::RandomAccessFile& file, uint64_t size,
                                             const ReferenceOptions& options = {});

// "libarchive 3.6.2".
std::string ReferenceName();

}  // namespace tarn::tar

#endif  // TARN_TAR_REFERENCE_H_

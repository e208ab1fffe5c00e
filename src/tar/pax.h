// Extended headers: the records of pax `x`, `g` and Solaris `X` (pax(1), "pax Extended Header").
//
// A record is "LENGTH KEYWORD=VALUE\n", LENGTH counting all of it. Values are bytes: an NUL or a newline in
// one is no end of it. The last of several records for a keyword wins; an empty value takes back what an
// earlier record, a global one included, said.
#ifndef TARN_SRC_TAR_PAX_H_
#define TARN_SRC_TAR_PAX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tar/sparse.h"
#include "tarn/tar/finding.h"

namespace tarn::tar {

// What records can say, each a bit.
enum PaxField : uint32_t {
  kPaxPath = 1U << 0,
  kPaxLink = 1U << 1,
  kPaxUserName = 1U << 2,
  kPaxGroupName = 1U << 3,
  kPaxSize = 1U << 4,
  kPaxUid = 1U << 5,
  kPaxGid = 1U << 6,
  kPaxMtime = 1U << 7,
  kPaxDeviceMajor = 1U << 8,
  kPaxDeviceMinor = 1U << 9,
  kPaxStarRealSize = 1U << 10,  // SCHILY.realsize
  kPaxSparseMajor = 1U << 11,   // GNU.sparse.major
  kPaxSparseMinor = 1U << 12,
  kPaxSparseName = 1U << 13,
  kPaxSparseSize = 1U << 14,  // GNU.sparse.size (0.0, 0.1) or GNU.sparse.realsize (1.0)
  kPaxSparseMap = 1U << 15,   // GNU.sparse.map, or offset and numbytes records
};

struct PaxValues {
  uint32_t set = 0;     // PaxField bits with a value here
  uint32_t erased = 0;  // PaxField bits taken back by an empty value
  std::string path;
  std::string link;
  std::string user_name;
  std::string group_name;
  std::string sparse_name;
  uint64_t size = 0;
  uint64_t uid = 0;
  uint64_t gid = 0;
  int64_t mtime = 0;
  uint32_t mtime_ns = 0;
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  uint64_t star_real_size = 0;
  uint64_t sparse_major = 0;
  uint64_t sparse_minor = 0;
  uint64_t sparse_size = 0;
  std::vector<SparseEntry> sparse_entries;
  bool sparse_offset_open = false;  // a GNU.sparse.offset waits for its GNU.sparse.numbytes
  SparseTrouble sparse_trouble;     // why the map in the records cannot be used
  // As they came; the last of equal names counts (MergeXattrs).
  std::vector<std::pair<std::string, std::string>> xattrs;
  size_t xattr_bytes = 0;

  bool Has(PaxField field) const { return (set & field) != 0; }
  bool Any() const { return set != 0 || erased != 0 || !xattrs.empty(); }
  void Clear();
};

// What can be wrong with records. `spoils`: the member cannot be trusted (its name or size may be missing).
// `size_unknown`: nor can its end be found.
struct PaxOutcome {
  bool spoils = false;
  bool size_unknown = false;
};

using PaxProblem = std::function<void(FindingCode, Severity, std::string detail)>;

// Adds the records in `data` to `values`, at most `xattr_limit` bytes of extended attributes. Problems go to
// `problem`; records before and behind a badly valued one count, records behind a badly framed one are lost.
PaxOutcome ParsePaxRecords(std::string_view data, size_t xattr_limit, PaxValues* values,
                           const PaxProblem& problem);

// The extended attributes of a member from those of its globals and its own: sorted by name, one each.
void MergeXattrs(const PaxValues& global, const PaxValues& own,
                 std::vector<std::pair<std::string, std::string>>* xattrs);

}  // namespace tarn::tar

#endif  // TARN_SRC_TAR_PAX_H_

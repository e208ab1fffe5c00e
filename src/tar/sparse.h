// Sparse maps: from the segments that a writer stored to the extents of a file.
//
// Four spellings (GNU tar manual, "Storing Sparse Files"; star(5)): old GNU and star in the header and in
// extension blocks, pax 0.0 and 0.1 in records, pax 1.0 as text before the data. All end in a list of
// segments; one check decides whether that list can be served.
#ifndef TARN_SRC_TAR_SPARSE_H_
#define TARN_SRC_TAR_SPARSE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/tar/finding.h"
#include "tarn/tar/member.h"

namespace tarn::tar {

// Why a map cannot be used; empty text: it can.
struct SparseTrouble {
  std::string text;
  FindingCode code = FindingCode::kBadSparseMap;

  explicit operator bool() const { return !text.empty(); }
};

// A segment of the file that is stored; the rest are holes.
struct SparseEntry {
  uint64_t offset = 0;  // bytes from the start of the file
  uint64_t length = 0;
};

// Fills `extents` with the whole file: segments in the order given, holes between and behind them. Segments
// must rise, not overlap, end within `real_size` and together be `stored` bytes long.
SparseTrouble BuildSparseExtents(const std::vector<SparseEntry>& entries, uint64_t real_size,
                                 uint64_t data_offset, uint64_t stored, std::vector<Extent>* extents);

// The 24-byte segments of old GNU and star headers and of their extension blocks (offset[12], numbytes[12]),
// `count` of them; the first with an empty length ends the map (`*ended`).
SparseTrouble ParseHeaderSegments(std::string_view bytes, size_t count, std::vector<SparseEntry>* entries,
                                  bool* ended);

// "offset,length,offset,length,...": GNU.sparse.map of pax 0.1.
SparseTrouble ParsePaxSparseMap(std::string_view text, std::vector<SparseEntry>* entries);

// The map of pax 1.0, fed block by block as it stands before the data: decimal lines, first the number of
// segments, then offset and length of each. Lines that begin with '#' are comments.
class PaxSparseText {
 public:
  // `stored`: bytes that hold map and data; no map can have more segments than fit in them.
  // `limit`: most segments.
  PaxSparseText(uint64_t stored, size_t limit) : stored_(stored), limit_(limit) {}

  // Takes the next bytes; those behind the map are left alone.
  SparseTrouble Feed(std::string_view bytes, std::vector<SparseEntry>* entries);
  bool complete() const { return have_count_ && numbers_left_ == 0; }

 private:
  SparseTrouble TakeLine(std::vector<SparseEntry>* entries);

  const uint64_t stored_;
  const size_t limit_;
  bool have_count_ = false;
  uint64_t numbers_left_ = 0;
  std::string line_;
};

}  // namespace tarn::tar

#endif  // TARN_SRC_TAR_SPARSE_H_

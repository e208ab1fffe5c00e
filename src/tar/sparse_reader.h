// Reads the sparse map of one member, wherever its dialect keeps it, and fills in the member's extents.
#ifndef TARN_SRC_TAR_SPARSE_READER_H_
#define TARN_SRC_TAR_SPARSE_READER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tar/block_stream.h"
#include "tar/header_block.h"
#include "tar/member_fields.h"
#include "tar/sparse.h"
#include "tarn/tar/member.h"

namespace tarn::tar {

enum class SparseKind : uint8_t {
  kNone,
  kHeader,      // segments from the header are here; extension blocks may follow (old GNU, star)
  kPaxRecords,  // pax 0.0 and 0.1: all segments are here
  kPaxData,     // pax 1.0: the map stands before the data
};

// What headers say about a sparse member before anything behind them was read.
struct SparseSource {
  SparseKind kind = SparseKind::kNone;
  SparseTrouble trouble;  // already found
  uint64_t real_size = 0;
  std::vector<SparseEntry> entries;
  bool extended = false;  // kHeader: extension blocks follow
};

// For type 'S' (old GNU, star). `block` is not needed afterwards.
SparseSource HeaderSparseSource(const HeaderBlock& block, Dialect dialect, const Pending& pending,
                                const PaxValues& global);
// For a file, from its pax records. kNone when they say nothing of holes.
SparseSource PaxSparseSource(const PaxValues& pax);

struct SparseOutcome {
  SparseTrouble trouble;
  bool ends_walk = false;  // the file ends inside the map
};

// Takes `member` with the stored size and data offset of its header; sets its data offset behind the map,
// its stored size to the data alone, its logical size and its extents. With trouble, offset and stored size
// still say where the next header is. `limit`: most extents.
SparseOutcome ReadSparseMap(SparseSource source, size_t limit, BlockStream* stream, Member* member);

}  // namespace tarn::tar

#endif  // TARN_SRC_TAR_SPARSE_READER_H_

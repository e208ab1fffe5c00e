// HeaderWalker: reads the members of a tar in archive order, and says what is odd about it.
//
// Dialects: V7, ustar, pax, old GNU, GNU, star, Solaris (docs/tar-dialects.md). Names are bytes end to end.
// Nothing a header claims is believed before it is checked against the file's length and a limit. Every
// defect of the archive is a Finding; only a source that cannot be read is an error of the walk.
#ifndef TARN_TAR_HEADER_WALKER_H_
#define TARN_TAR_HEADER_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tarn/base/result.h"
#include "tarn/io/forward_reader.h"
#include "tarn/tar/finding.h"
#include "tarn/tar/member.h"

namespace tarn::tar {

// What an archive may make us spend; beyond it there is a finding, never an allocation.
struct WalkLimits {
  size_t extension_bytes = size_t{1} << 20;          // data of one extended header (pax x/g, GNU L/K)
  size_t pending_extension_bytes = size_t{4} << 20;  // of all extended headers before one member
  size_t global_bytes = size_t{1} << 20;             // kept from pax g headers
  size_t sparse_extents = size_t{1} << 20;           // extents of one member, holes included
  size_t xattr_bytes = size_t{1} << 20;              // names and values of one member
};

struct WalkOptions {
  WalkLimits limits;
  // Read on behind end-of-archive markers (`cat a.tar b.tar`); without it what follows is a DATA_AFTER_EOF
  // warning.
  bool ignore_zeros = false;
};

class HeaderWalker {
 public:
  // `reader` and `findings` must outlive the walker.
  HeaderWalker(io::ForwardReader* reader, FindingList* findings, const WalkOptions& options = {});
  ~HeaderWalker();

  // Fills in the next member, or gives false after the last. Fails only when the source does. After damage
  // the walk goes on at the next valid header, which it looks for block by block.
  Result<bool> Next(Member* member);

  // Members so far, and the offset behind the last byte that belongs to the archive (markers included).
  uint64_t members() const;
  uint64_t end_offset() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::tar

#endif  // TARN_TAR_HEADER_WALKER_H_

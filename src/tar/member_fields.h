// From a header's fields, and the extended headers before it, to a Member.
#ifndef TARN_SRC_TAR_MEMBER_FIELDS_H_
#define TARN_SRC_TAR_MEMBER_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tar/header_block.h"
#include "tar/numbers.h"
#include "tar/pax.h"
#include "tarn/tar/member.h"

namespace tarn::tar {

// What extended headers said about the member that comes next.
struct Pending {
  bool any = false;                     // an extended header was read since the last member
  bool spoiled = false;                 // one could not be read: the member's name or size is not known
  bool size_unknown = false;            // nor where its data ends
  uint64_t first_offset = 0;            // of the first of them
  uint64_t bytes = 0;                   // of their data
  std::optional<std::string> gnu_name;  // GNU L
  std::optional<std::string> gnu_link;  // GNU K
  PaxValues pax;

  void Clear();
};

// A numeric field that cannot be read and is taken as 0 (ids: as 2^32 - 1): its name, and its bytes.
struct BadField {
  std::string_view name;
  std::string_view bytes;
};

// Fills in all but sizes, offsets, extents, ordinal and xattrs. `bad` is set to the last field that is no
// number, if any.
void TakeHeaderFields(const HeaderBlock& block, Dialect dialect, Member* member,
                      std::optional<BadField>* bad);

// Lets extended headers replace what the header said: pax records of this member, then GNU L and K, then
// global records.
void ApplyExtensions(const Pending& pending, const PaxValues& global, Member* member);

// A file whose name ends in a slash is a directory: V7's way to store one, met in every dialect. For the name
// that counts, so after ApplyExtensions.
void ApplySlashRule(Member* member);

// The records that count for `field`: the member's own, else the global ones, else none.
const PaxValues* Effective(const Pending& pending, const PaxValues& global, PaxField field);

// The size of the member's data in the archive: from pax, or from the header.
HeaderNumber EffectiveSize(const HeaderBlock& block, const Pending& pending, const PaxValues& global);

}  // namespace tarn::tar

#endif  // TARN_SRC_TAR_MEMBER_FIELDS_H_

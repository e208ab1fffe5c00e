#include "tar/sparse_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tar/numbers.h"

namespace tarn::tar {
namespace {

constexpr size_t kHeaderSegments = 4;
constexpr size_t kBlockSegments = 21;  // of an extension block; its last bytes say whether another follows
constexpr size_t kBlockExtended = 504;

// Where old GNU (tar.h, oldgnu_header) and star (star_in_header) keep the same things.
struct HeaderLayout {
  size_t segments;
  size_t extended;
  size_t real_size;
};
constexpr HeaderLayout kGnuLayout{386, 482, 483};
constexpr HeaderLayout kStarLayout{356, 355, 452};

// Extension blocks stand between the header and the data. False where the file ends inside them.
bool ReadExtensionBlocks(size_t limit, BlockStream* stream, SparseSource* source, Member* member) {
  bool ended = false;
  while (source->extended) {
    const char* bytes = stream->Block(member->data_offset);
    if (bytes == nullptr) return false;
    member->data_offset += kBlockBytes;
    const HeaderBlock block(bytes);
    if (!ended && !source->trouble) {
      source->trouble =
          ParseHeaderSegments(block.Field(0, kBlockExtended), kBlockSegments, &source->entries, &ended);
    }
    if (!source->trouble && source->entries.size() > limit) {
      source->trouble = {fmt::format("more than {} segments, which is the limit", limit),
                         FindingCode::kLimitReached};
    }
    source->extended = block.bytes()[kBlockExtended] != '\0';
  }
  return true;
}

// The text map of pax 1.0 fills whole blocks before the data. False where the file ends inside it.
bool ReadPaxMap(size_t limit, BlockStream* stream, SparseSource* source, Member* member) {
  PaxSparseText text(member->stored_size, limit);
  uint64_t read = 0;
  while (!text.complete()) {
    if (read >= member->stored_size) {
      source->trouble = {
          fmt::format("the map before the data is not complete in its {} bytes", member->stored_size)};
      return true;
    }
    const char* bytes = stream->Block(member->data_offset + read);
    if (bytes == nullptr) return false;
    const uint64_t usable = std::min<uint64_t>(kBlockBytes, member->stored_size - read);
    source->trouble = text.Feed({bytes, static_cast<size_t>(usable)}, &source->entries);
    if (source->trouble) return true;
    read += kBlockBytes;
  }
  if (read > member->stored_size) {
    source->trouble = {fmt::format("the map fills {} bytes, {} are stored", read, member->stored_size)};
    return true;
  }
  member->data_offset += read;
  member->stored_size -= read;
  return true;
}

}  // namespace

SparseSource HeaderSparseSource(const HeaderBlock& block, Dialect dialect, const Pending& pending,
                                const PaxValues& global) {
  SparseSource source;
  source.kind = SparseKind::kHeader;
  if (dialect != Dialect::kGnu && dialect != Dialect::kXstar) {
    source.trouble = {"a sparse map expected, this dialect has no place for one"};
    return source;
  }
  const bool star = dialect == Dialect::kXstar;
  const HeaderLayout& layout = star ? kStarLayout : kGnuLayout;
  const std::string_view segments = block.Field(layout.segments, kHeaderSegments * 24);
  source.extended = block.bytes()[layout.extended] != '\0';
  // New star keeps all segments in extension blocks: its prefix may fill the place in the header.
  if (star && !(block.bytes()[345] == '\0' && segments[10] != '\0')) {
    source.extended = true;
  } else {
    bool ended = false;
    source.trouble = ParseHeaderSegments(segments, kHeaderSegments, &source.entries, &ended);
  }
  const HeaderNumber real = ParseHeaderNumber(block.Field(layout.real_size, 12));
  if (const PaxValues* pax = Effective(pending, global, kPaxStarRealSize); pax != nullptr) {
    source.real_size = pax->star_real_size;
  } else if (!real.good() || real.value < 0) {
    source.trouble = {"the real size is neither octal nor base-256"};
  } else {
    source.real_size = static_cast<uint64_t>(real.value);
  }
  return source;
}

SparseSource PaxSparseSource(const PaxValues& pax) {
  SparseSource source;
  if ((pax.set & (kPaxSparseMajor | kPaxSparseMinor | kPaxSparseMap | kPaxSparseSize)) == 0) return source;
  source.real_size = pax.sparse_size;
  const uint64_t major = pax.Has(kPaxSparseMajor) ? pax.sparse_major : 0;
  const uint64_t minor = pax.Has(kPaxSparseMinor) ? pax.sparse_minor : 0;
  source.kind = major == 1 ? SparseKind::kPaxData : SparseKind::kPaxRecords;
  if (major > 1 || (major == 1 && minor != 0)) {
    source.trouble = {fmt::format("a sparse format up to 1.0 expected, found {}.{}", major, minor)};
  } else if (!pax.Has(kPaxSparseSize)) {
    source.trouble = {"the real size is missing from the extended header"};
  } else if (major == 0) {
    source.entries = pax.sparse_entries;
    source.trouble = pax.sparse_trouble;
    if (!source.trouble && pax.sparse_offset_open) source.trouble = {"the last segment has no length"};
  }
  return source;
}

SparseOutcome ReadSparseMap(SparseSource source, size_t limit, BlockStream* stream, Member* member) {
  const size_t segments = limit / 2;  // each may need a hole before it
  const uint64_t map_offset = member->data_offset;
  bool whole = true;
  if (source.kind == SparseKind::kHeader) {
    whole = ReadExtensionBlocks(segments, stream, &source, member);
  } else if (source.kind == SparseKind::kPaxData && !source.trouble) {
    whole = ReadPaxMap(segments, stream, &source, member);
  }
  if (!whole) {
    return {
        {fmt::format("a sparse map expected from offset {}, the file ends inside it", map_offset),
         source.kind == SparseKind::kHeader ? FindingCode::kTruncatedExtension : FindingCode::kTruncatedData},
        true};
  }
  if (!source.trouble && source.entries.size() > segments) {
    source.trouble = {fmt::format("{} segments, the limit is {}", source.entries.size(), segments),
                      FindingCode::kLimitReached};
  }
  if (!source.trouble) {
    source.trouble = BuildSparseExtents(source.entries, source.real_size, member->data_offset,
                                        member->stored_size, &member->extents);
  }
  if (source.trouble) return {std::move(source.trouble), false};
  member->logical_size = source.real_size;
  return {};
}

}  // namespace tarn::tar

#include "tar/sparse.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "tar/numbers.h"
#include "tarn/base/bytes.h"

namespace tarn::tar {
namespace {

constexpr size_t kSegmentBytes = 24;
constexpr size_t kLongestLine = 64;  // a 64-bit number has 20 digits; comments may be longer than that

void AppendExtent(int64_t archive_offset, uint64_t length, std::vector<Extent>* extents) {
  if (length == 0) return;
  if (!extents->empty()) {
    Extent& last = extents->back();
    const bool joins = archive_offset == Extent::kHole
                           ? last.archive_offset == Extent::kHole
                           : last.archive_offset >= 0 &&
                                 last.archive_offset + static_cast<int64_t>(last.length) == archive_offset;
    if (joins) {
      last.length += length;
      return;
    }
  }
  extents->push_back({archive_offset, length});
}

}  // namespace

SparseTrouble BuildSparseExtents(const std::vector<SparseEntry>& entries, uint64_t real_size,
                                 uint64_t data_offset, uint64_t stored, std::vector<Extent>* extents) {
  extents->clear();
  if (real_size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return {fmt::format("the real size {} does not fit in 63 bits", real_size)};
  }
  uint64_t file_end = 0;
  uint64_t used = 0;
  for (const SparseEntry& entry : entries) {
    if (entry.offset > real_size || entry.length > real_size - entry.offset) {
      return {
          fmt::format("segment {}+{} ends beyond the real size {}", entry.offset, entry.length, real_size)};
    }
    if (entry.offset < file_end) {
      return {fmt::format("segment {}+{} begins before the end {} of the one before it", entry.offset,
                          entry.length, file_end)};
    }
    if (entry.length > stored - used) {
      return {fmt::format("the segments hold more than the {} bytes that are stored", stored)};
    }
    AppendExtent(Extent::kHole, entry.offset - file_end, extents);
    AppendExtent(static_cast<int64_t>(data_offset + used), entry.length, extents);
    file_end = entry.offset + entry.length;
    used += entry.length;
  }
  if (used != stored) {
    return {fmt::format("the segments hold {} bytes, {} are stored", used, stored)};
  }
  AppendExtent(Extent::kHole, real_size - file_end, extents);
  return {};
}

SparseTrouble ParseHeaderSegments(std::string_view bytes, size_t count, std::vector<SparseEntry>* entries,
                                  bool* ended) {
  *ended = false;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view segment = bytes.substr(i * kSegmentBytes, kSegmentBytes);
    if (segment[12] == '\0') {  // GNU tar's own test for the end
      *ended = true;
      return {};
    }
    const HeaderNumber offset = ParseHeaderNumber(segment.substr(0, 12));
    const HeaderNumber length = ParseHeaderNumber(segment.substr(12, 12));
    if (!offset.good() || !length.good() || offset.value < 0 || length.value < 0) {
      return {fmt::format("segment fields expected to be octal or base-256, found '{}' and '{}'",
                          EscapeName(segment.substr(0, 12)), EscapeName(segment.substr(12, 12)))};
    }
    entries->push_back({static_cast<uint64_t>(offset.value), static_cast<uint64_t>(length.value)});
  }
  return {};
}

SparseTrouble ParsePaxSparseMap(std::string_view text, std::vector<SparseEntry>* entries) {
  entries->clear();
  if (text.empty()) return {};
  bool have_offset = false;
  uint64_t offset = 0;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = text.find(',', begin);
    if (end == std::string_view::npos) end = text.size();
    const std::optional<uint64_t> number = ParseDecimal(text.substr(begin, end - begin));
    if (!number) {
      return {fmt::format("a decimal number expected in GNU.sparse.map, found '{}'",
                          EscapeName(text.substr(begin, std::min<size_t>(end - begin, kLongestLine))))};
    }
    if (have_offset) {
      entries->push_back({offset, *number});
    } else {
      offset = *number;
    }
    have_offset = !have_offset;
    begin = end + 1;
  }
  if (have_offset) return {"GNU.sparse.map ends with an offset without a length"};
  return {};
}

SparseTrouble PaxSparseText::Feed(std::string_view bytes, std::vector<SparseEntry>* entries) {
  for (const char c : bytes) {
    if (complete()) break;
    if (c != '\n') {
      if (line_.size() < kLongestLine) {
        line_.push_back(c);
      } else if (line_[0] != '#') {
        return {fmt::format("a decimal number and a newline expected in the map, found '{}...'",
                            EscapeName(line_))};
      }
      continue;
    }
    if (SparseTrouble trouble = TakeLine(entries); trouble) return trouble;
  }
  return {};
}

SparseTrouble PaxSparseText::TakeLine(std::vector<SparseEntry>* entries) {
  if (!line_.empty() && line_[0] == '#') {
    line_.clear();
    return {};
  }
  const std::optional<uint64_t> number = ParseDecimal(line_);
  if (!number) {
    return {fmt::format("a decimal number expected in the map, found '{}'", EscapeName(line_))};
  }
  line_.clear();
  if (!have_count_) {
    // The shortest segment is "0\n0\n".
    if (*number > stored_ / 4) {
      return {fmt::format("{} segments claimed, {} bytes stored", *number, stored_)};
    }
    if (*number > limit_) {
      return {fmt::format("{} segments, the limit is {}", *number, limit_), FindingCode::kLimitReached};
    }
    have_count_ = true;
    numbers_left_ = *number * 2;
    return {};
  }
  if (numbers_left_ % 2 == 0) {
    entries->push_back({*number, 0});
  } else {
    entries->back().length = *number;
  }
  --numbers_left_;
  return {};
}

}  // namespace tarn::tar

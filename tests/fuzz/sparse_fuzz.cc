// Sparse maps of any bytes, in every spelling: an accepted map covers the file exactly, in order.
#include <algorithm>
#include <string_view>

#include "tar/sparse.h"
#include "tests/fuzz/fuzz_target.h"

using tarn::tar::Extent;
using tarn::tar::SparseEntry;

namespace {

constexpr uint64_t kDataOffset = 1024;

void Check(const std::vector<SparseEntry>& entries, uint64_t real_size) {
  uint64_t stored = 0;
  for (const SparseEntry& entry : entries) stored += entry.length;
  for (const uint64_t claimed : {stored, stored + 1}) {
    std::vector<Extent> extents;
    if (tarn::tar::BuildSparseExtents(entries, real_size, kDataOffset, claimed, &extents)) continue;
    FUZZ_REQUIRE(claimed == stored);
    uint64_t length = 0;
    uint64_t archive = kDataOffset;
    for (const Extent& extent : extents) {
      FUZZ_REQUIRE(extent.length > 0);
      length += extent.length;
      if (extent.archive_offset == Extent::kHole) continue;
      FUZZ_REQUIRE(static_cast<uint64_t>(extent.archive_offset) == archive);
      archive += extent.length;
    }
    FUZZ_REQUIRE(length == real_size);
    FUZZ_REQUIRE(archive == kDataOffset + stored);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const uint64_t real_size = uint64_t{data[1]} << (data[0] >> 2);
  std::vector<SparseEntry> entries;
  bool ended = false;
  switch (data[0] & 3) {
    case 0:
      if (tarn::tar::ParseHeaderSegments(bytes, bytes.size() / 24, &entries, &ended)) return 0;
      break;
    case 1:
      if (tarn::tar::ParsePaxSparseMap(bytes, &entries)) return 0;
      break;
    default: {
      tarn::tar::PaxSparseText text(bytes.size(), 64);
      for (size_t at = 0; at < bytes.size(); at += 7) {
        if (text.Feed(bytes.substr(at, 7), &entries)) return 0;
      }
      FUZZ_REQUIRE(entries.size() <= 64);
      if (!text.complete()) return 0;
    }
  }
  Check(entries, real_size);
  return 0;
}

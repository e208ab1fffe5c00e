// The walk over any bytes: it ends, in order, within the file, and says the same for every size of window.
#include <string_view>

#include "tests/fuzz/fuzz_target.h"
#include "tests/support/walked.h"

namespace {

using tarn::support::WalkBytes;
using tarn::support::Walked;

tarn::tar::WalkOptions Options(uint8_t first) {
  tarn::tar::WalkOptions options;
  options.ignore_zeros = (first & 1) != 0;
  options.limits.extension_bytes = 16384;
  options.limits.pending_extension_bytes = 32768;
  options.limits.global_bytes = 16384;
  options.limits.sparse_extents = 256;
  options.limits.xattr_bytes = 4096;
  return options;
}

void CheckMember(const tarn::tar::Member& member, uint64_t size, uint64_t* offset) {
  FUZZ_REQUIRE(member.header_offset >= *offset && member.header_offset < size);
  FUZZ_REQUIRE(member.data_offset > member.header_offset);
  *offset = member.data_offset;
  FUZZ_REQUIRE(member.mode <= 07777 && member.mtime_ns < 1'000'000'000);
  uint64_t length = 0;
  uint64_t stored = 0;
  for (const tarn::tar::Extent& extent : member.extents) {
    FUZZ_REQUIRE(extent.length > 0);
    length += extent.length;
    if (extent.archive_offset == tarn::tar::Extent::kHole) continue;
    stored += extent.length;
    const auto begin = static_cast<uint64_t>(extent.archive_offset);
    FUZZ_REQUIRE(begin >= member.data_offset);
    FUZZ_REQUIRE(begin + extent.length <= member.data_offset + member.stored_size);
  }
  FUZZ_REQUIRE(length == member.logical_size);
  FUZZ_REQUIRE(stored == (member.IsFile() ? member.stored_size : 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const tarn::tar::WalkOptions options = Options(size > 0 ? data[0] : 0);
  const Walked walked = WalkBytes(bytes, options);
  uint64_t offset = 0;
  for (const tarn::tar::Member& member : walked.members) CheckMember(member, size, &offset);
  FUZZ_REQUIRE(walked.end_offset <= size);
  // A member that runs past the end is the last one, and it is said.
  for (size_t i = 0; i < walked.members.size(); ++i) {
    const tarn::tar::Member& member = walked.members[i];
    if (member.data_offset + member.stored_size <= size) continue;
    FUZZ_REQUIRE(i + 1 == walked.members.size() && walked.errors > 0);
  }
  const Walked again = WalkBytes(bytes, options, 4096);
  FUZZ_REQUIRE(again.Names() == walked.Names());
  FUZZ_REQUIRE(again.findings == walked.findings);
  FUZZ_REQUIRE(again.end_offset == walked.end_offset);
  return 0;
}

#include "index/format.h"

#include <fmt/format.h>

#include "tarn/base/bytes.h"
#include "tarn/base/version.h"

namespace tarn::index {

Status CheckFormat(uint32_t version, uint64_t features, std::string_view what) {
  if (version == 0) {
    return Status(ErrorCode::kCorrupt, fmt::format("{} says format 0, which never existed", what));
  }
  if (version > kIndexFormatVersion) {
    return Status(ErrorCode::kUnsupported,
                  fmt::format("{} has format {}; Tarn {} reads formats up to {}. Nothing was changed", what,
                              version, VersionString(), kIndexFormatVersion))
        .WithHint(fmt::format("use a newer Tarn, one that reads format {} ('tarn --version' names its own)",
                              version));
  }
  if (const uint64_t unknown = features & ~kKnownFeatures; unknown != 0) {
    return Status(ErrorCode::kUnsupported,
                  fmt::format("{} (format {}) uses features {:#x} that Tarn {} does not know. Nothing was "
                              "changed",
                              what, version, unknown, VersionString()))
        .WithHint("use a newer Tarn; docs/index-format.md lists the features by number");
  }
  return Status::Ok();
}

bool PeekFormat(std::string_view generation_facts, uint32_t* version, uint64_t* features) {
  ByteReader in(generation_facts);
  *version = in.Varint32();
  *features = in.Varint();
  return in.ok();
}

}  // namespace tarn::index

// What this build knows of index formats: the one place that decides whether a root or a generation may be
// read (docs/index-format.md, "Versions").
#ifndef TARN_SRC_INDEX_FORMAT_H_
#define TARN_SRC_INDEX_FORMAT_H_

#include <cstdint>
#include <string_view>

#include "tarn/base/status.h"

namespace tarn::index {

// Incompatible features this build can read: none exists in format 1. A reader that meets a bit it does not
// know must refuse, because rows may mean something else.
inline constexpr uint64_t kKnownFeatures = 0;

// Ok when this build can read `version` with `features`. kUnsupported otherwise, naming both versions (or the
// unknown bits) and what helps; kCorrupt for version 0, which never existed. `what` is named in the message:
// "index root '/index'".
Status CheckFormat(uint32_t version, uint64_t features, std::string_view what);

// The version and features at the head of encoded GenerationFacts; they stand first in every format, so that
// a reader can refuse the rest. False when even they cannot be read.
bool PeekFormat(std::string_view generation_facts, uint32_t* version, uint64_t* features);

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_FORMAT_H_

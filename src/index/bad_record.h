// What every decoder says of bytes that are not a record.
#ifndef TARN_SRC_INDEX_BAD_RECORD_H_
#define TARN_SRC_INDEX_BAD_RECORD_H_

#include <string_view>

#include "tarn/base/status.h"

namespace tarn::index {

// kCorrupt. `what` is the kind of record; who read the row adds where it lies.
Status BadRecord(std::string_view what, std::string_view bytes);

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_BAD_RECORD_H_

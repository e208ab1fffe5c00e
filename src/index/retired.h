// Where a dataset keeps the markers of its retired generations: datasets/<name>/retired/<N>.
#ifndef TARN_SRC_INDEX_RETIRED_H_
#define TARN_SRC_INDEX_RETIRED_H_

#include <string_view>

namespace tarn::index {

inline constexpr std::string_view kRetiredDirectory = "retired";

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_RETIRED_H_

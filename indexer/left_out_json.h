// How the JSON reports name what was left out: the same in each.
#ifndef TARN_INDEXER_LEFT_OUT_JSON_H_
#define TARN_INDEXER_LEFT_OUT_JSON_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "indexer/left_out.h"
#include "tarn/base/bytes.h"

namespace tarn::indexer {

// [{"path": ..., "code": ..., "reason": ...}]: path and reason are escaped (printable ASCII).
inline nlohmann::ordered_json LeftOutJson(const std::vector<LeftOut>& files) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LeftOut& file : files) {
    list.push_back({{"path", EscapeName(file.path)},
                    {"code", ErrorCodeName(file.reason.code())},
                    {"reason", EscapeName(file.reason.message())}});
  }
  return list;
}

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_LEFT_OUT_JSON_H_

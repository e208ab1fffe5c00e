// LeftOut: a file that is in the dataset's directory and not in the generation, and why. Never silent: each
// is named in the report and makes the exit code 1.
#ifndef TARN_INDEXER_LEFT_OUT_H_
#define TARN_INDEXER_LEFT_OUT_H_

#include <string>

#include "tarn/base/status.h"

namespace tarn::indexer {

struct LeftOut {
  std::string path;  // relative to the dataset's directory
  Status reason;     // never ok
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_LEFT_OUT_H_

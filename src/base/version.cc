#include "tarn/base/version.h"

namespace tarn {

std::string_view VersionString() {
  return TARN_VERSION;
}

}  // namespace tarn

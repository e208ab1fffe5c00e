#include "fuse/negotiated.h"

#include <fmt/format.h>

namespace tarn::fuse {

std::string NegotiatedRecord::ToString() const {
  return fmt::format(
      "FUSE {}.{}, flags {:#x} of {:#x}, max_read {}, max_readahead {}, max_background {}, root {}, {}",
      protocol_major, protocol_minor, flags, kernel_offers, max_read, max_readahead, max_background,
      root_uuid, dataset);
}

}  // namespace tarn::fuse

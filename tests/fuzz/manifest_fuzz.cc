// Rows of a generation's manifest and tree: a decoder takes exactly what an encoder writes. The first byte
// says which row the rest is.
#include <string>
#include <string_view>
#include <vector>

#include "tarn/index/records.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

template <typename Record>
void RoundTrip(std::string_view bytes) {
  Record record;
  if (!tarn::index::Decode(bytes, &record).ok()) return;
  std::string again;
  tarn::index::Encode(record, &again);
  FUZZ_REQUIRE(again == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      RoundTrip<tarn::index::ManifestRow>(bytes);
      break;
    case 1:
      RoundTrip<tarn::index::GenerationFacts>(bytes);
      break;
    case 2:
      RoundTrip<tarn::index::TreeDentryRecord>(bytes);
      break;
    case 3:
      RoundTrip<tarn::index::TreeDirectoryRecord>(bytes);
      break;
    case 4:
      RoundTrip<tarn::index::DirectoryRangeRecord>(bytes);
      break;
    default: {
      std::vector<uint64_t> checksums;
      if (!tarn::index::DecodeChunkRow(bytes, &checksums).ok()) return 0;
      FUZZ_REQUIRE(!checksums.empty() && checksums.size() <= tarn::index::kChunksPerRow);
      FUZZ_REQUIRE(checksums.size() * 8 == bytes.size());
    }
  }
  return 0;
}

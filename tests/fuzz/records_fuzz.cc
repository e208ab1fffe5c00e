// Records of a bundle and of a generation: a decoder takes exactly what an encoder writes. The first byte
// says which record the rest is.
#include <string>
#include <string_view>

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

void RoundTripMember(std::string_view bytes, const tarn::index::MemberDefaults& defaults) {
  tarn::index::MemberRecord record;
  if (!tarn::index::Decode(bytes, defaults, &record).ok()) return;
  std::string again;
  tarn::index::Encode(record, defaults, &again);
  FUZZ_REQUIRE(again == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      RoundTrip<tarn::index::ArchiveFacts>(bytes);
      break;
    case 1:
      RoundTripMember(bytes, {});
      break;
    case 2: {
      tarn::index::MemberDefaults defaults;
      defaults.mode = 0644;
      defaults.uid = 1000;
      defaults.gid = 1000;
      defaults.user_name = "user";
      defaults.mtime = 1'700'000'000;
      RoundTripMember(bytes, defaults);
      break;
    }
    case 3:
      RoundTrip<tarn::index::DentryRecord>(bytes);
      break;
    case 4:
      RoundTrip<tarn::index::DirectoryRecord>(bytes);
      break;
    default:
      RoundTrip<tarn::tar::Finding>(bytes);
  }
  return 0;
}

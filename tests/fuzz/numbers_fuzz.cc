// Numbers of any bytes.
#include <string>
#include <string_view>

#include "tar/header_block.h"
#include "tar/numbers.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view field = bytes.substr(0, 12);
  const tarn::tar::HeaderNumber number = tarn::tar::ParseHeaderNumber(field);
  FUZZ_REQUIRE(number.good() || number.value == 0);
  const bool base256 = !field.empty() && (static_cast<unsigned char>(field[0]) & 0x80) != 0;
  if (!base256) FUZZ_REQUIRE(number.value >= 0 && number.value < int64_t{1} << 36);

  if (const auto decimal = tarn::tar::ParseDecimal(bytes); decimal) {
    const std::string_view digits = bytes.substr(std::min(bytes.find_first_not_of('0'), bytes.size() - 1));
    FUZZ_REQUIRE(std::to_string(*decimal) == digits);
  }
  if (const auto time = tarn::tar::ParsePaxTime(bytes); time) {
    FUZZ_REQUIRE(time->nanoseconds < 1'000'000'000);
    FUZZ_REQUIRE((bytes[0] == '-') == (time->seconds < 0) || time->seconds == 0);
  }
  if (size >= tarn::tar::kBlockBytes) {
    const tarn::tar::HeaderBlock block(bytes.data());
    FUZZ_REQUIRE(!(block.IsZero() && block.IsHeader()));
    FUZZ_REQUIRE(block.prefix(block.dialect()).size() <= 155);
  }
  FUZZ_REQUIRE(tarn::tar::CompressionOf(bytes).size() < 32);
  return 0;
}

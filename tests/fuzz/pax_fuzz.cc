// pax records of any bytes: what was understood can be written again and is understood the same.
#include <string>
#include <string_view>

#include "tar/pax.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/tar_writer.h"

using tarn::tar::PaxValues;

namespace {

constexpr size_t kXattrLimit = 4096;

tarn::tar::PaxOutcome Parse(std::string_view bytes, PaxValues* values) {
  return tarn::tar::ParsePaxRecords(
      bytes, kXattrLimit, values, [](tarn::tar::FindingCode, tarn::tar::Severity, const std::string& detail) {
        FUZZ_REQUIRE(!detail.empty());
      });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  PaxValues values;
  const tarn::tar::PaxOutcome outcome = Parse({reinterpret_cast<const char*>(data), size}, &values);
  FUZZ_REQUIRE((values.set & values.erased) == 0);
  FUZZ_REQUIRE(values.xattr_bytes <= kXattrLimit);
  FUZZ_REQUIRE(!outcome.size_unknown || outcome.spoils);
  FUZZ_REQUIRE(values.mtime_ns < 1'000'000'000);

  std::string records;
  if (values.Has(tarn::tar::kPaxPath)) records += tarn::support::TarWriter::PaxRecord("path", values.path);
  if (values.Has(tarn::tar::kPaxSize)) {
    records += tarn::support::TarWriter::PaxRecord("size", std::to_string(values.size));
  }
  for (const auto& [name, value] : values.xattrs) {
    // A record's keyword ends at its first '=': such names come from percent escapes alone.
    if (name.find('=') == std::string::npos) {
      records += tarn::support::TarWriter::PaxRecord("SCHILY.xattr." + name, value);
    }
  }
  PaxValues again;
  FUZZ_REQUIRE(!Parse(records, &again).spoils);
  FUZZ_REQUIRE(again.Has(tarn::tar::kPaxPath) == values.Has(tarn::tar::kPaxPath));
  if (values.Has(tarn::tar::kPaxPath)) FUZZ_REQUIRE(again.path == values.path);
  if (values.Has(tarn::tar::kPaxSize)) FUZZ_REQUIRE(again.size == values.size);

  std::vector<std::pair<std::string, std::string>> merged;
  tarn::tar::MergeXattrs(values, again, &merged);
  for (size_t i = 1; i < merged.size(); ++i) FUZZ_REQUIRE(merged[i - 1].first < merged[i].first);
  return 0;
}

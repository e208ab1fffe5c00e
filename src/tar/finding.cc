#include "tarn/tar/finding.h"

#include <array>
#include <utility>

namespace tarn::tar {
namespace {

// By value of the code; FindingCode starts at 1.
constexpr std::array<std::string_view, 25> kNames{
    "TRUNCATED_HEADER", "TRUNCATED_DATA", "TRUNCATED_EXTENSION", "MISSING_EOF",        "LONE_ZERO_BLOCK",
    "DATA_AFTER_EOF",   "BAD_CHECKSUM",   "BAD_NUMBER",          "NEGATIVE_SIZE",      "SIZE_OVERFLOW",
    "BAD_PAX_RECORD",   "BAD_PAX_VALUE",  "BAD_SPARSE_MAP",      "DANGLING_EXTENSION", "EXTENSION_TOO_LARGE",
    "NAME_TOO_LONG",    "BAD_NAME",       "NAME_CONFLICT",       "ESCAPES_ROOT",       "DANGLING_HARDLINK",
    "HARDLINK_CYCLE",   "MULTIVOLUME",    "NOT_A_TAR",           "COMPRESSED",         "LIMIT_REACHED",
};

}  // namespace

std::string_view FindingCodeName(FindingCode code) {
  const size_t index = static_cast<size_t>(code) - 1;
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

std::string_view SeverityName(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

void FindingList::Add(Finding finding) {
  uint64_t& count = finding.severity == Severity::kError ? errors_ : warnings_;
  if (count++ < limit_) kept_.push_back(std::move(finding));
}

}  // namespace tarn::tar

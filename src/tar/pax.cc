#include "tar/pax.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "tar/numbers.h"
#include "tarn/base/bytes.h"

namespace tarn::tar {
namespace {

constexpr size_t kShownBytes = 64;  // of a value, in findings
constexpr uint64_t kMaxSize = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

std::string Shown(std::string_view bytes) {
  return EscapeName(bytes.substr(0, kShownBytes)) + (bytes.size() > kShownBytes ? "..." : "");
}

// Base64 as libarchive writes it for LIBARCHIVE.xattr: padding optional, anything else is no base64.
std::optional<std::string> DecodeBase64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    uint32_t six = 0;
    if (c >= 'A' && c <= 'Z') {
      six = static_cast<uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      six = static_cast<uint32_t>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      six = static_cast<uint32_t>(c - '0') + 52;
    } else if (c == '+' || c == '-') {
      six = 62;
    } else if (c == '/' || c == '_') {
      six = 63;
    } else {
      return std::nullopt;
    }
    bits = (bits << 6) | six;
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>((bits >> count) & 0xff));
    }
  }
  return out;
}

// %41 to "A"; a percent sign that begins no escape stands for itself.
std::string DecodePercent(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      if (const auto byte = FromHex(text.substr(i + 1, 2)); byte) {
        out += *byte;
        i += 2;
        continue;
      }
    }
    out.push_back(text[i]);
  }
  return out;
}

struct TextKeyword {
  std::string_view keyword;
  PaxField field;
  std::string PaxValues::*value;
};
constexpr std::array<TextKeyword, 5> kTextKeywords{{
    {"path", kPaxPath, &PaxValues::path},
    {"linkpath", kPaxLink, &PaxValues::link},
    {"uname", kPaxUserName, &PaxValues::user_name},
    {"gname", kPaxGroupName, &PaxValues::group_name},
    {"GNU.sparse.name", kPaxSparseName, &PaxValues::sparse_name},
}};

// Numbers that decide where a member's data is and what it means: nothing works without them.
struct SizeKeyword {
  std::string_view keyword;
  PaxField field;
  uint64_t PaxValues::*value;
};
constexpr std::array<SizeKeyword, 6> kSizeKeywords{{
    {"size", kPaxSize, &PaxValues::size},
    {"GNU.sparse.size", kPaxSparseSize, &PaxValues::sparse_size},
    {"GNU.sparse.realsize", kPaxSparseSize, &PaxValues::sparse_size},
    {"GNU.sparse.major", kPaxSparseMajor, &PaxValues::sparse_major},
    {"GNU.sparse.minor", kPaxSparseMinor, &PaxValues::sparse_minor},
    {"SCHILY.realsize", kPaxStarRealSize, &PaxValues::star_real_size},
}};

class RecordParser {
 public:
  RecordParser(size_t xattr_limit, PaxValues* values, const PaxProblem& problem)
      : xattr_limit_(xattr_limit), values_(values), problem_(problem) {}

  PaxOutcome Parse(std::string_view data);

 private:
  // Cuts the next record off `data`. False when it is framed badly.
  bool CutRecord(std::string_view* data, std::string_view* keyword, std::string_view* value);
  void Apply(std::string_view keyword, std::string_view value);
  void ApplySize(const SizeKeyword& known, std::string_view value);
  void ApplyTime(std::string_view value);
  void ApplyId(PaxField field, uint64_t PaxValues::*id, std::string_view keyword, std::string_view value);
  void ApplyDevice(PaxField field, uint32_t PaxValues::*number, std::string_view keyword,
                   std::string_view value);
  void ApplySparse(std::string_view keyword, std::string_view value);
  void ApplyXattr(std::string name, std::string value);

  void Set(PaxField field) {
    values_->set |= field;
    values_->erased &= ~uint32_t{field};
  }
  // An empty value takes back what was said before. True if it was one.
  bool TookBack(PaxField field, std::string_view value) {
    if (!value.empty()) return false;
    values_->set &= ~uint32_t{field};
    values_->erased |= field;
    return true;
  }
  void Unusable(std::string_view keyword, std::string_view value, std::string_view expected) {
    problem_(FindingCode::kBadPaxValue, Severity::kWarning,
             fmt::format("{}: {} expected, found '{}'; the record is ignored", Shown(keyword), expected,
                         Shown(value)));
  }

  const size_t xattr_limit_;
  PaxValues* const values_;
  const PaxProblem& problem_;
  PaxOutcome outcome_;
};

PaxOutcome RecordParser::Parse(std::string_view data) {
  while (!data.empty()) {
    // Some writers count the padding in the size.
    if (data[0] == '\0' && data.find_first_not_of('\0') == std::string_view::npos) break;
    std::string_view keyword;
    std::string_view value;
    if (!CutRecord(&data, &keyword, &value)) {
      outcome_.spoils = true;
      break;
    }
    if (keyword.empty()) {
      problem_(FindingCode::kBadPaxRecord, Severity::kWarning,
               "a keyword expected before '='; the record is ignored");
      continue;
    }
    Apply(keyword, value);
  }
  return outcome_;
}

bool RecordParser::CutRecord(std::string_view* data, std::string_view* keyword, std::string_view* value) {
  const auto bad = [&](std::string_view expected) {
    problem_(FindingCode::kBadPaxRecord, Severity::kError,
             fmt::format("{} expected, found '{}'; this and the records behind it cannot be read", expected,
                         Shown(*data)));
    return false;
  };
  size_t digits = 0;
  while (digits < data->size() && digits < 20 && (*data)[digits] >= '0' && (*data)[digits] <= '9') ++digits;
  const std::optional<uint64_t> length = ParseDecimal(data->substr(0, digits));
  if (!length || digits >= data->size() || (*data)[digits] != ' ') {
    return bad("a record length of decimal digits and a space");
  }
  if (*length > data->size()) return bad(fmt::format("a record of at most {} bytes", data->size()));
  if (*length < digits + 2 || (*data)[*length - 1] != '\n') return bad("a newline where the record ends");
  const std::string_view body = data->substr(digits + 1, *length - digits - 2);
  const size_t equals = body.find('=');
  if (equals == std::string_view::npos) return bad("KEYWORD=VALUE");
  *keyword = body.substr(0, equals);
  *value = body.substr(equals + 1);
  data->remove_prefix(*length);
  return true;
}

void RecordParser::Apply(std::string_view keyword, std::string_view value) {
  for (const TextKeyword& known : kTextKeywords) {
    if (keyword != known.keyword) continue;
    if (TookBack(known.field, value)) return;
    values_->*known.value = value;
    return Set(known.field);
  }
  for (const SizeKeyword& known : kSizeKeywords) {
    if (keyword == known.keyword) return ApplySize(known, value);
  }
  if (keyword == "mtime") return ApplyTime(value);
  if (keyword == "uid") return ApplyId(kPaxUid, &PaxValues::uid, keyword, value);
  if (keyword == "gid") return ApplyId(kPaxGid, &PaxValues::gid, keyword, value);
  if (keyword == "SCHILY.devmajor" || keyword == "SUN.devmajor") {
    return ApplyDevice(kPaxDeviceMajor, &PaxValues::device_major, keyword, value);
  }
  if (keyword == "SCHILY.devminor" || keyword == "SUN.devminor") {
    return ApplyDevice(kPaxDeviceMinor, &PaxValues::device_minor, keyword, value);
  }
  constexpr std::string_view kGnuSparse = "GNU.sparse.";
  constexpr std::string_view kStarXattr = "SCHILY.xattr.";
  constexpr std::string_view kLibarchiveXattr = "LIBARCHIVE.xattr.";
  if (keyword.substr(0, kGnuSparse.size()) == kGnuSparse) {
    ApplySparse(keyword.substr(kGnuSparse.size()), value);
  } else if (keyword.substr(0, kStarXattr.size()) == kStarXattr) {
    ApplyXattr(std::string(keyword.substr(kStarXattr.size())), std::string(value));
  } else if (keyword.substr(0, kLibarchiveXattr.size()) == kLibarchiveXattr) {
    std::optional<std::string> decoded = DecodeBase64(value);
    if (!decoded) return Unusable(keyword, value, "base64");
    ApplyXattr(DecodePercent(keyword.substr(kLibarchiveXattr.size())), std::move(*decoded));
  }
  // Anything else (atime, ctime, comment, hdrcharset, vendors' own) changes nothing that is shown.
}

void RecordParser::ApplySize(const SizeKeyword& known, std::string_view value) {
  if (TookBack(known.field, value)) return;
  const std::optional<uint64_t> number = ParseDecimal(value);
  if (number && *number <= kMaxSize) {
    values_->*known.value = *number;
    return Set(known.field);
  }
  outcome_.spoils = true;
  outcome_.size_unknown = outcome_.size_unknown || known.field == kPaxSize;
  const bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
  const bool negative = value.size() > 1 && value[0] == '-' &&
                        value.find_first_not_of("0123456789", 1) == std::string_view::npos;
  FindingCode code = FindingCode::kBadPaxValue;
  if (known.field == kPaxSize && digits) code = FindingCode::kSizeOverflow;
  if (known.field == kPaxSize && negative) code = FindingCode::kNegativeSize;
  if (known.field != kPaxSize) code = FindingCode::kBadSparseMap;
  problem_(
      code, Severity::kError,
      fmt::format("{}: a number from 0 to {} expected, found '{}'", known.keyword, kMaxSize, Shown(value)));
}

void RecordParser::ApplyTime(std::string_view value) {
  if (TookBack(kPaxMtime, value)) return;
  const std::optional<PaxTime> time = ParsePaxTime(value);
  if (!time) return Unusable("mtime", value, "seconds with an optional fraction");
  values_->mtime = time->seconds;
  values_->mtime_ns = time->nanoseconds;
  Set(kPaxMtime);
  if (!time->exact) {
    problem_(
        FindingCode::kBadPaxValue, Severity::kWarning,
        fmt::format("mtime: seconds with an optional fraction expected, found '{}'; what follows the number "
                    "is left out",
                    Shown(value)));
  }
}

void RecordParser::ApplyId(PaxField field, uint64_t PaxValues::*id, std::string_view keyword,
                           std::string_view value) {
  if (TookBack(field, value)) return;
  const std::optional<uint64_t> number = ParseDecimal(value);
  if (!number) return Unusable(keyword, value, "a decimal number");
  values_->*id = *number;
  Set(field);
}

void RecordParser::ApplyDevice(PaxField field, uint32_t PaxValues::*device, std::string_view keyword,
                               std::string_view value) {
  if (TookBack(field, value)) return;
  const std::optional<uint64_t> number = ParseDecimal(value);
  if (!number || *number > std::numeric_limits<uint32_t>::max())
    return Unusable(keyword, value, "a decimal number below 2^32");
  values_->*device = static_cast<uint32_t>(*number);
  Set(field);
}

void RecordParser::ApplySparse(std::string_view keyword, std::string_view value) {
  PaxValues& v = *values_;
  if (keyword == "map") {
    v.set |= kPaxSparseMap;
    v.sparse_offset_open = false;
    v.sparse_trouble = ParsePaxSparseMap(value, &v.sparse_entries);
  } else if (keyword == "offset" || keyword == "numbytes") {
    // pax 0.0: pairs of records, in order.
    v.set |= kPaxSparseMap;
    const std::optional<uint64_t> number = ParseDecimal(value);
    const bool is_offset = keyword == "offset";
    if (!number) {
      v.sparse_trouble = {
          fmt::format("GNU.sparse.{}: a decimal number expected, found '{}'", keyword, Shown(value))};
    } else if (is_offset == v.sparse_offset_open) {
      v.sparse_trouble = {"GNU.sparse.offset and GNU.sparse.numbytes expected in turn"};
    } else if (!is_offset) {
      v.sparse_entries.back().length = *number;
      v.sparse_offset_open = false;
    } else {
      v.sparse_entries.push_back({*number, 0});
      v.sparse_offset_open = true;
    }
  }
  // GNU.sparse.numblocks repeats what the pairs say.
}

void RecordParser::ApplyXattr(std::string name, std::string value) {
  if (name.empty() || name.find('\0') != std::string::npos) {
    return Unusable("xattr", name, "an attribute name without NUL");
  }
  const size_t bytes = name.size() + value.size();
  if (bytes > xattr_limit_ - std::min(values_->xattr_bytes, xattr_limit_)) {
    problem_(FindingCode::kLimitReached, Severity::kWarning,
             fmt::format("more than {} bytes of extended attributes; '{}' is left out", xattr_limit_,
                         Shown(name)));
    return;
  }
  values_->xattr_bytes += bytes;
  values_->xattrs.emplace_back(std::move(name), std::move(value));
}

}  // namespace

void PaxValues::Clear() {
  set = 0;
  erased = 0;
  sparse_entries.clear();
  sparse_offset_open = false;
  sparse_trouble = {};
  xattrs.clear();
  xattr_bytes = 0;
}

PaxOutcome ParsePaxRecords(std::string_view data, size_t xattr_limit, PaxValues* values,
                           const PaxProblem& problem) {
  return RecordParser(xattr_limit, values, problem).Parse(data);
}

void MergeXattrs(const PaxValues& global, const PaxValues& own,
                 std::vector<std::pair<std::string, std::string>>* xattrs) {
  xattrs->clear();
  if (global.xattrs.empty() && own.xattrs.empty()) return;
  xattrs->insert(xattrs->end(), global.xattrs.begin(), global.xattrs.end());
  xattrs->insert(xattrs->end(), own.xattrs.begin(), own.xattrs.end());
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(xattrs->begin(), xattrs->end(), by_name);
  // Of equal names keep the last: walk backwards, then turn round.
  std::reverse(xattrs->begin(), xattrs->end());
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  xattrs->erase(std::unique(xattrs->begin(), xattrs->end(), same_name), xattrs->end());
  std::reverse(xattrs->begin(), xattrs->end());
}

}  // namespace tarn::tar

// Finding: something odd in an archive. Findings are never silent, never fatal to the process, and bounded in
// number.
#ifndef TARN_TAR_FINDING_H_
#define TARN_TAR_FINDING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::tar {

enum class Severity : uint8_t {
  kWarning = 0,  // every member shown is right; something should be known
  kError = 1,    // members are missing or cannot be trusted: the archive is quarantined
};

// Codes are stored and compared by name; values are stored in bundles: do not renumber. docs/tar-dialects.md
// has the rule, the reason and the test of each.
enum class FindingCode : uint8_t {
  kTruncatedHeader = 1,     // end of file inside a header block
  kTruncatedData = 2,       // end of file inside a member's data
  kTruncatedExtension = 3,  // end of file inside the data of an extended header
  kMissingEof = 4,          // no end-of-archive marker; all members are whole
  kLoneZeroBlock = 5,       // one zero block where two are required
  kDataAfterEof = 6,        // non-zero bytes after the end-of-archive marker
  kBadChecksum = 7,         // header checksum matches neither the unsigned nor the signed sum
  kBadNumber = 8,           // numeric field is neither octal nor base-256
  kNegativeSize = 9,
  kSizeOverflow = 10,  // size, padded size or offset + size does not fit in int64
  kBadPaxRecord = 11,  // record length or framing is wrong
  kBadPaxValue = 12,   // record is framed well, its value is unusable for that keyword
  kBadSparseMap = 13,
  kDanglingExtension = 14,  // extended header followed by no member
  kExtensionTooLarge = 15,  // extended header claims more than the limit
  kNameTooLong = 16,        // longer than the file system can show
  kBadName = 17,            // empty after normalisation, holds a NUL, or otherwise unusable
  kNameConflict = 18,       // a member needs a directory where another member is none
  kEscapesRoot = 19,        // a .. component
  kDanglingHardlink = 20,
  kHardlinkCycle = 21,
  kMultivolume = 22,   // continuation of a member from another volume
  kNotATar = 23,       // the first block is no tar header
  kCompressed = 24,    // a compressed stream, not a tar
  kLimitReached = 25,  // a limit of docs/tar-dialects.md was met; what it says was left out
};

// "BAD_CHECKSUM": the spelling of reports and of `tarn walk --json`.
std::string_view FindingCodeName(FindingCode code);
std::string_view SeverityName(Severity severity);  // "warning", "error"

struct Finding {
  FindingCode code = FindingCode::kNotATar;
  Severity severity = Severity::kWarning;
  uint64_t offset = 0;  // bytes from the start of the archive: the block that is odd
  std::string member;   // name of the member concerned, or of the last one before it; may be empty
  std::string detail;   // what was expected, what was found, what helps

  bool operator==(const Finding&) const = default;
};

// Takes findings as they come; keeps at most `limit` of each severity and counts the rest.
class FindingList {
 public:
  explicit FindingList(size_t limit = 1000) : limit_(limit) {}

  void Add(Finding finding);
  const std::vector<Finding>& kept() const { return kept_; }  // in the order of Add
  uint64_t warnings() const { return warnings_; }             // counted, kept or not
  uint64_t errors() const { return errors_; }

 private:
  size_t limit_;
  uint64_t warnings_ = 0;
  uint64_t errors_ = 0;
  std::vector<Finding> kept_;
};

}  // namespace tarn::tar

#endif  // TARN_TAR_FINDING_H_

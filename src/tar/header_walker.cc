// The walk is a loop over blocks: a zero block ends it, an extended header is kept for the member behind it,
// a member is given out, anything else is damage and the next valid header is looked for.
//
// Everything is read forwards once, so that one pass over an archive can serve the walk and the digest: a
// question about a later block (does data follow this link?) is asked after the header's own fields were
// taken. Rejected: recursion for extended headers (a thousand of them in a row are legal), and believing a
// size before it was held against the file's length.
#include "tarn/tar/header_walker.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "tar/block_stream.h"
#include "tar/header_block.h"
#include "tar/member_fields.h"
#include "tar/pax.h"
#include "tar/sparse_reader.h"
#include "tarn/base/bytes.h"

namespace tarn::tar {
namespace {

constexpr uint64_t kMaxOffset = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

bool IsExtension(char type) {
  return type == 'x' || type == 'X' || type == 'g' || type == 'L' || type == 'K' || type == 'V' ||
         type == 'A' || type == 'M';
}

// Types whose header may state a size though no data follows (POSIX.1 ustar, "size").
bool NeedsNoData(MemberType type) {
  return type != MemberType::kRegular && type != MemberType::kContiguous;
}

}  // namespace

class HeaderWalker::Impl {
 public:
  Impl(io::ForwardReader* reader, FindingList* findings, const WalkOptions& options)
      : stream_(reader), findings_(findings), options_(options) {}

  Result<bool> Next(Member* member);
  uint64_t members() const { return members_; }
  uint64_t end_offset() const { return end_offset_; }

 private:
  enum class Step : uint8_t { kGoOn, kMember, kEnd };

  Step Look(Member* member);
  Step AtFileEnd();
  Step AtZeroBlock();
  Step AtFirstBlockDamage(const HeaderBlock& block);
  Step AtDamage(const HeaderBlock& block);
  Step ReadExtension(const HeaderBlock& block);
  Step TakeExtension(char type, uint64_t data_offset, uint64_t size);
  Step ReadMember(const HeaderBlock& block, Member* member);
  Step ReadSparseMember(SparseSource source, Member* member);
  Step FinishMember(Member* member);

  void ScanTail();
  // Goes to the next valid header from `offset` on, or to the end of the file. Says where that is.
  std::string Resync(uint64_t offset);
  // Reports a size that cannot be, and goes to the next valid header behind this one.
  Step BadSize(FindingCode code, const HeaderBlock& block, std::string detail);
  std::optional<std::pair<FindingCode, std::string>> SizeTrouble(const HeaderNumber& size,
                                                                 std::string_view field,
                                                                 uint64_t data_offset) const;
  bool DataFollows(const Member& member, uint64_t data_offset);
  void Report(FindingCode code, Severity severity, uint64_t offset, std::string detail) {
    findings_->Add({code, severity, offset, last_name_, std::move(detail)});
  }
  Step End() {
    done_ = true;
    return Step::kEnd;
  }

  BlockStream stream_;
  FindingList* const findings_;
  const WalkOptions options_;
  uint64_t offset_ = 0;  // of the block that is looked at next
  uint64_t members_ = 0;
  uint64_t end_offset_ = 0;
  bool done_ = false;
  bool seen_header_ = false;   // any valid header so far
  bool after_marker_ = false;  // reading on behind an end-of-archive marker
  std::string last_name_;      // of the last member, for findings
  std::string scratch_;        // data of an extended header
  Pending pending_;
  PaxValues global_;
  uint64_t global_bytes_ = 0;
};

Result<bool> HeaderWalker::Impl::Next(Member* member) {
  while (!done_) {
    const Step step = Look(member);
    if (stream_.failed()) {
      done_ = true;
      return stream_.status();
    }
    if (step == Step::kMember) return true;
  }
  return false;
}

HeaderWalker::Impl::Step HeaderWalker::Impl::Look(Member* member) {
  const char* bytes = stream_.Block(offset_);
  if (bytes == nullptr) return AtFileEnd();
  const HeaderBlock block(bytes);
  if (bytes[0] == '\0' && block.IsZero()) return AtZeroBlock();
  if (!block.IsHeader()) return offset_ == 0 ? AtFirstBlockDamage(block) : AtDamage(block);
  seen_header_ = true;
  after_marker_ = false;
  return IsExtension(block.type()) ? ReadExtension(block) : ReadMember(block, member);
}

HeaderWalker::Impl::Step HeaderWalker::Impl::AtFileEnd() {
  if (stream_.failed()) return End();
  const uint64_t left = stream_.size() - offset_;
  const std::string_view bytes = stream_.Bytes(offset_);
  const bool zeros = bytes.find_first_not_of('\0') == std::string_view::npos;
  if (offset_ == 0) {
    const std::string_view compression = CompressionOf(bytes);
    const bool cut = bytes.size() > 262 && bytes.substr(257, 5) == "ustar";
    if (!compression.empty()) {
      Report(FindingCode::kCompressed, Severity::kError, 0,
             fmt::format("a tar expected, found a {} stream; decompress it first", compression));
    } else if (cut) {
      Report(FindingCode::kTruncatedHeader, Severity::kError, 0,
             fmt::format("a header block of 512 bytes expected, the file ends after {}", left));
    } else {
      Report(FindingCode::kNotATar, Severity::kError, 0,
             left == 0 ? std::string("a tar expected, the file is empty")
                       : fmt::format("a tar expected, the file has {} bytes and no header", left));
    }
  } else if (!zeros) {
    Report(FindingCode::kTruncatedHeader, Severity::kError, offset_,
           fmt::format("a header block of 512 bytes expected, the file ends after {}; get the archive again",
                       left));
  } else if (pending_.any) {
    Report(FindingCode::kDanglingExtension, Severity::kError, pending_.first_offset,
           "a member expected behind the extended header, the file ends there; get the archive again");
  } else if (!after_marker_) {
    Report(FindingCode::kMissingEof, Severity::kWarning, offset_,
           "two zero blocks expected at the end of the archive, the file ends without them: it may have been "
           "cut");
  }
  end_offset_ = std::max(end_offset_, offset_);
  return End();
}

HeaderWalker::Impl::Step HeaderWalker::Impl::AtZeroBlock() {
  if (pending_.any) {
    Report(FindingCode::kDanglingExtension, Severity::kError, pending_.first_offset,
           "a member expected behind the extended header, found the end-of-archive marker");
    pending_.Clear();
  }
  const uint64_t next = offset_ + kBlockBytes;
  const char* bytes = stream_.Block(next);
  if (stream_.failed()) return End();
  if (after_marker_) {  // more zeros behind a marker, read on
    offset_ = next;
    return Step::kGoOn;
  }
  if (bytes != nullptr && HeaderBlock(bytes).IsZero()) {
    end_offset_ = next + kBlockBytes;
    if (options_.ignore_zeros) {
      after_marker_ = true;
      offset_ = end_offset_;
      return Step::kGoOn;
    }
    ScanTail();
    return End();
  }
  const bool header = bytes != nullptr && HeaderBlock(bytes).IsHeader();
  Report(FindingCode::kLoneZeroBlock, Severity::kWarning, offset_,
         fmt::format("two zero blocks expected at the end of the archive, found one{}",
                     header ? "; a header follows, so this is not the end" : ""));
  end_offset_ = next;
  if (header) {
    offset_ = next;
    return Step::kGoOn;
  }
  ScanTail();
  return End();
}

// Looks for anything but zeros behind the end.
void HeaderWalker::Impl::ScanTail() {
  uint64_t offset = end_offset_;
  std::string_view bytes = stream_.Bytes(offset);
  while (!bytes.empty()) {
    const size_t found = bytes.find_first_not_of('\0');
    if (found != std::string_view::npos) {
      offset += found;
      break;
    }
    offset += bytes.size();
    bytes = stream_.Bytes(offset);
  }
  if (bytes.empty()) return;
  const uint64_t block_offset = offset / kBlockBytes * kBlockBytes;
  // The byte found may stand behind the block's first: then the window is not asked to go back, and what
  // begins with a zero byte is no usual header either.
  const char* block = block_offset == offset ? stream_.Block(offset) : nullptr;
  const bool archive = block != nullptr && HeaderBlock(block).IsHeader();
  if (!archive && !seen_header_) {
    Report(FindingCode::kNotATar, Severity::kError, 0, "a tar expected, found zeros and then other bytes");
  }
  Report(
      FindingCode::kDataAfterEof, Severity::kWarning, block_offset,
      archive
          ? "nothing expected behind the end-of-archive marker, found another archive; "
            "--ignore-zeros reads its members too"
          : "nothing expected behind the end-of-archive marker, found other bytes; they are not looked at");
}

HeaderWalker::Impl::Step HeaderWalker::Impl::AtFirstBlockDamage(const HeaderBlock& block) {
  const std::string_view compression = CompressionOf(block.Field(0, kBlockBytes));
  if (!compression.empty()) {
    Report(FindingCode::kCompressed, Severity::kError, 0,
           fmt::format("a tar expected, found a {} stream; decompress it first", compression));
  } else {
    const bool magic = block.Field(257, 5) == "ustar";
    Report(FindingCode::kNotATar, Severity::kError, 0,
           fmt::format("a tar header expected in the first block, its checksum does not match{}",
                       magic ? "; it has the magic of one, so the file may be damaged: get it again" : ""));
  }
  return End();
}

std::string HeaderWalker::Impl::Resync(uint64_t offset) {
  pending_.Clear();
  for (offset_ = offset;; offset_ += kBlockBytes) {
    const char* bytes = stream_.Block(offset_);
    if (bytes == nullptr) break;
    if (HeaderBlock(bytes).IsHeader()) return fmt::format("the next header is at {}", offset_);
  }
  offset_ = stream_.size();
  end_offset_ = offset_;
  done_ = true;
  return "no header follows";
}

HeaderWalker::Impl::Step HeaderWalker::Impl::AtDamage(const HeaderBlock& block) {
  const uint64_t bad = offset_;
  const std::string stated = EscapeName(block.checksum());
  const bool marker = after_marker_ || !seen_header_;
  const std::string next = Resync(bad + kBlockBytes);
  if (!seen_header_ && done_) {
    Report(FindingCode::kNotATar, Severity::kError, 0, "a tar expected, found zeros and then other bytes");
  }
  if (marker) {
    Report(FindingCode::kDataAfterEof, Severity::kWarning, bad,
           fmt::format("a header or zeros expected behind the end-of-archive marker, found other bytes; {}",
                       next));
  } else {
    Report(FindingCode::kBadChecksum, Severity::kError, bad,
           fmt::format("a header expected, its checksum field '{}' does not match; {}; get the archive again",
                       stated, next));
  }
  return done_ ? Step::kEnd : Step::kGoOn;
}

std::optional<std::pair<FindingCode, std::string>> HeaderWalker::Impl::SizeTrouble(
    const HeaderNumber& size, std::string_view field, uint64_t data_offset) const {
  const auto value = static_cast<uint64_t>(size.value);
  const bool good = size.good() && size.value >= 0 && value <= kMaxOffset - (kBlockBytes - 1) &&
                    PaddedSize(value) <= kMaxOffset - data_offset;
  if (good) return std::nullopt;
  const std::string shown = EscapeName(field);
  if (size.state == NumberState::kMalformed) {
    return std::pair(FindingCode::kBadNumber,
                     fmt::format("size: octal or base-256 expected, found '{}'", shown));
  }
  if (size.state == NumberState::kOverflow) {
    return std::pair(FindingCode::kSizeOverflow,
                     fmt::format("size: a number below 2^63 expected, found '{}'", shown));
  }
  if (size.value < 0) {
    return std::pair(FindingCode::kNegativeSize,
                     fmt::format("size: 0 or more expected, found {}", size.value));
  }
  return std::pair(FindingCode::kSizeOverflow,
                   fmt::format("size: {} bytes from offset {} end beyond 2^63", value, data_offset));
}

HeaderWalker::Impl::Step HeaderWalker::Impl::BadSize(FindingCode code, const HeaderBlock& block,
                                                     std::string detail) {
  const uint64_t bad = offset_;
  const std::string name = EscapeName(block.name());
  detail += fmt::format(" in the header of '{}'; {}", name, Resync(bad + kBlockBytes));
  Report(code, Severity::kError, bad, std::move(detail));
  return done_ ? Step::kEnd : Step::kGoOn;
}

HeaderWalker::Impl::Step HeaderWalker::Impl::ReadExtension(const HeaderBlock& block) {
  const char type = block.type();
  const uint64_t data_offset = offset_ + kBlockBytes;
  const HeaderNumber size = ParseHeaderNumber(block.size());
  if (auto trouble = SizeTrouble(size, block.size(), data_offset); trouble) {
    return BadSize(trouble->first, block, std::move(trouble->second));
  }
  const auto bytes = static_cast<uint64_t>(size.value);
  if (type == 'M') {
    Report(
        FindingCode::kMultivolume, Severity::kError, offset_,
        fmt::format("a whole member expected, found the continuation of '{}' from another volume; join the "
                    "volumes first",
                    EscapeName(block.name())));
  } else if (type != 'V' && type != 'g' && !pending_.any) {
    pending_.any = true;
    pending_.first_offset = offset_;
  }
  const bool kept = type != 'V' && type != 'M' && type != 'A';
  if (kept && bytes > options_.limits.extension_bytes) {
    Report(FindingCode::kExtensionTooLarge, Severity::kError, offset_,
           fmt::format(
               "an extended header of at most {} bytes expected, this one claims {}; the member behind it "
               "is left out",
               options_.limits.extension_bytes, bytes));
    pending_.spoiled = true;
  }
  if (bytes > stream_.size() - data_offset) {
    if (!pending_.spoiled || !kept) {
      Report(FindingCode::kTruncatedExtension, Severity::kError, offset_,
             fmt::format(
                 "{} bytes of data expected behind this '{}' header, the file has {}; get the archive again",
                 bytes, type, stream_.size() - data_offset));
    }
    end_offset_ = stream_.size();
    return End();
  }
  if (kept && bytes <= options_.limits.extension_bytes) return TakeExtension(type, data_offset, bytes);
  offset_ = std::min(data_offset + PaddedSize(bytes), stream_.size());
  if (type == 'M') pending_.Clear();
  return Step::kGoOn;
}

HeaderWalker::Impl::Step HeaderWalker::Impl::TakeExtension(char type, uint64_t data_offset, uint64_t size) {
  const uint64_t header_offset = offset_;
  const bool is_global = type == 'g';
  uint64_t& taken = is_global ? global_bytes_ : pending_.bytes;
  const uint64_t limit = is_global ? options_.limits.global_bytes : options_.limits.pending_extension_bytes;
  offset_ = std::min(data_offset + PaddedSize(size), stream_.size());
  if (size > limit - std::min(taken, limit)) {
    Report(FindingCode::kLimitReached, Severity::kError, header_offset,
           fmt::format("at most {} bytes of {} expected; this one is left out", limit,
                       is_global ? "global pax headers" : "extended headers before one member"));
    if (!is_global) pending_.spoiled = true;
    return Step::kGoOn;
  }
  taken += size;
  scratch_.clear();
  if (!stream_.Append(data_offset, size, &scratch_).ok()) return End();
  if (type == 'L' || type == 'K') {
    std::string text = scratch_.substr(0, scratch_.find('\0'));
    std::optional<std::string>& kept = type == 'L' ? pending_.gnu_name : pending_.gnu_link;
    // An empty long name says nothing: the header's own stays.
    if (!text.empty()) kept = std::move(text);
    return Step::kGoOn;
  }
  const PaxProblem report = [&](FindingCode code, Severity severity, std::string detail) {
    if (severity == Severity::kError && !is_global) detail += "; the member behind it is left out";
    Report(code, severity, header_offset, std::move(detail));
  };
  const PaxOutcome outcome =
      ParsePaxRecords(scratch_, options_.limits.xattr_bytes, is_global ? &global_ : &pending_.pax, report);
  if (!is_global) {
    pending_.spoiled = pending_.spoiled || outcome.spoils;
    pending_.size_unknown = pending_.size_unknown || outcome.size_unknown;
  }
  return Step::kGoOn;
}

HeaderWalker::Impl::Step HeaderWalker::Impl::ReadMember(const HeaderBlock& block, Member* member) {
  const Dialect dialect = block.dialect();
  const char type = block.type();
  std::optional<BadField> bad_field;
  TakeHeaderFields(block, dialect, member, &bad_field);
  member->xattrs.clear();
  member->extents.clear();
  member->header_offset = offset_;
  if (pending_.any || global_.Any()) {
    if (pending_.any) member->header_offset = pending_.first_offset;
    ApplyExtensions(pending_, global_, member);
    MergeXattrs(global_, pending_.pax, &member->xattrs);
  }
  ApplySlashRule(member);
  member->data_offset = offset_ + kBlockBytes;
  if (bad_field) {
    findings_->Add({FindingCode::kBadNumber, Severity::kWarning, offset_, member->name,
                    fmt::format("{}: octal or base-256 expected, found '{}'; it is not known",
                                bad_field->name, EscapeName(bad_field->bytes))});
  }
  if (type == 'N' && dialect == Dialect::kGnu) {
    findings_->Add(
        {FindingCode::kBadName, Severity::kWarning, offset_, member->name,
         "no list of long names (type N, GNU tar before 1.12) expected: it is shown as a file, and the "
         "names in it are not applied"});
  }
  if (pending_.size_unknown) {
    // Already reported; only where the walk goes on is left to say.
    Resync(offset_ + kBlockBytes);
    return done_ ? Step::kEnd : Step::kGoOn;
  }
  HeaderNumber size = EffectiveSize(block, pending_, global_);
  if (auto trouble = SizeTrouble(size, block.size(), member->data_offset); trouble) {
    if (type == 'D' || !NeedsNoData(member->type))
      return BadSize(trouble->first, block, std::move(trouble->second));
    findings_->Add({trouble->first, Severity::kWarning, offset_, member->name,
                    trouble->second + "; this type of member has no data"});
    size.value = 0;
  }
  member->stored_size = static_cast<uint64_t>(size.value);
  member->logical_size = 0;
  if (type == 'S') {
    const SparseSource source = HeaderSparseSource(block, dialect, pending_, global_);
    return ReadSparseMember(source, member);
  }
  if (member->IsFile()) {
    const SparseSource source = PaxSparseSource(pending_.pax);
    if (source.kind != SparseKind::kNone) return ReadSparseMember(source, member);
    member->logical_size = member->stored_size;
    if (member->stored_size > 0) {
      member->extents.push_back({static_cast<int64_t>(member->data_offset), member->stored_size});
    }
  } else if (member->stored_size > 0 && type != 'D' && !DataFollows(*member, member->data_offset)) {
    member->stored_size = 0;
  }
  return FinishMember(member);
}

// Links, directories and devices store no data, yet writers put sizes into their headers, and a few do store
// data for hard links (pax -o linkdata). A `size` record says it outright; else the next block decides.
bool HeaderWalker::Impl::DataFollows(const Member& member, uint64_t data_offset) {
  if (member.type == MemberType::kHardLink && pending_.pax.Has(kPaxSize)) return true;
  if (member.stored_size > stream_.size() - data_offset) return false;
  const char* bytes = stream_.Block(data_offset);
  if (bytes == nullptr) return true;
  const HeaderBlock block(bytes);
  return !block.IsZero() && !block.IsHeader();
}

HeaderWalker::Impl::Step HeaderWalker::Impl::ReadSparseMember(SparseSource source, Member* member) {
  const uint64_t header_offset = offset_;
  const SparseOutcome outcome =
      ReadSparseMap(std::move(source), options_.limits.sparse_extents, &stream_, member);
  if (stream_.failed()) return End();
  if (!outcome.trouble) return FinishMember(member);
  findings_->Add({outcome.trouble.code, Severity::kError, header_offset, member->name,
                  outcome.trouble.text + "; the member is left out"});
  if (outcome.ends_walk) {
    end_offset_ = stream_.size();
    return End();
  }
  pending_.spoiled = true;
  return FinishMember(member);
}

HeaderWalker::Impl::Step HeaderWalker::Impl::FinishMember(Member* member) {
  const uint64_t data_end = member->data_offset + member->stored_size;
  // The map of pax 1.0 shifts data_offset by whole blocks, so padding is counted from there.
  offset_ = member->data_offset + PaddedSize(member->stored_size);
  const bool cut = data_end > stream_.size();
  if (cut) {
    findings_->Add(
        {FindingCode::kTruncatedData, Severity::kError, member->header_offset, member->name,
         fmt::format("{} bytes of data expected from offset {}, the file has {}; get the archive again",
                     member->stored_size, member->data_offset,
                     stream_.size() - std::min(stream_.size(), member->data_offset))});
  }
  if (offset_ > stream_.size()) offset_ = stream_.size();
  end_offset_ = offset_;
  const bool spoiled = pending_.spoiled;
  if (pending_.any) pending_.Clear();
  pending_.spoiled = false;
  if (cut) done_ = true;
  if (spoiled) return done_ ? Step::kEnd : Step::kGoOn;
  member->ordinal = members_++;
  last_name_ = member->name;
  return Step::kMember;
}

HeaderWalker::HeaderWalker(io::ForwardReader* reader, FindingList* findings, const WalkOptions& options)
    : impl_(std::make_unique<Impl>(reader, findings, options)) {}
HeaderWalker::~HeaderWalker() = default;

Result<bool> HeaderWalker::Next(Member* member) {
  return impl_->Next(member);
}
uint64_t HeaderWalker::members() const {
  return impl_->members();
}
uint64_t HeaderWalker::end_offset() const {
  return impl_->end_offset();
}

}  // namespace tarn::tar

// Both readers list members in archive order, so they are walked in step; the offset of a header tells which
// of the two has a member that the other has not. libarchive's header position includes extended headers, as
// ours does, and global headers, as ours does not.
#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "tar/header_block.h"
#include "tar/numbers.h"
#include "tarn/base/bytes.h"
#include "tarn/io/forward_reader.h"
#include "tarn/tar/header_walker.h"
#include "tarn/tar/reference.h"

namespace tarn::tar {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;

// Names are compared as paths: libarchive joins a prefix that ends in a slash without another one.
std::string PathOf(std::string_view name) {
  std::string path;
  for (const char c : name) {
    if (c != '/' || path.empty() || path.back() != '/') path.push_back(c);
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

MemberType Plain(MemberType type) {
  return type == MemberType::kContiguous ? MemberType::kRegular : type;
}

struct ReferenceMember {
  uint64_t position = 0;
  std::string name;
  MemberType type = MemberType::kRegular;
  uint32_t mode = 0;
  uint64_t uid = 0;
  uint64_t gid = 0;
  std::string user_name;
  std::string group_name;
  int64_t mtime = 0;
  uint32_t mtime_ns = 0;
  std::string link;
  uint64_t size = 0;
  bool has_size = false;
  bool warned = false;  // libarchive had something to say about it
};

// libarchive over a RandomAccessFile.
class ReferenceReader {
 public:
  ReferenceReader(const io::RandomAccessFile* file, uint64_t size)
      : file_(file), size_(size), buffer_(kReadBytes), archive_(archive_read_new()) {
    archive_read_support_format_tar(archive_);
    archive_read_set_read_callback(archive_, Read);
    archive_read_set_skip_callback(archive_, Skip);
    archive_read_set_callback_data(archive_, this);
    if (archive_read_open1(archive_) != ARCHIVE_OK) ended_ = true;
  }
  ~ReferenceReader() { archive_read_free(archive_); }
  ReferenceReader(const ReferenceReader&) = delete;
  ReferenceReader& operator=(const ReferenceReader&) = delete;

  bool Next(ReferenceMember* member) {
    if (ended_) return false;
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(archive_, &entry);
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
      ended_ = true;
      failed_ = result != ARCHIVE_EOF;
      return false;
    }
    Take(entry, member);
    member->warned = result == ARCHIVE_WARN;
    return true;
  }

  // The next piece of the current member's data; nothing after the last. Sets `ended` on trouble.
  std::optional<std::pair<uint64_t, std::string_view>> NextPiece() {
    const void* bytes = nullptr;
    size_t length = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(archive_, &bytes, &length, &offset);
    if (result == ARCHIVE_EOF) return std::nullopt;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
      data_failed_ = true;
      return std::nullopt;
    }
    return std::pair(static_cast<uint64_t>(offset),
                     std::string_view(static_cast<const char*>(bytes), length));
  }

  bool failed() const { return failed_; }
  bool data_failed() const { return data_failed_; }
  const Status& source_status() const { return status_; }
  std::string Trouble() const {
    const char* text = archive_error_string(archive_);
    return text == nullptr ? "no reason given" : text;
  }

 private:
  static la_ssize_t Read(archive*, void* self_pointer, const void** out) {
    auto* self = static_cast<ReferenceReader*>(self_pointer);
    const auto wanted =
        static_cast<size_t>(std::min<uint64_t>(self->buffer_.size(), self->size_ - self->offset_));
    const Result<size_t> got = self->file_->ReadAt(self->offset_, std::span(self->buffer_).first(wanted));
    if (!got.ok()) {
      self->status_ = got.status();
      archive_set_error(self->archive_, EIO, "%s", self->status_.message().c_str());
      return ARCHIVE_FATAL;
    }
    self->offset_ += *got;
    *out = self->buffer_.data();
    return static_cast<la_ssize_t>(*got);
  }
  static la_int64_t Skip(archive*, void* self_pointer, la_int64_t request) {
    auto* self = static_cast<ReferenceReader*>(self_pointer);
    const uint64_t skipped = std::min<uint64_t>(static_cast<uint64_t>(request), self->size_ - self->offset_);
    self->offset_ += skipped;
    return static_cast<la_int64_t>(skipped);
  }

  void Take(archive_entry* entry, ReferenceMember* member) {
    const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
    member->position = static_cast<uint64_t>(archive_read_header_position(archive_));
    member->name = text(archive_entry_pathname(entry));
    member->mode = archive_entry_mode(entry) & 07777;
    member->uid = static_cast<uint64_t>(archive_entry_uid(entry));
    member->gid = static_cast<uint64_t>(archive_entry_gid(entry));
    member->user_name = text(archive_entry_uname(entry));
    member->group_name = text(archive_entry_gname(entry));
    member->mtime = archive_entry_mtime(entry);
    member->mtime_ns = static_cast<uint32_t>(archive_entry_mtime_nsec(entry));
    member->has_size = archive_entry_size_is_set(entry) != 0;
    member->size = static_cast<uint64_t>(archive_entry_size(entry));
    if (const char* target = archive_entry_hardlink(entry); target != nullptr) {
      member->type = MemberType::kHardLink;
      member->link = target;
      return;
    }
    member->link = text(archive_entry_symlink(entry));
    switch (archive_entry_filetype(entry)) {
      case AE_IFDIR:
        member->type = MemberType::kDirectory;
        break;
      case AE_IFLNK:
        member->type = MemberType::kSymlink;
        break;
      case AE_IFCHR:
        member->type = MemberType::kCharDevice;
        break;
      case AE_IFBLK:
        member->type = MemberType::kBlockDevice;
        break;
      case AE_IFIFO:
        member->type = MemberType::kFifo;
        break;
      default:
        member->type = MemberType::kRegular;
    }
  }

  const io::RandomAccessFile* const file_;
  const uint64_t size_;
  uint64_t offset_ = 0;
  std::vector<std::byte> buffer_;
  archive* const archive_;
  bool ended_ = false;
  bool failed_ = false;
  bool data_failed_ = false;
  Status status_;
};

// Reasons that hold for whole fields; each is a row of docs/tar-dialects.md, "Where libarchive differs".
constexpr std::string_view kGlobals = "libarchive ignores global pax headers";
constexpr std::string_view kNegativeFraction =
    "libarchive takes the sign of a negative time for the seconds alone";
constexpr std::string_view kNul = "libarchive cuts names at a NUL";
constexpr std::string_view kLoneZero = "libarchive ends at a lone zero block";
constexpr std::string_view kDamaged = "the archive is damaged, and an error finding of ours says so";
constexpr std::string_view kOwner =
    "an owner that is no number: a finding and nobody's id here, a guess there";
constexpr std::string_view kStarPrefix = "libarchive takes the times in a star header for a part of the name";
constexpr std::string_view kLinkPath =
    "libarchive loses a linkpath record when the header's own link field is empty";
constexpr std::string_view kLinkSize =
    "libarchive steps over data that a pax hard link's header claims and has not";
constexpr std::string_view kSlash =
    "libarchive overlooks the slash of a directory when it warned about the member";
constexpr std::string_view kLinkData =
    "libarchive takes data behind a hard link of a ustar archive for damage";
constexpr std::string_view kSeveral =
    "several extended headers before one member: here they add up, pax before GNU";
constexpr std::string_view kEmptyLong = "libarchive takes an empty long name for the name";
constexpr std::string_view kBadRecord = "a pax record that is of no use: a finding here, 0 or the end there";
constexpr std::string_view kLeadingNul = "libarchive takes a number behind a NUL for an empty field";
constexpr std::string_view kStarMask = "libarchive folds the mask of a star ACL into the mode";

class Comparison {
 public:
  Comparison(const io::RandomAccessFile& file, uint64_t size, const ReferenceOptions& options)
      : file_(file),
        options_(options),
        window_(&file, size),
        walker_(&window_, &findings_),
        reference_(&file, size) {}

  Result<ReferenceReport> Run();

 private:
  Status NextOurs();
  Status NextTheirs();
  void Compare();
  void CompareTimes();
  std::string_view NameReason() const;
  Status CompareContent();
  Status CompareTail();
  void Differ(std::string_view field, std::string ours, std::string theirs, std::string_view reason = {});
  template <typename Value>
  void Expect(std::string_view field, const Value& ours, const Value& theirs, std::string_view reason = {}) {
    if (ours != theirs) Differ(field, fmt::format("{}", ours), fmt::format("{}", theirs), reason);
  }
  // Our member's own header, and how many extended headers stand before it.
  struct OwnHeader {
    std::array<char, kBlockBytes> bytes{};
    unsigned extensions = 0;
    HeaderBlock block() const { return HeaderBlock(bytes.data()); }
  };
  OwnHeader ReadOwnHeader() const;
  // Known reasons for a difference of any field of this member.
  std::string_view MemberReason() const;
  bool HasFinding(FindingCode code) const {
    return std::any_of(findings_.kept().begin(), findings_.kept().end(),
                       [code](const Finding& finding) { return finding.code == code; });
  }

  const io::RandomAccessFile& file_;
  const ReferenceOptions options_;
  FindingList findings_;
  io::WindowReader window_;
  HeaderWalker walker_;
  ReferenceReader reference_;
  Member ours_;
  ReferenceMember theirs_;
  bool have_ours_ = false;
  bool have_theirs_ = false;
  bool global_seen_ = false;
  std::string_view derailed_;  // why libarchive lost its way at an earlier member; empty: it did not
  bool star_ = false;
  ReferenceReport report_;
};

Status Comparison::NextOurs() {
  TARN_ASSIGN_OR_RETURN(have_ours_, walker_.Next(&ours_));
  if (have_ours_) ++report_.members;
  return Status::Ok();
}

Status Comparison::NextTheirs() {
  have_theirs_ = reference_.Next(&theirs_);
  TARN_RETURN_IF_ERROR(reference_.source_status());
  if (!have_theirs_) return Status::Ok();
  ++report_.reference_members;
  std::array<std::byte, kBlockBytes> block;
  TARN_ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(theirs_.position, block));
  if (got == block.size()) {
    const HeaderBlock header(reinterpret_cast<const char*>(block.data()));
    global_seen_ = global_seen_ || header.type() == 'g';
    star_ = header.dialect() == Dialect::kXstar || header.Field(508, 3) == "tar";
  }
  return Status::Ok();
}

Comparison::OwnHeader Comparison::ReadOwnHeader() const {
  constexpr std::string_view kExtensions = "xXgLKVA";
  OwnHeader own;
  uint64_t offset = ours_.header_offset;
  while (offset < ours_.data_offset) {
    const Result<size_t> got = file_.ReadAt(offset, std::as_writable_bytes(std::span(own.bytes)));
    if (!got.ok() || *got < own.bytes.size()) break;
    if (kExtensions.find(own.block().type()) == std::string_view::npos) break;
    ++own.extensions;
    const HeaderNumber size = ParseHeaderNumber(own.block().size());
    offset += kBlockBytes + PaddedSize(static_cast<uint64_t>(std::clamp<int64_t>(size.value, 0, 1 << 30)));
  }
  return own;
}

std::string_view Comparison::MemberReason() const {
  if (findings_.errors() > 0) return kDamaged;
  if (global_seen_) return kGlobals;
  return derailed_;
}

void Comparison::Differ(std::string_view field, std::string ours, std::string theirs,
                        std::string_view reason) {
  if (reason.empty()) reason = MemberReason();
  ++(reason.empty() ? report_.unexplained : report_.explained);
  if (report_.differences.size() >= options_.kept) return;
  const bool of_ours = have_ours_;
  report_.differences.push_back({of_ours ? ours_.header_offset : theirs_.position,
                                 of_ours ? ours_.name : theirs_.name, std::string(field), std::move(ours),
                                 std::move(theirs), std::string(reason)});
}

Result<ReferenceReport> Comparison::Run() {
  TARN_RETURN_IF_ERROR(NextOurs());
  TARN_RETURN_IF_ERROR(NextTheirs());
  while (have_ours_ && have_theirs_) {
    if (ours_.header_offset < theirs_.position) {
      Differ("member", "listed", "not listed");
      TARN_RETURN_IF_ERROR(NextOurs());
    } else if (theirs_.position < ours_.header_offset && PathOf(theirs_.name) != PathOf(ours_.name) &&
               !global_seen_) {
      Differ("member", "not listed", EscapeName(theirs_.name));
      TARN_RETURN_IF_ERROR(NextTheirs());
    } else {
      Compare();
      if (options_.compare_content && ours_.IsFile()) TARN_RETURN_IF_ERROR(CompareContent());
      TARN_RETURN_IF_ERROR(NextOurs());
      TARN_RETURN_IF_ERROR(NextTheirs());
    }
  }
  TARN_RETURN_IF_ERROR(CompareTail());
  return std::move(report_);
}

std::string_view Comparison::NameReason() const {
  if (ours_.name.find('\0') != std::string::npos) return kNul;
  if (star_) return kStarPrefix;
  if (ReadOwnHeader().extensions > 1) return kSeveral;
  return theirs_.name.empty() ? kEmptyLong : std::string_view();
}

void Comparison::CompareTimes() {
  std::string_view reason;
  if (ours_.mtime < 0 && ours_.mtime_ns != 0) reason = kNegativeFraction;
  if (reason.empty() && HasFinding(FindingCode::kBadPaxValue)) reason = kBadRecord;
  if (reason.empty() && theirs_.mtime == 0 && ReadOwnHeader().block().mtime()[0] == '\0')
    reason = kLeadingNul;
  Expect("mtime", ours_.mtime, theirs_.mtime, reason);
  Expect("mtime_ns", ours_.mtime_ns, theirs_.mtime_ns, reason);
}

void Comparison::Compare() {
  if (PathOf(ours_.name) != PathOf(theirs_.name)) {
    Differ("name", EscapeName(ours_.name), EscapeName(theirs_.name), NameReason());
  }
  // Behind too many extended headers libarchive gives the member up: no field of it was read.
  if (theirs_.name.empty() && theirs_.mode == 0 && ReadOwnHeader().extensions > 1) {
    derailed_ = kSeveral;
    return;
  }
  const bool link = ours_.type == MemberType::kSymlink || ours_.type == MemberType::kHardLink;
  const std::string_view no_link =
      link && !ours_.link.empty() && theirs_.link.empty() && ReadOwnHeader().block().link().empty()
          ? kLinkPath
          : "";
  if (Plain(ours_.type) != theirs_.type) {
    const bool slash = ours_.type == MemberType::kDirectory && theirs_.warned;
    Differ("type", std::string(MemberTypeName(ours_.type)), std::string(MemberTypeName(theirs_.type)),
           slash ? kSlash : no_link);
  }
  Expect("mode", ours_.mode, theirs_.mode, star_ ? kStarMask : "");
  const std::string_view owner = HasFinding(FindingCode::kBadNumber) ? kOwner : "";
  Expect("uid", ours_.uid, theirs_.uid, owner);
  Expect("gid", ours_.gid, theirs_.gid, owner);
  Expect("user_name", EscapeName(ours_.user_name), EscapeName(theirs_.user_name));
  Expect("group_name", EscapeName(ours_.group_name), EscapeName(theirs_.group_name));
  if (ours_.mtime != theirs_.mtime || ours_.mtime_ns != theirs_.mtime_ns) CompareTimes();
  if (link) {
    const bool link_nul = ours_.link.find('\0') != std::string::npos;
    Expect("link", EscapeName(ours_.link), EscapeName(theirs_.link), link_nul ? kNul : no_link);
  }
  if (ours_.type == MemberType::kHardLink && ours_.stored_size > 0) derailed_ = kLinkData;
  if (ours_.type == MemberType::kHardLink && ours_.stored_size == 0 && theirs_.size > 0)
    derailed_ = kLinkSize;
  if (ours_.IsFile()) Expect("size", ours_.logical_size, theirs_.has_size ? theirs_.size : 0);
}

// Holds each piece that libarchive gives against our extents, and what lies between the pieces against holes.
Status Comparison::CompareContent() {
  size_t extent = 0;
  uint64_t extent_start = 0;  // in the file
  uint64_t expected = 0;      // what libarchive should give next, in the file
  std::vector<std::byte> bytes;
  // Skips to file offset `to`; false if stored bytes other than zeros lie between.
  const auto skip = [&](uint64_t to) -> Result<bool> {
    while (expected < to && extent < ours_.extents.size()) {
      const Extent& at = ours_.extents[extent];
      const uint64_t end = std::min(to, extent_start + at.length);
      if (at.archive_offset != Extent::kHole) {
        bytes.resize(static_cast<size_t>(std::min<uint64_t>(end - expected, kReadBytes)));
        const uint64_t from = static_cast<uint64_t>(at.archive_offset) + (expected - extent_start);
        TARN_ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(from, bytes));
        const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
        if (got < bytes.size() || !std::all_of(bytes.begin(), bytes.end(), zero)) return false;
        expected += bytes.size();
      } else {
        expected = end;
      }
      if (expected == extent_start + at.length) {
        extent_start += at.length;
        ++extent;
      }
    }
    return true;
  };
  while (auto piece = reference_.NextPiece()) {
    auto [offset, theirs] = *piece;
    TARN_ASSIGN_OR_RETURN(bool same, skip(offset));
    while (same && !theirs.empty()) {
      if (extent >= ours_.extents.size()) {
        same = false;
        break;
      }
      const Extent& at = ours_.extents[extent];
      const uint64_t inside = expected - extent_start;
      const auto length = static_cast<size_t>(std::min<uint64_t>(theirs.size(), at.length - inside));
      bytes.assign(length, std::byte{0});
      if (at.archive_offset != Extent::kHole) {
        TARN_ASSIGN_OR_RETURN(const size_t got,
                              file_.ReadAt(static_cast<uint64_t>(at.archive_offset) + inside, bytes));
        same = got == length;
      }
      same = same && std::memcmp(bytes.data(), theirs.data(), length) == 0;
      theirs.remove_prefix(length);
      expected += length;
      if (expected == extent_start + at.length) {
        extent_start += at.length;
        ++extent;
      }
    }
    if (!same) {
      Differ("content", fmt::format("other bytes near {}", expected), fmt::format("a piece at {}", offset));
      return Status::Ok();
    }
  }
  TARN_RETURN_IF_ERROR(reference_.source_status());
  const bool cut = reference_.data_failed();
  TARN_ASSIGN_OR_RETURN(const bool same, cut ? Result<bool>(true) : skip(ours_.logical_size));
  if (!same) Differ("content", "bytes to the end", fmt::format("nothing behind {}", expected));
  return Status::Ok();
}

Status Comparison::CompareTail() {
  // The walk to the end first: what it finds there explains what libarchive does.
  const bool had_ours = have_ours_;
  uint64_t more_ours = 0;
  while (have_ours_) {
    ++more_ours;
    TARN_RETURN_IF_ERROR(NextOurs());
  }
  have_ours_ = false;
  if (had_ours) {
    Differ("end", fmt::format("{} more members", more_ours),
           reference_.failed() ? "stops: " + reference_.Trouble() : "ends",
           HasFinding(FindingCode::kLoneZeroBlock)  ? kLoneZero
           : HasFinding(FindingCode::kBadPaxRecord) ? kBadRecord
                                                    : "");
  } else if (reference_.failed() && findings_.errors() == 0 && findings_.warnings() == 0) {
    Differ("end", "a sound end", "stops: " + reference_.Trouble());
  }
  while (have_theirs_) {
    Differ("member", "not listed", EscapeName(theirs_.name));
    TARN_RETURN_IF_ERROR(NextTheirs());
  }
  return Status::Ok();
}

}  // namespace

Result<ReferenceReport> CompareWithReference(const io::RandomAccessFile& file, uint64_t size,
                                             const ReferenceOptions& options) {
  return Comparison(file, size, options).Run();
}

std::string ReferenceName() {
  const int number = archive_version_number();
  return fmt::format("libarchive {}.{}.{}", number / 1000000, number / 1000 % 1000, number % 1000);
}

}  // namespace tarn::tar

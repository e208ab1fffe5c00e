// The codec of members and dentries. Both start with flags: what is as most members have it is not written at
// all. A flag that is set for a value that needed none is refused, so one record has one spelling.
#include <fmt/format.h>

#include <cassert>

#include "index/bad_record.h"
#include "tarn/base/bytes.h"
#include "tarn/index/records.h"

namespace tarn::index {
namespace {

// The flags word of a member, a varint: bits 0 to 2 are the type, the others say which fields follow, in the
// order of their bits, behind those that always do (header offset, directory, name). What most members need
// stands in the first seven bits. Do not renumber.
enum MemberFlag : uint32_t {
  kTypeMask = 0x7,
  kStoredSize = 1 << 3,  // stored_size is not 0
  kMtime = 1 << 4,       // differs from the default; the difference follows
  kMtimeNs = 1 << 5,     // not 0
  kMode = 1 << 6,        // differs from the default, as the next four
  kUid = 1 << 7,
  kGid = 1 << 8,
  kUserName = 1 << 9,
  kGroupName = 1 << 10,
  kLink = 1 << 11,         // not empty
  kLinks = 1 << 12,        // not 1, or not 0 for a member without a place
  kUnshown = 1 << 13,      // has no place: no directory number is written
  kLogicalSize = 1 << 14,  // differs from stored_size
  kDataOffset = 1 << 15,   // not 512 behind header_offset; the difference follows
  kUnaligned = 1 << 16,    // header_offset is no multiple of 512 and written as it is, not divided
  kExtents = 1 << 17,      // not exactly [data_offset, logical_size], or not none where logical_size is 0
  kDevice = 1 << 18,       // a device number is not 0
  kXattrs = 1 << 19,       // there are some
  kMemberFlagsEnd = 1 << 20,
};

// How an extent says where it lies.
enum ExtentTag : uint8_t {
  kExtentHole = 0,
  kExtentNext = 1,       // where the data extent before it ended; the first one: at data_offset
  kExtentElsewhere = 2,  // its archive offset follows
};

constexpr uint64_t kBlock = 512;
constexpr uint32_t kNanosecondsEnd = 1'000'000'000;

uint32_t UsualLinks(const MemberRecord& member) {
  return member.directory == tar::kNoDirectory ? 0 : 1;
}

bool HasUsualExtents(const MemberRecord& member) {
  if (member.logical_size == 0) return member.extents.empty();
  return member.extents.size() == 1 && member.extents[0].archive_offset >= 0 &&
         static_cast<uint64_t>(member.extents[0].archive_offset) == member.data_offset &&
         member.extents[0].length == member.logical_size;
}

uint32_t FlagsOf(const MemberRecord& member, const MemberDefaults& defaults) {
  auto flags = static_cast<uint32_t>(member.type);
  assert(flags <= kTypeMask);
  const auto set_if = [&flags](bool condition, MemberFlag flag) {
    if (condition) flags |= flag;
  };
  set_if(member.stored_size != 0, kStoredSize);
  set_if(member.mtime != defaults.mtime, kMtime);
  set_if(member.mtime_ns != 0, kMtimeNs);
  set_if(member.mode != defaults.mode, kMode);
  set_if(member.uid != defaults.uid, kUid);
  set_if(member.gid != defaults.gid, kGid);
  set_if(member.user_name != defaults.user_name, kUserName);
  set_if(member.group_name != defaults.group_name, kGroupName);
  set_if(!member.link.empty(), kLink);
  set_if(member.links != UsualLinks(member), kLinks);
  set_if(member.directory == tar::kNoDirectory, kUnshown);
  set_if(member.logical_size != member.stored_size, kLogicalSize);
  set_if(member.data_offset != member.header_offset + kBlock, kDataOffset);
  set_if(member.header_offset % kBlock != 0, kUnaligned);
  set_if(!HasUsualExtents(member), kExtents);
  set_if(member.device_major != 0 || member.device_minor != 0, kDevice);
  set_if(!member.xattrs.empty(), kXattrs);
  return flags;
}

// The difference of two numbers of which either may be larger, exact modulo 2^64.
uint64_t EncodedDifference(uint64_t to, uint64_t from) {
  return ZigZag(static_cast<int64_t>(to - from));
}

void EncodeExtents(const MemberRecord& member, std::string* out) {
  AppendVarint(out, member.extents.size());
  uint64_t next = member.data_offset;
  for (const tar::Extent& extent : member.extents) {
    const auto offset = static_cast<uint64_t>(extent.archive_offset);
    if (extent.archive_offset == tar::Extent::kHole) {
      out->push_back(kExtentHole);
    } else if (offset == next) {
      out->push_back(kExtentNext);
    } else {
      assert(extent.archive_offset >= 0);
      out->push_back(kExtentElsewhere);
      AppendVarint(out, offset);
    }
    AppendVarint(out, extent.length);
    if (extent.archive_offset != tar::Extent::kHole) next = offset + extent.length;
  }
}

void DecodeExtents(ByteReader* in, MemberRecord* member) {
  member->extents.clear();
  const uint64_t count = in->Varint();
  if (count > in->remaining() / 2) return in->Fail();  // each takes two bytes or more
  member->extents.reserve(count);
  uint64_t next = member->data_offset;
  for (uint64_t i = 0; i < count && in->ok(); ++i) {
    tar::Extent extent;
    const uint8_t tag = in->Byte();
    if (tag == kExtentHole) {
      extent.archive_offset = tar::Extent::kHole;
    } else if (tag == kExtentNext || tag == kExtentElsewhere) {
      const uint64_t offset = tag == kExtentNext ? next : in->Varint();
      if (offset > INT64_MAX || (tag == kExtentElsewhere && offset == next)) in->Fail();
      extent.archive_offset = static_cast<int64_t>(offset);
    } else {
      in->Fail();
    }
    extent.length = in->Varint();
    if (tag != kExtentHole) next = static_cast<uint64_t>(extent.archive_offset) + extent.length;
    member->extents.push_back(extent);
  }
}

void DecodeXattrs(ByteReader* in, MemberRecord* member) {
  const uint64_t count = in->Varint();
  if (count == 0 || count > in->remaining() / 2) return in->Fail();
  member->xattrs.reserve(count);
  for (uint64_t i = 0; i < count && in->ok(); ++i) {
    const std::string_view name = in->LengthPrefixed();
    const std::string_view value = in->LengthPrefixed();
    member->xattrs.emplace_back(name, value);
  }
}

void EncodeSizesAndPlace(const MemberRecord& member, uint32_t flags, std::string* out) {
  if (flags & kLogicalSize) AppendVarint(out, member.logical_size);
  if (flags & kDataOffset)
    AppendVarint(out, EncodedDifference(member.data_offset, member.header_offset + kBlock));
  if (flags & kExtents) EncodeExtents(member, out);
  if (flags & kDevice) {
    AppendVarint(out, member.device_major);
    AppendVarint(out, member.device_minor);
  }
  if (flags & kXattrs) {
    AppendVarint(out, member.xattrs.size());
    for (const auto& [name, value] : member.xattrs) {
      AppendLengthPrefixed(out, name);
      AppendLengthPrefixed(out, value);
    }
  }
}

// Reads the fields of a member behind its flags. `Take` reads one field if its flag is set, else gives the
// usual value; a field that is written and has the usual value fails: the encoder would have left it out.
class MemberDecoder {
 public:
  MemberDecoder(std::string_view bytes, const MemberDefaults& defaults, MemberRecord* member)
      : in_(bytes), defaults_(defaults), member_(*member) {}

  bool Run() {
    flags_ = in_.Varint32();
    if (flags_ >= kMemberFlagsEnd) in_.Fail();
    member_.type = static_cast<tar::MemberType>(flags_ & kTypeMask);
    DecodeAlwaysThere();
    DecodeAttributes();
    DecodeSizesAndPlace();
    return in_.AtEnd();
  }

 private:
  void Take(MemberFlag flag, uint64_t usual, uint64_t* field) {
    *field = flags_ & flag ? in_.Varint() : usual;
    if ((flags_ & flag) && *field == usual) in_.Fail();
  }
  void Take(MemberFlag flag, uint32_t usual, uint32_t* field) {
    *field = flags_ & flag ? in_.Varint32() : usual;
    if ((flags_ & flag) && *field == usual) in_.Fail();
  }
  void Take(MemberFlag flag, std::string_view usual, std::string* field) {
    *field = flags_ & flag ? in_.LengthPrefixed() : usual;
    if ((flags_ & flag) && *field == usual) in_.Fail();
  }
  // A field written as its difference from the usual value.
  uint64_t TakeDifference(MemberFlag flag, uint64_t usual) {
    if (!(flags_ & flag)) return usual;
    const int64_t difference = in_.SignedVarint();
    if (difference == 0) in_.Fail();
    return usual + static_cast<uint64_t>(difference);
  }

  void DecodeAlwaysThere() {
    const uint64_t offset = in_.Varint();
    if (flags_ & kUnaligned) {
      if (offset % kBlock == 0) in_.Fail();
      member_.header_offset = offset;
    } else {
      if (offset > UINT64_MAX / kBlock) in_.Fail();
      member_.header_offset = offset * kBlock;
    }
    member_.directory = tar::kNoDirectory;
    if (!(flags_ & kUnshown)) {
      member_.directory = in_.Varint32();
      if (member_.directory == tar::kNoDirectory) in_.Fail();
    }
    member_.name = in_.LengthPrefixed();
  }

  void DecodeAttributes() {
    Take(kStoredSize, uint64_t{0}, &member_.stored_size);
    member_.mtime = static_cast<int64_t>(TakeDifference(kMtime, static_cast<uint64_t>(defaults_.mtime)));
    Take(kMtimeNs, uint32_t{0}, &member_.mtime_ns);
    if (member_.mtime_ns >= kNanosecondsEnd) in_.Fail();
    Take(kMode, defaults_.mode, &member_.mode);
    Take(kUid, defaults_.uid, &member_.uid);
    Take(kGid, defaults_.gid, &member_.gid);
    Take(kUserName, defaults_.user_name, &member_.user_name);
    Take(kGroupName, defaults_.group_name, &member_.group_name);
    Take(kLink, std::string_view(), &member_.link);
    Take(kLinks, UsualLinks(member_), &member_.links);
  }

  void DecodeSizesAndPlace() {
    Take(kLogicalSize, member_.stored_size, &member_.logical_size);
    member_.data_offset = TakeDifference(kDataOffset, member_.header_offset + kBlock);
    if (flags_ & kExtents) {
      DecodeExtents(&in_, &member_);
      if (HasUsualExtents(member_)) in_.Fail();
    } else {
      member_.extents.clear();
      if (member_.logical_size != 0) {
        if (member_.data_offset > INT64_MAX) in_.Fail();
        member_.extents.push_back({static_cast<int64_t>(member_.data_offset), member_.logical_size});
      }
    }
    member_.device_major = 0;
    member_.device_minor = 0;
    if (flags_ & kDevice) {
      member_.device_major = in_.Varint32();
      member_.device_minor = in_.Varint32();
      if (member_.device_major == 0 && member_.device_minor == 0) in_.Fail();
    }
    member_.xattrs.clear();
    if (flags_ & kXattrs) DecodeXattrs(&in_, &member_);
  }

  ByteReader in_;
  const MemberDefaults& defaults_;
  MemberRecord& member_;
  uint32_t flags_ = 0;
};

// ---- Dentries ---------------------------------------------------------------------------------------------

enum DentryFlag : uint8_t {
  // Bits 0 to 2: the type.
  kTargetDiffers = 1 << 3,   // a hard link: its target's ordinal follows
  kChildDirectory = 1 << 4,  // the number of the directory follows
  kDentryFlagsEnd = 1 << 5,
};

// Ordinals of which all ones means "none" are written one higher: none is the single byte 0.
void AppendOptional(uint32_t ordinal, std::string* out) {
  AppendVarint(out, ordinal + 1);
}

}  // namespace

Status BadRecord(std::string_view what, std::string_view bytes) {
  return Status(ErrorCode::kCorrupt, fmt::format("{}: {} bytes that no writer makes", what, bytes.size()));
}

void Encode(const MemberRecord& member, const MemberDefaults& defaults, std::string* out) {
  assert(member.mtime_ns < kNanosecondsEnd);
  const uint32_t flags = FlagsOf(member, defaults);
  AppendVarint(out, flags);
  AppendVarint(out, flags & kUnaligned ? member.header_offset : member.header_offset / kBlock);
  if (!(flags & kUnshown)) AppendVarint(out, member.directory);
  AppendLengthPrefixed(out, member.name);
  if (flags & kStoredSize) AppendVarint(out, member.stored_size);
  if (flags & kMtime) {
    AppendVarint(
        out, EncodedDifference(static_cast<uint64_t>(member.mtime), static_cast<uint64_t>(defaults.mtime)));
  }
  if (flags & kMtimeNs) AppendVarint(out, member.mtime_ns);
  if (flags & kMode) AppendVarint(out, member.mode);
  if (flags & kUid) AppendVarint(out, member.uid);
  if (flags & kGid) AppendVarint(out, member.gid);
  if (flags & kUserName) AppendLengthPrefixed(out, member.user_name);
  if (flags & kGroupName) AppendLengthPrefixed(out, member.group_name);
  if (flags & kLink) AppendLengthPrefixed(out, member.link);
  if (flags & kLinks) AppendVarint(out, member.links);
  EncodeSizesAndPlace(member, flags, out);
}

Status Decode(std::string_view bytes, const MemberDefaults& defaults, MemberRecord* member) {
  return MemberDecoder(bytes, defaults, member).Run() ? Status::Ok() : BadRecord("member", bytes);
}

void Encode(const DentryRecord& dentry, std::string* out) {
  auto flags = static_cast<uint8_t>(dentry.type);
  assert(flags <= kTypeMask);
  if (dentry.target_ordinal != dentry.own_ordinal) flags |= kTargetDiffers;
  if (dentry.child_directory != tar::kNoDirectory) flags |= kChildDirectory;
  out->push_back(static_cast<char>(flags));
  AppendOptional(dentry.own_ordinal, out);
  if (flags & kTargetDiffers) AppendOptional(dentry.target_ordinal, out);
  if (flags & kChildDirectory) AppendVarint(out, dentry.child_directory);
}

Status Decode(std::string_view bytes, DentryRecord* dentry) {
  ByteReader in(bytes);
  const uint8_t flags = in.Byte();
  if (flags >= kDentryFlagsEnd) in.Fail();
  dentry->type = static_cast<tar::MemberType>(flags & kTypeMask);
  dentry->own_ordinal = in.Varint32() - 1;
  dentry->target_ordinal = dentry->own_ordinal;
  if (flags & kTargetDiffers) {
    dentry->target_ordinal = in.Varint32() - 1;
    if (dentry->target_ordinal == dentry->own_ordinal) in.Fail();
  }
  dentry->child_directory = tar::kNoDirectory;
  if (flags & kChildDirectory) {
    dentry->child_directory = in.Varint32();
    if (dentry->child_directory == tar::kNoDirectory) in.Fail();
  }
  return in.AtEnd() ? Status::Ok() : BadRecord("dentry", bytes);
}

}  // namespace tarn::index

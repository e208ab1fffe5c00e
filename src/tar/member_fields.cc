#include "tar/member_fields.h"

#include <limits>

namespace tarn::tar {
namespace {

constexpr uint32_t kModeBits = 07777;
// An owner that cannot be read: (uid_t)-1 as in GNU tar, never root.
constexpr uint32_t kNoId = std::numeric_limits<uint32_t>::max();

MemberType TypeOf(char type) {
  switch (type) {
    case '1':
      return MemberType::kHardLink;
    case '2':
      return MemberType::kSymlink;
    case '3':
      return MemberType::kCharDevice;
    case '4':
      return MemberType::kBlockDevice;
    case '5':
    case 'D':  // GNU dumpdir: a directory; its data lists what was in it
      return MemberType::kDirectory;
    case '6':
      return MemberType::kFifo;
    case '7':
      return MemberType::kContiguous;
    default:
      return MemberType::kRegular;  // POSIX: unknown types are regular files
  }
}

class FieldReader {
 public:
  explicit FieldReader(std::optional<BadField>* bad) : bad_(bad) {}

  int64_t Signed(std::string_view name, std::string_view field) {
    const HeaderNumber number = ParseHeaderNumber(field);
    if (!number.good()) *bad_ = BadField{name, field};
    return number.value;
  }
  uint64_t Id(std::string_view name, std::string_view field) {
    const HeaderNumber number = ParseHeaderNumber(field);
    if (number.good() && number.value >= 0) return static_cast<uint64_t>(number.value);
    // -2 is how some systems spell the 32-bit id of nobody.
    if (number.good() && number.value >= std::numeric_limits<int32_t>::min()) {
      return static_cast<uint32_t>(number.value);
    }
    *bad_ = BadField{name, field};
    return kNoId;
  }
  uint32_t Small(std::string_view name, std::string_view field) {
    const int64_t value = Signed(name, field);
    if (value >= 0 && value <= std::numeric_limits<uint32_t>::max()) return static_cast<uint32_t>(value);
    *bad_ = BadField{name, field};
    return 0;
  }

 private:
  std::optional<BadField>* const bad_;
};

}  // namespace

void Pending::Clear() {
  any = false;
  spoiled = false;
  size_unknown = false;
  bytes = 0;
  gnu_name.reset();
  gnu_link.reset();
  pax.Clear();
}

void TakeHeaderFields(const HeaderBlock& block, Dialect dialect, Member* member,
                      std::optional<BadField>* bad) {
  const std::string_view prefix = block.prefix(dialect);
  if (prefix.empty()) {
    member->name.assign(block.name());
  } else {
    member->name.assign(prefix);
    member->name.push_back('/');
    member->name.append(block.name());
  }
  FieldReader read(bad);
  // Other bits, those of st_mode, are masked off: a mode that overflows has none of the lower ones wrong.
  member->mode = static_cast<uint32_t>(read.Signed("mode", block.mode())) & kModeBits;
  member->uid = read.Id("uid", block.uid());
  member->gid = read.Id("gid", block.gid());
  member->mtime = read.Signed("mtime", block.mtime());
  member->mtime_ns = 0;
  member->link.assign(block.link());
  member->device_major = 0;
  member->device_minor = 0;
  const bool has_names = dialect == Dialect::kUstar || dialect == Dialect::kGnu || dialect == Dialect::kXstar;
  if (has_names) {
    member->user_name.assign(block.user_name());
    member->group_name.assign(block.group_name());
    if (block.type() == '3' || block.type() == '4') {
      member->device_major = read.Small("devmajor", block.device_major());
      member->device_minor = read.Small("devminor", block.device_minor());
    }
  } else {
    member->user_name.clear();
    member->group_name.clear();
  }
  member->type = TypeOf(block.type());
}

const PaxValues* Effective(const Pending& pending, const PaxValues& global, PaxField field) {
  if ((pending.pax.set & field) != 0) return &pending.pax;
  if ((pending.pax.erased & field) != 0) return nullptr;
  return (global.set & field) != 0 ? &global : nullptr;
}

void ApplyExtensions(const Pending& pending, const PaxValues& global, Member* member) {
  const auto effective = [&](PaxField field) { return Effective(pending, global, field); };
  const bool own_path = pending.pax.Has(kPaxPath) || pending.pax.Has(kPaxSparseName);
  const bool own_link = pending.pax.Has(kPaxLink);
  if (pending.gnu_name && !own_path) {
    member->name = *pending.gnu_name;
  } else if (pending.pax.Has(kPaxSparseName)) {
    member->name = pending.pax.sparse_name;  // the header and `path` have a name made up for old readers
  } else if (const PaxValues* pax = effective(kPaxPath); pax != nullptr) {
    member->name = pax->path;
  }
  if (pending.gnu_link && !own_link) {
    member->link = *pending.gnu_link;
  } else if (const PaxValues* pax = effective(kPaxLink); pax != nullptr) {
    member->link = pax->link;
  }
  if (const PaxValues* pax = effective(kPaxUserName); pax != nullptr) member->user_name = pax->user_name;
  if (const PaxValues* pax = effective(kPaxGroupName); pax != nullptr) member->group_name = pax->group_name;
  if (const PaxValues* pax = effective(kPaxUid); pax != nullptr) member->uid = pax->uid;
  if (const PaxValues* pax = effective(kPaxGid); pax != nullptr) member->gid = pax->gid;
  if (const PaxValues* pax = effective(kPaxMtime); pax != nullptr) {
    member->mtime = pax->mtime;
    member->mtime_ns = pax->mtime_ns;
  }
  if (member->type == MemberType::kCharDevice || member->type == MemberType::kBlockDevice) {
    if (const PaxValues* pax = effective(kPaxDeviceMajor); pax != nullptr)
      member->device_major = pax->device_major;
    if (const PaxValues* pax = effective(kPaxDeviceMinor); pax != nullptr)
      member->device_minor = pax->device_minor;
  }
}

void ApplySlashRule(Member* member) {
  if (member->IsFile() && !member->name.empty() && member->name.back() == '/') {
    member->type = MemberType::kDirectory;
  }
}

HeaderNumber EffectiveSize(const HeaderBlock& block, const Pending& pending, const PaxValues& global) {
  if (const PaxValues* pax = Effective(pending, global, kPaxSize); pax != nullptr) {
    return {static_cast<int64_t>(pax->size), NumberState::kGood};
  }
  return ParseHeaderNumber(block.size());
}

}  // namespace tarn::tar

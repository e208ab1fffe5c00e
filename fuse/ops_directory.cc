#include <sys/stat.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "fuse/entry_reply.h"
#include "fuse/op_guard.h"
#include "fuse/ops.h"

namespace tarn::fuse::ops {
namespace {

// Offsets of a directory: where to go on behind an entry, the same in every server. "." and ".." take 1 and
// 2, what the tree calls its cookies follows.
constexpr off_t kBehindDot = 1;
constexpr off_t kBehindDotDot = 2;

constexpr off_t OffsetOf(uint64_t cookie) {
  return static_cast<off_t>(cookie) + kBehindDotDot;
}
constexpr uint64_t CookieOf(off_t offset) {
  return offset <= kBehindDotDot ? 0 : static_cast<uint64_t>(offset - kBehindDotDot);
}
constexpr uint64_t kMaxCookie = static_cast<uint64_t>(std::numeric_limits<off_t>::max() - kBehindDotDot);

// One reply of READDIR or READDIRPLUS: entries as the kernel wants them, as many as fit.
class Listing {
 public:
  Listing(fuse_req_t request, const FileSystem& file_system, size_t size, bool plus)
      : request_(request), file_system_(file_system), plus_(plus), buffer_(size) {}

  // "." or "..": a number and a type. The kernel takes no node from these.
  bool AddDot(const char* name, const dataset::Attributes& attributes, off_t offset) {
    fuse_entry_param entry{};
    entry.attr = ToStat(attributes);
    return Add(name, entry, offset);
  }

  bool AddEntry(const dataset::ListedEntry& listed, bool made_up) {
    name_.assign(listed.name);
    fuse_entry_param entry = ToEntry(file_system_, listed.attributes, kForever);
    // Number 0: the kernel takes the name and looks up the rest when it is asked for it.
    if (made_up) entry.ino = 0;
    return Add(name_.c_str(), entry, OffsetOf(listed.cookie));
  }

  bool empty() const { return used_ == 0; }
  std::string_view bytes() const { return {buffer_.data(), used_}; }

 private:
  bool Add(const char* name, const fuse_entry_param& entry, off_t offset) {
    char* const at = buffer_.data() + used_;
    const size_t left = buffer_.size() - used_;
    const size_t needed = plus_ ? fuse_add_direntry_plus(request_, at, left, name, &entry, offset)
                                : fuse_add_direntry(request_, at, left, name, &entry.attr, offset);
    if (needed > left) return false;
    used_ += needed;
    return true;
  }

  fuse_req_t request_;
  const FileSystem& file_system_;
  bool plus_;
  std::vector<char> buffer_;
  size_t used_ = 0;
  std::string name_;
};

Status AddDots(const FileSystem& file_system, dataset::NodeId node, off_t* offset, Listing* listing,
               bool* full) {
  if (*offset >= kBehindDotDot) return Status::Ok();
  dataset::Attributes self{.node = node, .mode = S_IFDIR};
  if (*offset < kBehindDot && !listing->AddDot(".", self, kBehindDot)) {
    *full = true;
    return Status::Ok();
  }
  TARN_ASSIGN_OR_RETURN(self.node, file_system.Parent(node));
  *full = !listing->AddDot("..", self, kBehindDotDot);
  *offset = kBehindDotDot;
  return Status::Ok();
}

void List(fuse_req_t request, Operation operation, fuse_ino_t inode, size_t size, off_t offset, bool plus) {
  Answer(request, operation, inode, [&](const FileSystem& file_system, Reply& reply) -> Status {
    const dataset::NodeId node = file_system.NodeOf(inode);
    if (offset < 0) return Status(ErrorCode::kInvalidArgument, "a negative directory offset");
    Listing listing(request, file_system, size, plus);
    bool full = false;
    TARN_RETURN_IF_ERROR(AddDots(file_system, node, &offset, &listing, &full));
    Status status;
    if (!full) {
      status = file_system.List(node, CookieOf(offset), plus, [&](const dataset::ListedEntry& listed) {
        return listed.cookie <= kMaxCookie && listing.AddEntry(listed, file_system.IsMadeUp(node));
      });
    }
    // What was listed before a failure is good; the next call fails at once and says why.
    if (!status.ok() && listing.empty()) return status;
    reply.Text(listing.bytes());
    return Status::Ok();
  });
}

}  // namespace

void OpenDirectory(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* /*file*/) {
  AnswerFixed(request, Operation::kOpendir, ENOSYS);
}

void ReadDirectory(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                   fuse_file_info* /*file*/) {
  List(request, Operation::kReaddir, inode, size, offset, /*plus=*/false);
}

void ReadDirectoryPlus(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                       fuse_file_info* /*file*/) {
  List(request, Operation::kReaddirplus, inode, size, offset, /*plus=*/true);
}

void ReleaseDirectory(fuse_req_t request, fuse_ino_t /*inode*/, fuse_file_info* /*file*/) {
  AnswerFixed(request, Operation::kReleasedir, 0);
}

// Nothing is ever unwritten.
void SyncDirectory(fuse_req_t request, fuse_ino_t /*inode*/, int /*data_only*/, fuse_file_info* /*file*/) {
  AnswerFixed(request, Operation::kFsyncdir, 0);
}

}  // namespace tarn::fuse::ops

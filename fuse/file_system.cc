#include "fuse/file_system.h"

namespace tarn::fuse {
namespace {

// What programs that read whole files should read at once: the size in which the kernel asks.
constexpr blksize_t kPreferredRead = 128 << 10;

}  // namespace

Result<std::optional<dataset::Attributes>> FileSystem::Lookup(dataset::NodeId parent,
                                                              std::string_view name) const {
  return IsMadeUp(parent) ? catalog_->Lookup(parent, name) : tree_->Lookup(parent, name);
}

Result<dataset::Attributes> FileSystem::GetAttributes(dataset::NodeId node) const {
  return IsMadeUp(node) ? catalog_->GetAttributes(node) : tree_->GetAttributes(node);
}

Result<dataset::NodeId> FileSystem::Parent(dataset::NodeId directory) const {
  const bool top = catalog_ != nullptr && (IsMadeUp(directory) || directory.directory() == 0);
  if (top) return dataset::Catalog::Parent(directory);
  return tree_->Parent(directory);
}

Result<std::string> FileSystem::ReadLink(dataset::NodeId node) const {
  return IsMadeUp(node) ? catalog_->ReadLink(node) : tree_->ReadLink(node);
}

Status FileSystem::List(dataset::NodeId directory, uint64_t cookie, bool with_attributes,
                        const std::function<bool(const dataset::ListedEntry&)>& visit) const {
  return IsMadeUp(directory) ? catalog_->List(directory, cookie, visit)
                             : tree_->List(directory, cookie, with_attributes, visit);
}

Result<std::optional<std::string>> FileSystem::GetXattr(dataset::NodeId node, std::string_view name) const {
  if (IsMadeUp(node)) return catalog_->GetXattr(node, name);
  return tree_->GetXattr(node, name);
}

Result<std::vector<std::string>> FileSystem::ListXattrs(dataset::NodeId node) const {
  if (IsMadeUp(node)) return dataset::Catalog::ListXattrs(node);
  return tree_->ListXattrs(node);
}

Result<size_t> FileSystem::Read(dataset::NodeId node, uint64_t offset, std::span<std::byte> out) const {
  return IsMadeUp(node) ? catalog_->Read(node, offset, out) : tree_->Read(node, offset, out);
}

Result<uint64_t> FileSystem::SeekDataOrHole(dataset::NodeId node, uint64_t offset, bool hole) const {
  if (!IsMadeUp(node)) return tree_->SeekDataOrHole(node, offset, hole);
  TARN_ASSIGN_OR_RETURN(const dataset::Attributes attributes, catalog_->GetAttributes(node));
  if (offset < attributes.size) return hole ? attributes.size : offset;
  return Status(ErrorCode::kNotFound, "offset " + std::to_string(offset) + " is beyond the end");
}

dataset::FileSystemTotals FileSystem::Totals(dataset::NodeId node) const {
  return IsMadeUp(node) ? dataset::FileSystemTotals{} : tree_->Totals(node);
}

struct stat ToStat(const dataset::Attributes& attributes) {
  struct stat status {};
  status.st_ino = attributes.node.value();
  status.st_mode = attributes.mode;
  status.st_nlink = attributes.links;
  status.st_uid = attributes.uid;
  status.st_gid = attributes.gid;
  status.st_rdev = attributes.device;
  status.st_size = static_cast<off_t>(attributes.size);
  status.st_blocks = static_cast<blkcnt_t>(attributes.blocks);
  status.st_blksize = kPreferredRead;
  // A tar has one time for a member; the others say the same.
  status.st_mtim = {.tv_sec = attributes.mtime, .tv_nsec = attributes.mtime_ns};
  status.st_atim = status.st_mtim;
  status.st_ctim = status.st_mtim;
  return status;
}

}  // namespace tarn::fuse

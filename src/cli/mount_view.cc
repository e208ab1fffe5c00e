#include "cli/mount_view.h"

#include <charconv>
#include <optional>
#include <vector>

#include "tarn/base/bytes.h"
#include "tarn/dataset/node_id.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/posix_facts.h"
#include "tarn/io/random_access_file.h"

namespace tarn::cli {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

Result<NodeFacts> LookAt(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const io::PosixStat stat, io::LinkStat(path));
  NodeFacts facts;
  facts.node = stat.inode;
  facts.path = path;
  facts.mode = stat.mode;
  facts.size = stat.size;
  facts.blocks = stat.blocks;
  facts.links = stat.links;
  facts.uid = stat.uid;
  facts.gid = stat.gid;
  facts.device = stat.device;
  facts.mtime = stat.mtime;
  facts.mtime_ns = stat.mtime_ns;
  return facts;
}

std::string DirectoryOf(const std::string& path) {
  const std::string_view directory = io::DirName(path);
  if (!directory.empty()) return std::string(directory);
  return path.starts_with('/') ? "/" : ".";
}

// "imagenet@7" taken apart.
void AddGeneration(std::string_view reference, nlohmann::ordered_json* facts) {
  const size_t at = reference.rfind('@');
  uint32_t generation = 0;
  if (at == std::string_view::npos ||
      std::from_chars(reference.data() + at + 1, reference.data() + reference.size(), generation).ec !=
          std::errc()) {
    return;
  }
  (*facts)["dataset"] = reference.substr(0, at);
  (*facts)["generation"] = generation;
}

}  // namespace

Result<bool> MountView::Shows(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const io::PosixStat stat, io::LinkStat(path));
  NodeFacts facts;
  facts.mode = stat.mode;
  const std::string directory = facts.IsDirectory() ? path : DirectoryOf(path);
  TARN_ASSIGN_OR_RETURN(const auto generation, io::GetXattr(directory, "user.tarn.generation"));
  if (generation) return true;
  // What a mount of every dataset has above them.
  TARN_ASSIGN_OR_RETURN(const auto index, io::GetXattr(directory, "user.tarn.index"));
  return index.has_value();
}

Result<NodeFacts> MountView::Find(std::string_view path, bool follow) const {
  std::string spelled(path);
  if (follow) {
    TARN_ASSIGN_OR_RETURN(spelled, io::RealPath(spelled));
  }
  return LookAt(spelled);
}

Status MountView::List(const NodeFacts& directory,
                       const std::function<void(std::string_view, const NodeFacts&)>& visit) const {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(directory.path));
  for (const std::string& name : names) {
    TARN_ASSIGN_OR_RETURN(const NodeFacts facts, LookAt(io::JoinPath(directory.path, name)));
    visit(name, facts);
  }
  return Status::Ok();
}

Result<std::string> MountView::ReadLink(const NodeFacts& link) const {
  return io::ReadLink(link.path);
}

Status MountView::Read(const NodeFacts& file,
                       const std::function<Status(std::span<const std::byte>)>& consume) const {
  TARN_ASSIGN_OR_RETURN(const auto opened, io::OpenFile(file.path));
  std::vector<std::byte> piece(kPieceBytes);
  for (uint64_t offset = 0;;) {
    TARN_ASSIGN_OR_RETURN(const size_t got, opened->ReadAt(offset, piece));
    if (got == 0) return Status::Ok();
    TARN_RETURN_IF_ERROR(consume(std::span(piece).first(got)));
    offset += got;
  }
}

Result<nlohmann::ordered_json> MountView::AllFacts(const NodeFacts& node) const {
  nlohmann::ordered_json facts = BasicFacts(node);
  const std::string directory = node.IsDirectory() ? node.path : DirectoryOf(node.path);
  TARN_ASSIGN_OR_RETURN(const auto generation, io::GetXattr(directory, "user.tarn.generation"));
  if (generation) AddGeneration(*generation, &facts);
  if (node.IsSymlink()) {
    TARN_ASSIGN_OR_RETURN(const std::string target, ReadLink(node));
    facts["link"] = EscapeName(target);
  }
  TARN_ASSIGN_OR_RETURN(const auto archive, io::GetXattr(directory, "user.tarn.archive"));
  TARN_ASSIGN_OR_RETURN(auto id, io::GetXattr(node.path, "user.tarn.archive_id"));
  if (!id && archive) {  // a link or device, which has none of its own
    TARN_ASSIGN_OR_RETURN(id, io::GetXattr(directory, "user.tarn.archive_id"));
  }
  TARN_ASSIGN_OR_RETURN(const auto data_offset, io::GetXattr(node.path, "user.tarn.data_offset"));
  if (archive) facts["archive"] = EscapeName(*archive);
  if (id) facts["archive_id"] = *id;
  if (archive && !node.IsDirectory()) facts["ordinal"] = dataset::NodeId(node.node).ordinal();
  uint64_t offset = 0;
  if (data_offset &&
      std::from_chars(data_offset->data(), data_offset->data() + data_offset->size(), offset).ec ==
          std::errc()) {
    facts["data_offset"] = offset;
  }
  facts["xattrs"] = nlohmann::ordered_json::object();
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListXattrs(node.path));
  for (const std::string& name : names) {
    TARN_ASSIGN_OR_RETURN(const auto value, io::GetXattr(node.path, name));
    if (value) facts["xattrs"][EscapeName(name)] = EscapeName(*value);
  }
  return facts;
}

}  // namespace tarn::cli

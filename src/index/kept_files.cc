#include "tarn/index/kept_files.h"

#include <fmt/format.h>

#include <optional>

#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

constexpr std::string_view kKept = "kept";

// What `path` keeps by its name and place.
std::optional<ArchiveId> KeptAt(const IndexRoot& root, const std::string& path) {
  const auto id = ArchiveId::FromString(io::BaseName(path));
  if (!id || io::JoinPath(root.path(), KeptPath(*id)) != path) return std::nullopt;
  return id;
}

// Makes a shard, and makes it last.
Status MakeShard(const IndexRoot& root, const std::string& shard) {
  if (io::IsDirectory(shard)) return Status::Ok();
  TARN_RETURN_IF_ERROR(io::MakeDirectories(shard));
  TARN_RETURN_IF_ERROR(io::SyncDirectory(KeptDirectory(root)));
  return io::SyncDirectory(root.path());
}

}  // namespace

std::string KeptPath(const ArchiveId& id) {
  return fmt::format("{}/{}/{}", kKept, id.digest.ToHex().substr(0, 2), id.ToString());
}

std::string KeptDirectory(const IndexRoot& root) {
  return io::JoinPath(root.path(), kKept);
}

bool HasKept(const IndexRoot& root, const ArchiveId& id) {
  const Result<io::FileFacts> facts = io::LookAt(io::JoinPath(root.path(), KeptPath(id)));
  return facts.ok() && facts->type == io::FileType::kRegular && facts->bytes == id.size;
}

Status PlaceKept(const IndexRoot& root, const ArchiveId& id, const std::string& staged) {
  if (HasKept(root, id)) return io::RemoveFile(staged);
  const std::string path = io::JoinPath(root.path(), KeptPath(id));
  TARN_RETURN_IF_ERROR(MakeShard(root, std::string(io::DirName(path))));
  return io::Rename(staged, path);
}

Result<std::vector<StoredKept>> ListKept(const IndexRoot& root,
                                         const std::function<void(const std::string&)>& foreign) {
  std::vector<StoredKept> kept;
  const Status walked =
      io::WalkFiles(KeptDirectory(root), [&](const std::string& path, const io::FileFacts& facts) {
        const auto id = KeptAt(root, path);
        if (id && facts.type == io::FileType::kRegular) {
          kept.push_back({*id, path, facts});
        } else if (foreign) {
          foreign(path);
        }
        return Status::Ok();
      });
  if (!walked.ok() && walked.code() != ErrorCode::kNotFound) return walked;
  return kept;
}

}  // namespace tarn::index

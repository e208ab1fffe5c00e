#include "indexer/places.h"

#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

// Both resolved.
bool IsInside(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

Result<std::string> ResolveDirectory(const std::string& path, const std::string& what) {
  Result<std::string> resolved = io::RealPath(path);
  if (resolved.code() == ErrorCode::kNotFound) {
    return Status(ErrorCode::kNotFound, what + " '" + path + "' does not exist")
        .WithHint("check the path, and that its volume is mounted");
  }
  TARN_RETURN_IF_ERROR(resolved.status());
  if (!io::IsDirectory(*resolved)) {
    return Status(ErrorCode::kInvalidArgument, what + " '" + path + "' is not a directory");
  }
  return resolved;
}

// The real path of something whose last components need not exist.
Result<std::string> ResolveUpToWhatExists(const std::string& path) {
  std::string existing = path;
  while (existing.size() > 1 && existing.back() == '/') existing.pop_back();
  if (existing.empty()) existing = ".";
  std::string rest;
  while (!io::Exists(existing)) {
    rest = io::JoinPath(io::BaseName(existing), rest);
    const bool absolute = existing.front() == '/';
    existing = std::string(io::DirName(existing));
    if (existing.empty()) existing = absolute ? "/" : ".";
  }
  TARN_ASSIGN_OR_RETURN(const std::string resolved, io::RealPath(existing));
  return io::JoinPath(resolved, rest);
}

}  // namespace

Result<Places> ResolvePlaces(const std::string& directory, const std::optional<std::string>& relative_to,
                             const std::string& index) {
  Places places;
  TARN_ASSIGN_OR_RETURN(places.directory, ResolveDirectory(directory, "dataset directory"));
  if (relative_to) {
    TARN_ASSIGN_OR_RETURN(places.base, ResolveDirectory(*relative_to, "--relative-to directory"));
  } else {
    const std::string_view parent = io::DirName(places.directory);
    places.base = parent.empty() ? "/" : std::string(parent);
  }
  if (!IsInside(places.directory, places.base)) {
    return Status(ErrorCode::kInvalidArgument, "dataset directory '" + places.directory +
                                                   "' is not below --relative-to '" + places.base + "'")
        .WithHint("give the directory that the nodes' --source stands for: a parent of the dataset");
  }
  if (places.directory != places.base) {
    places.source_path = places.directory.substr(places.base == "/" ? 1 : places.base.size() + 1);
  }
  TARN_ASSIGN_OR_RETURN(const std::string root, ResolveUpToWhatExists(index));
  if (IsInside(root, places.directory)) {
    return Status(ErrorCode::kInvalidArgument,
                  "index root '" + root + "' lies inside the dataset directory '" + places.directory + "'")
        .WithHint("Tarn never writes next to data: give --index a directory elsewhere");
  }
  if (IsInside(places.directory, root)) {
    return Status(ErrorCode::kInvalidArgument,
                  "dataset directory '" + places.directory + "' lies inside the index root '" + root + "'")
        .WithHint("an index root holds nothing but the index: move the data, or give another --index");
  }
  return places;
}

}  // namespace tarn::indexer

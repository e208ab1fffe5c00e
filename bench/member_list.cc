#include "bench/member_list.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "tarn/io/filesystem.h"
#include "tarn/io/forward_reader.h"
#include "tarn/io/random_access_file.h"
#include "tarn/tar/header_walker.h"

namespace tarn::bench {
namespace {

constexpr std::string_view kArchiveSuffix = ".tar";

// Regular files below `directory`, relative to it, sorted.
Result<std::vector<std::string>> FilesBelow(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator walk(directory, error);
  for (; !error && walk != std::filesystem::end(walk); walk.increment(error)) {
    if (walk->is_regular_file(error)) {
      files.push_back(walk->path().lexically_relative(directory).string());
    }
    if (error) break;
  }
  if (error) return Status::FromErrno(error.value(), "cannot list '" + directory + "'");
  std::sort(files.begin(), files.end());
  return files;
}

// "a/b" of "./a//b"; nothing for names that no mount shows.
std::string Normalised(std::string_view name) {
  std::string path;
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return {};
    if (!path.empty()) path += '/';
    path += part;
  }
  return path;
}

Status AddMembersOf(const std::string& path, const std::string& shown, MemberList* list) {
  TARN_ASSIGN_OR_RETURN(const auto file, io::OpenFile(path));
  TARN_ASSIGN_OR_RETURN(const io::FileStat stat, file->Stat());
  io::WindowReader reader(file.get(), stat.identity.size);
  tar::FindingList findings;
  tar::HeaderWalker walker(&reader, &findings);
  const uint32_t archive = list->AddArchive(path);
  std::unordered_map<std::string, uint32_t> directories;
  for (tar::Member member;;) {
    TARN_ASSIGN_OR_RETURN(const bool more, walker.Next(&member));
    if (!more) break;
    const bool in_one_piece = member.extents.size() == 1 && member.extents[0].archive_offset >= 0;
    const std::string name = Normalised(member.name);
    if (!member.IsFile() || !in_one_piece || name.empty()) continue;
    const std::string directory = io::JoinPath(shown, io::DirName(name));
    auto known = directories.find(directory);
    if (known == directories.end())
      known = directories.emplace(directory, list->AddDirectory(directory)).first;
    list->AddTarget(archive, known->second, io::BaseName(name),
                    static_cast<uint64_t>(member.extents[0].archive_offset), member.logical_size);
  }
  if (findings.errors() > 0) {
    return Status(ErrorCode::kCorrupt, "'" + path + "' is damaged: " + findings.kept().front().detail)
        .WithHint("'tarn walk' shows what is wrong with it");
  }
  return Status::Ok();
}

}  // namespace

uint32_t MemberList::AddArchive(std::string path) {
  archives_.push_back(std::move(path));
  return static_cast<uint32_t>(archives_.size() - 1);
}

uint32_t MemberList::AddDirectory(std::string path) {
  directories_.push_back(std::move(path));
  return static_cast<uint32_t>(directories_.size() - 1);
}

void MemberList::AddTarget(uint32_t archive, uint32_t directory, std::string_view name, uint64_t offset,
                           uint64_t size) {
  if (size == 0) return;  // nothing to read
  targets_.push_back({archive, directory, names_.size(), offset, size});
  names_.append(name);
  names_.push_back('\0');
  total_bytes_ += size;
}

std::string MemberList::PathOf(const Target& target) const {
  return io::JoinPath(directories_[target.directory], names_.c_str() + target.name);
}

Result<MemberList> MemberList::FromArchives(const std::string& directory) {
  MemberList list;
  list.name_ = directory;
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesBelow(directory));
  for (const std::string& file : files) {
    if (!file.ends_with(kArchiveSuffix)) continue;
    const std::string shown = file.substr(0, file.size() - kArchiveSuffix.size());
    TARN_RETURN_IF_ERROR(AddMembersOf(io::JoinPath(directory, file), shown, &list));
  }
  if (list.targets_.empty()) {
    return Status(ErrorCode::kNotFound, "there are no tars with files below '" + directory + "'")
        .WithHint("'tarn-bench make-dataset' writes some; --files takes a directory of loose files");
  }
  return list;
}

Result<MemberList> MemberList::FromFiles(const std::string& directory) {
  MemberList list;
  list.name_ = directory;
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesBelow(directory));
  std::unordered_map<std::string, uint32_t> directories;
  for (const std::string& file : files) {
    const std::string path = io::JoinPath(directory, file);
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(path, error);
    if (error) return Status::FromErrno(error.value(), "cannot look at '" + path + "'");
    const std::string parent(io::DirName(file));
    auto known = directories.find(parent);
    if (known == directories.end()) known = directories.emplace(parent, list.AddDirectory(parent)).first;
    list.AddTarget(list.AddArchive(path), known->second, io::BaseName(file), 0, size);
  }
  if (list.targets_.empty())
    return Status(ErrorCode::kNotFound, "there are no files to read below '" + directory + "'");
  return list;
}

}  // namespace tarn::bench

// Retired generations. A generation is immutable and may be open anywhere, and RocksDB opens its files by
// path when it first needs them: so it is neither changed nor moved, a marker beside it says that it left the
// listings. The marker is one file, made and removed whole, so a generation is always either.
#include "index/retired.h"

#include <fmt/format.h>

#include <algorithm>

#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/index/index_root.h"

namespace tarn::index {
namespace {

constexpr size_t kMarkerBytes = 4096;
constexpr std::string_view kMarkerPrefix = "retired ";

std::string MarkerPath(const IndexRoot& root, std::string_view dataset, uint32_t generation) {
  return fmt::format("{}/{}/{}", root.DatasetPath(dataset), kRetiredDirectory, generation);
}

Status NoSuchGeneration(const IndexRoot& root, std::string_view dataset, uint32_t generation) {
  return Status(ErrorCode::kNotFound,
                fmt::format("index root '{}' has no generation '{}@{}'", root.path(), dataset, generation))
      .WithHint(fmt::format("'tarn datasets --index {}' lists all", root.path()));
}

}  // namespace

bool IndexRoot::IsRetired(std::string_view dataset, uint32_t generation) const {
  return io::Exists(MarkerPath(*this, dataset, generation));
}

Result<std::vector<uint32_t>> IndexRoot::RetiredGenerations(std::string_view dataset) const {
  TARN_ASSIGN_OR_RETURN(std::vector<uint32_t> generations, AllGenerations(dataset));
  std::erase_if(generations, [&](uint32_t generation) { return !IsRetired(dataset, generation); });
  return generations;
}

Result<int64_t> IndexRoot::RetiredSince(std::string_view dataset, uint32_t generation) const {
  const std::string path = MarkerPath(*this, dataset, generation);
  TARN_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path, kMarkerBytes));
  if (text.starts_with(kMarkerPrefix) && text.back() == '\n') {
    const std::string_view moment = std::string_view(text).substr(kMarkerPrefix.size());
    const auto seconds = ParseTimestamp(moment.substr(0, moment.size() - 1));
    if (seconds.ok()) return *seconds;
  }
  return Status(ErrorCode::kCorrupt, fmt::format("'{}' should hold 'retired' and a moment, and holds '{}'",
                                                 path, EscapeName(std::string_view(text).substr(0, 48))))
      .WithHint(fmt::format("list the generation again with 'tarn-index retire {}@{} --undo'", dataset,
                            generation));
}

Status IndexRoot::RetireGeneration(std::string_view dataset, uint32_t generation, int64_t now_seconds) {
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> generations, AllGenerations(dataset));
  if (!std::binary_search(generations.begin(), generations.end(), generation)) {
    return NoSuchGeneration(*this, dataset, generation);
  }
  const std::string marker = MarkerPath(*this, dataset, generation);
  TARN_RETURN_IF_ERROR(io::MakeDirectories(std::string(io::DirName(marker))));
  TARN_RETURN_IF_ERROR(io::SyncDirectory(DatasetPath(dataset)));
  const Status created =
      io::CreateFileAtomically(marker, fmt::format("{}{}\n", kMarkerPrefix, FormatTimestamp(now_seconds)));
  if (!created.ok() && created.code() != ErrorCode::kAlreadyExists) return created;
  return RepairLatest(dataset);
}

Status IndexRoot::RestoreGeneration(std::string_view dataset, uint32_t generation) {
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> retired, RetiredGenerations(dataset));
  if (!std::binary_search(retired.begin(), retired.end(), generation)) {
    if (io::IsDirectory(GenerationPath(dataset, generation))) {
      return Status(ErrorCode::kNotFound,
                    fmt::format("generation '{}@{}' is not retired", dataset, generation));
    }
    return NoSuchGeneration(*this, dataset, generation);
  }
  const std::string marker = MarkerPath(*this, dataset, generation);
  TARN_RETURN_IF_ERROR(io::RemoveFile(marker));
  TARN_RETURN_IF_ERROR(io::SyncDirectory(std::string(io::DirName(marker))));
  return RepairLatest(dataset);
}

}  // namespace tarn::index

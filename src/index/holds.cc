#include "tarn/index/holds.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/index/index_root.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

constexpr size_t kLongestFile = 64 << 10;
constexpr size_t kLongestName = 255;
constexpr std::string_view kSuffix = ".json";

Status BadHold(const std::string& path, std::string_view expected) {
  return Status(ErrorCode::kCorrupt, fmt::format("hold '{}' is damaged: expected {}", path, expected))
      .WithHint("it may hold anything, so nothing is removed: correct or remove the file");
}

std::string EscapeJob(std::string_view job) {
  std::string escaped;
  for (const char c : job) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    escaped += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return escaped;
}

std::optional<std::string> TextOf(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

// The moment `key` says; nothing when it says none.
std::optional<int64_t> MomentOf(const nlohmann::json& object, const char* key) {
  const auto text = TextOf(object, key);
  if (!text) return std::nullopt;
  const auto seconds = ParseTimestamp(*text);
  return seconds.ok() ? std::optional<int64_t>(*seconds) : std::nullopt;
}

Result<Hold> ReadHold(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path, kLongestFile));
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return BadHold(path, "a JSON object");
  Hold hold;
  const auto dataset = TextOf(object, "dataset");
  if (!dataset || !IsDatasetName(*dataset)) return BadHold(path, "a dataset's name in 'dataset'");
  hold.dataset = *dataset;
  const auto generation = object.find("generation");
  if (generation == object.end() || !generation->is_number_unsigned() ||
      generation->get<uint64_t>() - 1 >= UINT32_MAX) {
    return BadHold(path, "a generation's number in 'generation'");
  }
  hold.generation = generation->get<uint32_t>();
  const auto job = TextOf(object, "job");
  if (!job || job->empty()) return BadHold(path, "who holds in 'job'");
  hold.job = *job;
  const auto until = MomentOf(object, "until");
  if (!until) return BadHold(path, "a moment like 2026-11-30T18:00:00Z in 'until'");
  hold.until = *until;
  hold.created = MomentOf(object, "created").value_or(0);
  return hold;
}

}  // namespace

std::string Hold::ToString() const {
  return fmt::format("{}@{} is held by job '{}' until {}", dataset, generation, EscapeName(job),
                     FormatTimestamp(until));
}

std::string Holds::DefaultDirectory(std::string_view root) {
  return io::JoinPath(root, "holds");
}

Result<std::string> Holds::PathOf(std::string_view dataset, uint32_t generation, std::string_view job) const {
  if (!IsDatasetName(dataset)) return DatasetReference::Parse(dataset).status();
  if (generation == 0) return Status(ErrorCode::kInvalidArgument, "a hold names a generation by its number");
  if (job.empty()) return Status(ErrorCode::kInvalidArgument, "a hold names the job that holds");
  const std::string name = fmt::format("{}@{}--{}{}", dataset, generation, EscapeJob(job), kSuffix);
  // What is written beside it while it is renewed has 30 characters more.
  if (name.size() > kLongestName - 30) {
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("the job's name '{}' is too long for a file's name", EscapeName(job)));
  }
  return io::JoinPath(directory_, name);
}

Result<std::vector<std::string>> Holds::Files() const {
  Result<std::vector<std::string>> names = io::ListDirectory(directory_);
  if (names.code() == ErrorCode::kNotFound) return std::vector<std::string>();
  if (!names.ok()) return names;
  std::erase_if(*names, [](const std::string& name) { return name.front() == '.'; });
  for (std::string& name : *names) name = io::JoinPath(directory_, name);
  return names;
}

Result<std::vector<Hold>> Holds::List(int64_t now_seconds) const {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> paths, Files());
  std::vector<Hold> holds;
  for (const std::string& path : paths) {
    Result<Hold> hold = ReadHold(path);
    if (hold.code() == ErrorCode::kNotFound) continue;  // released since it was listed
    if (!hold.ok()) return hold.status();
    if (hold->until > now_seconds) holds.push_back(std::move(*hold));
  }
  std::sort(holds.begin(), holds.end(), [](const Hold& a, const Hold& b) {
    return std::tie(a.dataset, a.generation, a.job) < std::tie(b.dataset, b.generation, b.job);
  });
  return holds;
}

Result<std::vector<Hold>> Holds::On(std::string_view dataset, uint32_t generation,
                                    int64_t now_seconds) const {
  TARN_ASSIGN_OR_RETURN(std::vector<Hold> holds, List(now_seconds));
  std::erase_if(holds,
                [&](const Hold& hold) { return hold.dataset != dataset || hold.generation != generation; });
  return holds;
}

Status Holds::Put(Hold hold) const {
  TARN_ASSIGN_OR_RETURN(const std::string path, PathOf(hold.dataset, hold.generation, hold.job));
  if (!io::IsDirectory(directory_)) TARN_RETURN_IF_ERROR(io::MakeDirectories(directory_));
  const Result<Hold> before = ReadHold(path);
  if (before.ok() && before->created != 0) hold.created = before->created;
  const nlohmann::ordered_json object = {{"dataset", hold.dataset},
                                         {"generation", hold.generation},
                                         {"job", hold.job},
                                         {"until", FormatTimestamp(hold.until)},
                                         {"created", FormatTimestamp(hold.created)}};
  // JSON is UTF-8: a job whose name is not gets its odd bytes replaced in the text, never in the file's name.
  return io::WriteFileAtomically(
      path, object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

Status Holds::Release(std::string_view dataset, uint32_t generation, std::string_view job) const {
  TARN_ASSIGN_OR_RETURN(const std::string path, PathOf(dataset, generation, job));
  if (!io::Exists(path)) {
    return Status(ErrorCode::kNotFound, fmt::format("job '{}' does not hold {}@{}: there is no '{}'",
                                                    EscapeName(job), dataset, generation, path));
  }
  TARN_RETURN_IF_ERROR(io::RemoveFile(path));
  return io::SyncDirectory(directory_);
}

Result<std::vector<Hold>> Holds::RemoveExpired(int64_t now_seconds) const {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> paths, Files());
  std::vector<Hold> removed;
  for (const std::string& path : paths) {
    Result<Hold> hold = ReadHold(path);
    if (!hold.ok() || hold->until > now_seconds) continue;  // List() reports those that cannot be understood
    TARN_RETURN_IF_ERROR(io::RemoveFile(path));
    removed.push_back(std::move(*hold));
  }
  return removed;
}

}  // namespace tarn::index

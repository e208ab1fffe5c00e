#include "indexer/throttle_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

constexpr std::string_view kName = "throttle";
constexpr size_t kMostBytes = 4096;

}  // namespace

Status WriteThrottleFile(const std::string& staging, const ThrottleFile& file) {
  const nlohmann::ordered_json object = {{"dataset", file.dataset},
                                         {"max_rate", file.limits.bytes_per_second},
                                         {"max_iops", file.limits.requests_per_second},
                                         {"back_off", file.limits.back_off}};
  return io::WriteFileAtomically(io::JoinPath(staging, kName), object.dump() + "\n");
}

Result<ThrottleFile> ReadThrottleFile(const std::string& staging) {
  const std::string path = io::JoinPath(staging, kName);
  TARN_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path, kMostBytes));
  const auto object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto has = [&object](const char* key, auto is) {
    return object.is_object() && object.contains(key) && (object[key].*is)();
  };
  using Json = nlohmann::json;
  if (!has("dataset", &Json::is_string) || !has("max_rate", &Json::is_number_unsigned) ||
      !has("max_iops", &Json::is_number_unsigned) || !has("back_off", &Json::is_boolean)) {
    return Status(ErrorCode::kCorrupt, fmt::format("'{}' should hold the limits of a publish, and holds '{}'",
                                                   path, EscapeName(std::string_view(text).substr(0, 64))))
        .WithHint("write it with 'tarn-index throttle'");
  }
  return ThrottleFile{.dataset = object["dataset"],
                      .limits = {.bytes_per_second = object["max_rate"],
                                 .requests_per_second = object["max_iops"],
                                 .back_off = object["back_off"]}};
}

Result<Throttle::LimitSource> FollowThrottleFile(const std::string& staging, const std::string& dataset,
                                                 const ReadLimits& limits) {
  TARN_RETURN_IF_ERROR(WriteThrottleFile(staging, {dataset, limits}));
  return Throttle::LimitSource([staging]() -> std::optional<ReadLimits> {
    const Result<ThrottleFile> file = ReadThrottleFile(staging);
    return file.ok() ? std::optional(file->limits) : std::nullopt;
  });
}

Result<std::vector<RunningReader>> FindRunningReaders(const index::IndexRoot& root,
                                                      const std::optional<std::string>& dataset) {
  TARN_ASSIGN_OR_RETURN(const std::vector<index::IndexRoot::StagingWork> works, root.ListStaging());
  std::vector<RunningReader> readers;
  for (const index::IndexRoot::StagingWork& work : works) {
    if (!work.alive) continue;
    Result<ThrottleFile> file = ReadThrottleFile(work.path);
    // Others work there too; whose file is damaged keeps the limits it has.
    if (file.code() == ErrorCode::kNotFound) continue;
    if (!file.ok() && file.code() != ErrorCode::kCorrupt) return std::move(file).status();
    if (file.ok() && dataset && file->dataset != *dataset) continue;
    if (file.ok()) readers.push_back({work.path, *std::move(file)});
  }
  return readers;
}

std::string DescribeLimits(const ReadLimits& limits) {
  std::string text;
  const auto add = [&text](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  if (limits.bytes_per_second > 0) add(HumanBytes(limits.bytes_per_second) + "/s");
  if (limits.requests_per_second > 0) add(fmt::format("{} requests/s", limits.requests_per_second));
  if (limits.back_off) add("backs off");
  return text.empty() ? "none" : text;
}

}  // namespace tarn::indexer

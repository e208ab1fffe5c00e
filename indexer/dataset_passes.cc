#include "indexer/dataset_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "indexer/throttle_file.h"
#include "tarn/base/bytes.h"

namespace tarn::indexer {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kLeastMemory = size_t{1} << 20;  // of a job

// A device, or a file server, is asked in requests of this size: each costs it a fixed time.
constexpr size_t kMostReadBytes = size_t{4} << 20;
constexpr size_t kLeastReadBytes = size_t{512} << 10;

}  // namespace

Status CheckDatasetName(const std::string& name) {
  if (index::IsDatasetName(name)) return Status::Ok();
  return Status(ErrorCode::kInvalidArgument, "'" + EscapeName(name) + "' cannot name a dataset")
      .WithHint(
          "--name takes letters, digits, '.', '_' and '-', the first a letter or a digit; generations "
          "are numbered by Tarn");
}

Result<Scan> ScanPlaces(const io::Source& source, const Places& places, const Selection& selection,
                        Progress* progress) {
  progress->SetPhase("scanning");
  TARN_ASSIGN_OR_RETURN(Scan scan, ScanDataset(source, places.source_path, selection));
  for (const LeftOut& left_out : scan.left_out) {
    progress->Say(fmt::format("left out: {}: {}", EscapeName(left_out.path), left_out.reason.message()));
  }
  if (!scan.files.empty() || !scan.left_out.empty()) return scan;
  const bool selected = !selection.include.empty() || !selection.exclude.empty();
  return Status(ErrorCode::kNotFound, fmt::format("dataset directory '{}' holds no archives and no files{}",
                                                  places.directory, selected ? " that are selected" : ""))
      .WithHint(selected ? "check --include and --exclude: patterns with '/' are held against the whole path"
                         : "check the path, and that its volume is mounted");
}

size_t ReadBytes(const PublishOptions& options, unsigned jobs) {
  if (options.read_bytes != 0) return options.read_bytes;
  size_t bytes = kMostReadBytes;
  while (bytes > kLeastReadBytes && (options.depth + 1) * bytes * jobs > options.memory_bytes / 4) bytes /= 2;
  return bytes;
}

Result<PipelineResult> ReadUnknownFiles(const PublishOptions& options, FilePassContext context,
                                        const std::string& scratch, std::vector<ScannedFile> files) {
  context.progress->SetPhase("reading");
  uint64_t bytes = 0;
  for (const ScannedFile& scanned : files) bytes += scanned.stat.identity.size;
  context.progress->SetTotals(files.size(), bytes);
  const auto jobs = static_cast<unsigned>(std::clamp<size_t>(files.size(), 1, std::max(options.jobs, 1U)));
  context.options = {.read_bytes = ReadBytes(options, jobs),
                     .depth = options.depth,
                     .memory_bytes = std::max(options.memory_bytes / jobs, kLeastMemory),
                     .settle_ns = options.settle_seconds * kSecond};
  Throttle throttle(options.limits);
  TARN_ASSIGN_OR_RETURN(Throttle::LimitSource limits,
                        FollowThrottleFile(scratch, options.name, options.limits));
  throttle.Follow(std::move(limits));
  context.throttle = &throttle;
  context.buffers = std::make_shared<io::BufferPool>();
  const PipelineOptions pipeline{.jobs = jobs,
                                 .scratch = scratch,
                                 .settle_ns = options.settle_seconds * kSecond,
                                 .settle_timeout_ns = options.settle_timeout_seconds * kSecond};
  return ReadFiles(context, pipeline, std::move(files));
}

}  // namespace tarn::indexer

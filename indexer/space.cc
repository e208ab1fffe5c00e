#include "indexer/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "indexer/classify.h"
#include "tarn/base/bytes.h"
#include "tarn/index/generation_writer.h"
#include "tarn/index/usage.h"
#include "tarn/io/filesystem.h"

namespace tarn::indexer {
namespace {

constexpr uint64_t kBundleBytes = 1400;  // of one without members
constexpr uint64_t kPackedBytes = 100;   // the same in a pack
constexpr uint64_t kMemberBytes = 40;
constexpr uint64_t kChunkBytes = uint64_t{128} << 10;
constexpr uint64_t kChecksumBytes = 8;
constexpr uint64_t kUsualMemberBytes = uint64_t{64} << 10;  // of the archive, for each member
constexpr uint64_t kRowBytes = 100;                         // of a file, in a generation, beside its path
constexpr uint64_t kGenerationBytes = 4096;                 // of one without files

// Rows of one archive, without what a file of their own costs.
uint64_t RowBytes(uint64_t archive_bytes, uint64_t members) {
  return (archive_bytes + kChunkBytes - 1) / kChunkBytes * kChecksumBytes + members * kMemberBytes;
}

// Bytes of an archive for each of its members.
uint64_t BytesAMember(const index::GenerationFacts* newest) {
  if (newest == nullptr || newest->members == 0) return kUsualMemberBytes;
  return std::max<uint64_t>(newest->bytes / newest->members, 1);
}

std::string DescribeNeed(const SpaceNeed& need) {
  const uint64_t index_bytes = need.bundle_bytes + need.generation_bytes;
  std::string text;
  if (index_bytes > 0 || need.files_to_keep == 0) {
    text = fmt::format("nothing was read yet; the index of {} in {} files needs about {}",
                       HumanBytes(need.bytes_to_read), need.files, HumanBytes(index_bytes));
  }
  if (need.files_to_keep > 0) {
    text += fmt::format("{}copies of {} files that are kept need {} (--no-keep makes none)",
                        text.empty() ? "" : ", and ", need.files_to_keep, HumanBytes(need.bytes_to_keep));
  }
  return text;
}

}  // namespace

SpaceNeed EstimateSpace(const SpaceInput& input) {
  const index::GenerationWriteOptions writing;
  const size_t files = input.unread->size() + input.known->size();
  const bool packs = files > writing.pack_above_bundles;
  const uint64_t bytes_a_member = BytesAMember(input.newest);
  SpaceNeed need;
  const auto add_to_generation = [&](const std::string& path, uint64_t rows) {
    need.generation_bytes += path.size() + kRowBytes;
    if (packs && rows + kBundleBytes < writing.pack_below_bytes) need.generation_bytes += rows + kPackedBytes;
  };
  for (const ScannedFile& file : *input.unread) {
    const uint64_t bytes = file.stat.identity.size;
    const bool loose = IsLooseByName(file.path, *input.selection);
    const uint64_t rows = RowBytes(bytes, loose ? 0 : bytes / bytes_a_member);
    ++need.files;
    need.bytes_to_read += bytes;
    need.bundle_bytes += rows + kBundleBytes;
    add_to_generation(file.path, rows);
  }
  for (const dataset::PublishedFile& file : *input.known) {
    add_to_generation(file.path, RowBytes(file.id.size, file.facts.members));
  }
  const bool changes =
      need.files > 0 || input.newest == nullptr ||
      input.newest->archives + input.newest->loose_files + input.newest->quarantined != files;
  need.generation_bytes = changes ? need.generation_bytes + kGenerationBytes : 0;
  return need;
}

Status CheckFree(const std::string& shown, const std::string& directory, const SpaceNeed& need) {
  TARN_ASSIGN_OR_RETURN(const uint64_t free_bytes, io::FreeBytes(directory));
  if (need.total() <= free_bytes) return Status::Ok();
  return Status(ErrorCode::kNoSpace, fmt::format("{}, and index root '{}' has {} free", DescribeNeed(need),
                                                 shown, HumanBytes(free_bytes)))
      .WithHint(
          fmt::format("'tarn-index du --index {0}' says who takes how much, 'tarn-index gc --index {0}' "
                      "takes away what nobody needs; or put the index root on a larger volume; then "
                      "run the same command again",
                      shown));
}

Status CheckSpace(const index::IndexRoot& root, const std::string& dataset, const SpaceNeed& need) {
  if (need.total() == 0) return Status::Ok();
  if (Status quota = index::CheckQuota(root, dataset, need.total()); !quota.ok()) {
    return quota.code() == ErrorCode::kNoSpace ? std::move(quota).WithContext(DescribeNeed(need)) : quota;
  }
  return CheckFree(root.path(), root.path(), need);
}

}  // namespace tarn::indexer

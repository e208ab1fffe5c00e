// Plan: the work of a publish, cut into shares for many machines, and what the worker of a share found.
//
// Both are frozen when they are written: a plan names every file that has to be read and whose share it is
// in; a result says, of one share, what each of its files is. Share 0 is the planner's own: what was known
// without reading. Files are bytes in the forms of the index (tarn/base/bytes.h) with a digest behind them;
// the digest of a plan is its id, so the same files looked at again give the same plan.
//
//     "tarn-plan" or "tarn-share", version, fields, XXH3-128 of all that
#ifndef TARN_INDEXER_PLAN_H_
#define TARN_INDEXER_PLAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "indexer/glob.h"
#include "indexer/left_out.h"
#include "indexer/publish.h"
#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/dataset/generation_builder.h"
#include "tarn/io/random_access_file.h"
#include "tarn/tar/finding.h"

namespace tarn::indexer {

// A file counts as its size and this, so that many small files are spread like the bytes of large ones:
// opening, looking and writing a bundle take about as long as reading so much.
inline constexpr uint64_t kBytesPerFile = uint64_t{1} << 20;
inline constexpr uint32_t kMaxShares = 100'000;

struct PlannedFile {
  std::string path;  // relative to the dataset's directory
  io::FileIdentity identity;
  uint32_t share = 0;  // from 1

  bool operator==(const PlannedFile&) const = default;
};

struct Plan {
  std::string dataset;      // its name
  std::string root_uuid;    // of the index root
  std::string base;         // the source root where the plan was made, resolved
  std::string source_path;  // of the dataset's directory below it
  Selection selection;
  IdentityMode identity = IdentityMode::kHint;
  uint32_t shares = 0;
  Digest known;                    // of the encoded result of share 0
  std::vector<PlannedFile> files;  // to be read, in order of path

  std::vector<PlannedFile> Share(uint32_t number) const;
  uint64_t Bytes() const;  // of all files
};

// Gives every file a share, from 1 to `shares`: the largest first, each to the share that has least so far.
// The result depends on paths and sizes alone.
void Balance(uint32_t shares, std::vector<PlannedFile>* files);

std::string EncodePlan(const Plan& plan);
// kCorrupt, naming `where`, for bytes that are no plan; kUnsupported for one of a newer version.
Result<Plan> DecodePlan(std::string_view bytes, const std::string& where);
// 16 hex characters.
std::string PlanId(std::string_view encoded_plan);

// A file of a share that was identified: its bundle is in place.
struct ShareFile {
  std::string path;
  io::FileIdentity identity;  // as it was looked at
  bool trusted = true;        // a later change cannot have gone unnoticed (file_pass.h)
  ArchiveId id;
  bool is_archive = true;
  std::vector<tar::Finding> findings;  // of a loose file; of an archive its errors
};

// What was learned of a file, whose identity was `identity` while it was looked at.
ShareFile MakeShareFile(const io::FileIdentity& identity, const dataset::PublishedFile& file,
                        std::vector<tar::Finding> findings);

struct ShareResult {
  std::string plan;  // the id of the plan
  uint32_t share = 0;
  std::vector<ShareFile> files;   // in order of path
  std::vector<LeftOut> left_out;  // in order of path
  uint64_t bytes_read = 0;
  uint64_t files_read = 0;
  uint64_t files_unchanged = 0;
  uint64_t bundles_reused = 0;
  double seconds = 0;
};

std::string EncodeShare(const ShareResult& result);
Result<ShareResult> DecodeShare(std::string_view bytes, const std::string& where);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_PLAN_H_

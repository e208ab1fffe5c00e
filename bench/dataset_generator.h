// Generated datasets: what every figure of docs/performance.md is measured on.
//
// The same options give the same bytes on every machine, and nothing about a member depends on what was
// written before it: member m of archive a is a function of (seed, a, m). Contents do not compress and do not
// repeat, so no storage can cheat, and a read of a wrong place never looks right.
#ifndef TARN_BENCH_DATASET_GENERATOR_H_
#define TARN_BENCH_DATASET_GENERATOR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "bench/size_distribution.h"
#include "bench/tar_writer.h"
#include "tarn/base/result.h"

namespace tarn::bench {

enum class NameStyle : uint8_t {
  kImagenet,  // n01440764/n01440764_10026.JPEG: directories of 1,300, as ImageNet's training set has them
  kRandom20,  // 20 random letters and digits: names that no prefix compresses
  kNumbered,  // 000000042.jpg, as webdataset writes them
  kDeep,      // longer than the 100 bytes of a plain tar header
};

Result<NameStyle> ParseNameStyle(std::string_view text);
std::string_view NameStyleName(NameStyle style);

struct DatasetOptions {
  std::string directory;  // where the archives go; made if it is not there
  std::string loose;      // where the same members go as loose files, a directory per archive; empty: nowhere
  uint64_t archives = 1;
  uint64_t members = 1000;  // files per archive; directories come on top
  SizeDistribution sizes;
  TarFormat format = TarFormat::kGnu;
  NameStyle names = NameStyle::kImagenet;
  uint64_t seed = 1;
};

struct DatasetTotals {
  uint64_t archives = 0;
  uint64_t members = 0;        // files
  uint64_t directories = 0;    // members that are directories
  uint64_t archive_bytes = 0;  // of the archives
  uint64_t member_bytes = 0;   // of the members' data
};

// Writes and syncs the dataset: dirty pages cannot be dropped, so a cold run needs it on the disk. A file
// that is there already is kAlreadyExists; nothing is overwritten. `progress` (may be empty) is told the
// totals so far after each archive.
Result<DatasetTotals> GenerateDataset(const DatasetOptions& options,
                                      const std::function<void(const DatasetTotals&)>& progress);

// "train-00042.tar", or with five digits more where there are that many archives.
std::string GeneratedArchiveName(const DatasetOptions& options, uint64_t archive);
// The bytes of one member, `size` of them, in place of what `out` held.
void GenerateContents(uint64_t seed, uint64_t archive, uint64_t member, uint64_t size, std::string* out);

}  // namespace tarn::bench

#endif  // TARN_BENCH_DATASET_GENERATOR_H_

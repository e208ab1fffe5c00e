#include "bench/fio_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tarn/base/bytes.h"
#include "tarn/base/version.h"

namespace tarn::bench {
namespace {

constexpr uint64_t kPage = 4096;  // what O_DIRECT asks for everywhere
constexpr size_t kShares = 10;

uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// ':' separates names, a backslash escapes it; a line end cannot be said.
Result<std::string> FioName(const std::string& path) {
  std::string name;
  for (const char letter : path) {
    if (letter == '\n')
      return Status(ErrorCode::kUnsupported, "fio cannot read a file called '" + EscapeName(path) + "'");
    if (letter == ':') name += '\\';
    name += letter;
  }
  return name;
}

// Indices of at most `most` of `count` things, evenly spread.
std::vector<size_t> EvenSample(size_t count, size_t most) {
  std::vector<size_t> sample;
  const size_t taken = std::min(count, most);
  for (size_t i = 0; i < taken; ++i) sample.push_back(i * count / taken);
  return sample;
}

}  // namespace

std::vector<SizeShare> SizeShares(const MemberList& list) {
  std::vector<uint64_t> sizes;
  sizes.reserve(list.targets().size());
  for (const MemberList::Target& target : list.targets()) sizes.push_back(target.size);
  std::sort(sizes.begin(), sizes.end());
  std::map<uint64_t, unsigned> shares;
  for (size_t part = 0; part < kShares; ++part) {
    size_t begin = part * sizes.size() / kShares;
    const size_t end = std::max((part + 1) * sizes.size() / kShares, begin + 1);
    begin = std::min(begin, sizes.size() - 1);
    long double sum = 0;
    for (size_t i = begin; i < std::min(end, sizes.size()); ++i) sum += static_cast<long double>(sizes[i]);
    const auto mean =
        static_cast<uint64_t>(sum / static_cast<long double>(std::min(end, sizes.size()) - begin));
    shares[RoundUp(std::max<uint64_t>(mean, 1))] += 100 / kShares;
  }
  std::vector<SizeShare> result;
  for (const auto& [bytes, percent] : shares) result.push_back({bytes, percent});
  return result;
}

Result<std::string> MakeFioJob(const MemberList& list, const FioOptions& options) {
  std::string split;
  for (const SizeShare& share : SizeShares(list))
    split += fmt::format("{}{}k/{}", split.empty() ? "" : ":", share.bytes / 1024, share.percent);
  std::string files;
  const auto sample = EvenSample(list.archives().size(), options.max_files);
  for (const size_t archive : sample) {
    TARN_ASSIGN_OR_RETURN(const std::string name, FioName(list.archives()[archive]));
    files += (files.empty() ? "" : ":") + name;
  }
  std::string job = fmt::format(
      "; Random reads of {}, as tarn-bench {} wrote them: {} archives ({} of them named here), {} files,\n"
      "; {} bytes. Sizes are those of the files, rounded up to 4 KiB.\n"
      "; fio --readonly --output-format=json+ --output=RESULT.json THIS\n"
      "[global]\n"
      "ioengine={}\n"
      "rw=randread\n"
      "direct={}\n"
      "invalidate=1\n"
      "bssplit={}\n"
      "blockalign=4k\n"
      "norandommap=1\n"
      "randrepeat=1\n"
      "randseed={}\n"
      "random_distribution=random\n"
      "filename={}\n"
      "file_service_type=random:1\n"
      "time_based=1\n"
      "ramp_time={}\n"
      "runtime={}\n"
      "thread=1\n"
      "group_reporting=1\n"
      "percentile_list=50:90:95:99:99.9\n"
      "clat_percentiles=1\n",
      list.name(), VersionString(), list.archives().size(), sample.size(), list.targets().size(),
      list.total_bytes(), options.engine, options.direct ? 1 : 0, split, options.seed, files,
      options.ramp_seconds, options.runtime_seconds);
  for (const unsigned jobs : options.jobs)
    job += fmt::format("\n[readers-{}]\nstonewall\nnumjobs={}\n", jobs, jobs);
  return job;
}

}  // namespace tarn::bench

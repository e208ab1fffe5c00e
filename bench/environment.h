// The ground a measurement stands on, as a list of facts: a figure without it is worth little.
#ifndef TARN_BENCH_ENVIRONMENT_H_
#define TARN_BENCH_ENVIRONMENT_H_

#include <string>
#include <string_view>
#include <vector>

namespace tarn::bench {

struct Fact {
  std::string section;  // "machine", "source", "mount", "dataset", ...
  std::string key;
  std::string value;
};

using Facts = std::vector<Fact>;

// Kernel, distribution, processors, limits of the container, memory, versions, time.
void DescribeMachine(Facts* facts);
// The mount that holds `path`: its line, and what decides how fast it reads: type, nconnect, rsize, version
// of NFS, read_ahead_kb of its device.
void DescribePlace(const std::string& section, const std::string& path, Facts* facts);
// The value of a fact; empty when there is none.
std::string FindFact(const Facts& facts, std::string_view section, std::string_view key);

}  // namespace tarn::bench

#endif  // TARN_BENCH_ENVIRONMENT_H_

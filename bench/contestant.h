// Contestants: the ways to the same bytes that a run compares.
//
//     raw        pread(2) of each range in its archive, descriptors open: the limit of the storage
//     files      open, fstat, read, close of each path below a directory: a mount, or loose files
//     command    somebody else's program, which is given the list and timed from start to exit
#ifndef TARN_BENCH_CONTESTANT_H_
#define TARN_BENCH_CONTESTANT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/access_plan.h"
#include "bench/member_list.h"
#include "tarn/base/result.h"

namespace tarn::bench {

enum class ContestantKind : uint8_t { kRaw, kFiles, kCommand };

struct Contestant {
  std::string name;  // "raw", "mount", or what --compare calls it
  ContestantKind kind = ContestantKind::kRaw;
  std::string where;  // directory of kFiles, command line of kCommand
};

// "NAME=DIR" or "cmd=COMMAND LINE", as --compare takes it.
Result<Contestant> ParseContestant(std::string_view text);

// Carries out steps of one plan. Each thread has its own; none allocates while it reads.
class StepReader {
 public:
  virtual ~StepReader() = default;
  // Reads one step whole. Gives 0, or the errno of what failed; EIO also when the file is not as long as the
  // plan says. `*calls` is raised by the number of read requests.
  virtual int Read(size_t step, uint64_t* calls) = 0;
};

// What the readers of one contestant and one plan share: open archives, spelled paths.
class ReaderFactory {
 public:
  virtual ~ReaderFactory() = default;
  virtual std::unique_ptr<StepReader> MakeReader() const = 0;
  // What a step reads, for messages.
  virtual std::string Describe(size_t step) const = 0;
};

// `read_bytes`: the largest request of unit stream. The arguments must outlive the factory. Not for kCommand.
Result<std::unique_ptr<ReaderFactory>> MakeReaderFactory(const Contestant& contestant, const MemberList& list,
                                                         const AccessPlan& plan, uint64_t read_bytes);

// The bytes of one step: for comparing contestants.
Result<std::string> ReadStep(const Contestant& contestant, const MemberList& list, const AccessPlan& plan,
                             size_t step);

// Raises the limit on open files as far as the system lets us: raw keeps every archive open.
void RaiseDescriptorLimit();

}  // namespace tarn::bench

#endif  // TARN_BENCH_CONTESTANT_H_

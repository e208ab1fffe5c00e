// SourceGuard: is asked before a thread goes into a source, and told when it is back.
//
// A source is somebody else's: a call into it may take milliseconds or hang for hours, and no call can be
// taken back. Who answers many from few threads (the mount) bounds through this how many of them one source
// can hold; who has nothing else to do needs none.
#ifndef TARN_DATASET_SOURCE_GUARD_H_
#define TARN_DATASET_SOURCE_GUARD_H_

#include <cstddef>
#include <string>

namespace tarn::dataset {

class SourceGuard {
 public:
  virtual ~SourceGuard() = default;

  // The calling thread is about to call source number `source` (in the order of
  // ArchiveBytesOptions::sources), or to wait for a thread that does, on behalf of `path`, a file of a
  // dataset; the string lives as long as the ArchiveBytes. False: it must not. What was asked for is then
  // given up with kBusy, nothing of that is remembered, and the same can be asked again later. Calls do not
  // nest.
  virtual bool Enter(size_t source, const std::string& path) = 0;
  // Whether calls into the source come back these days: when they do not, what was known before is used where
  // that is good enough.
  virtual bool Answers(size_t source) const = 0;
  // It is back; once for each Enter that gave true, on the same thread.
  virtual void Leave(size_t source) = 0;
};

}  // namespace tarn::dataset

#endif  // TARN_DATASET_SOURCE_GUARD_H_

// ExternalSorter: sorts more records than fit in memory. Records are byte strings, ordered as unsigned bytes.
//
// Records gather in one buffer; when it reaches the budget they are sorted and written as a run below the
// scratch directory; reading merges the runs. An archive of ten million members is indexed this way within a
// fixed budget, because its key (the digest) is known only after its last byte, and dentries sort differently
// from members.
#ifndef TARN_IO_SORTER_H_
#define TARN_IO_SORTER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tarn/base/result.h"

namespace tarn::io {

class ExternalSorter {
 public:
  // `scratch_directory` must exist before the first spill; run files in it are named with `prefix` and are
  // removed by the destructor. `memory_bytes`: what the buffer may hold before it is written out; at least 64
  // KiB.
  ExternalSorter(std::string scratch_directory, std::string prefix, size_t memory_bytes);
  ~ExternalSorter();

  Status Add(std::string_view record);

  // Ends adding; records can then be read in order.
  Status Sort();
  // The next record, or false after the last. The view is valid until the next call. Equal records all come.
  Result<bool> Next(std::string_view* record);

  uint64_t records() const;
  unsigned runs() const;  // files written; 0 when all fitted in memory

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tarn::io

#endif  // TARN_IO_SORTER_H_

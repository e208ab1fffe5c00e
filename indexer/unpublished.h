// Archives that lie below a dataset's directory and that no live generation holds.
#ifndef TARN_INDEXER_UNPUBLISHED_H_
#define TARN_INDEXER_UNPUBLISHED_H_

#include <cstdint>
#include <functional>
#include <string>

#include "indexer/glob.h"
#include "tarn/base/result.h"
#include "tarn/dataset/archive_states.h"
#include "tarn/io/random_access_file.h"

namespace tarn::indexer {

struct UnpublishedScan {
  dataset::UnpublishedArchives archives;
  int64_t youngest_ns = 0;  // the last write to any of them, nanoseconds since 1970-01-01 UTC
};

// Lists `directory`, a dataset's in `source`, and looks at the files that are not held; `before_request` is
// called before each request to the source, from several threads, and may wait (rate limits). A path that is
// held costs no request but its directory's: whether it is what was published is the patrol's to say.
// Archives are those that `selection` selects and names. Fails when the directory itself cannot be listed, or
// when a signal asked to stop.
Result<UnpublishedScan> FindUnpublished(const io::Source& source, const std::string& directory,
                                        const Selection& selection,
                                        const std::function<bool(const std::string& path)>& held,
                                        const std::function<void()>& before_request);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_UNPUBLISHED_H_

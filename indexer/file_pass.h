// The pass over one file: its bytes once, front to back, into digest, chunk checksums and, for an archive,
// the bundle of its members.
#ifndef TARN_INDEXER_FILE_PASS_H_
#define TARN_INDEXER_FILE_PASS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "indexer/bundle_batch.h"
#include "indexer/glob.h"
#include "indexer/journal.h"
#include "indexer/progress.h"
#include "indexer/scanner.h"
#include "indexer/server_clock.h"
#include "indexer/throttle.h"
#include "tarn/dataset/generation_builder.h"
#include "tarn/index/index_root.h"
#include "tarn/io/buffer_pool.h"
#include "tarn/tar/finding.h"

namespace tarn::indexer {

// Whether a file that was opened at `opened_at` (ns, the server's clock) cannot have been changed afterwards
// without its ctime telling. Time stamps are coarse: a tick of the kernel, or a second or two where they are
// whole seconds. A hint that cannot be trusted is stored with ctime 0, which no file has, so that the next
// publish reads the file again.
bool IsTrusted(const io::FileIdentity& identity, int64_t opened_at);

struct FilePassOptions {
  size_t read_bytes = size_t{1} << 20;      // of one request
  unsigned depth = 4;                       // requests in flight for one file
  size_t memory_bytes = size_t{128} << 20;  // for the rows of one archive before they go to staging
  int64_t settle_ns = 0;                    // younger than this counts as being written
};

// What a pass needs and does not change; outlives it.
struct FilePassContext {
  const io::Source* source = nullptr;
  std::string dataset;  // path of the dataset's directory in the source
  const Selection* selection = nullptr;
  index::IndexRoot* root = nullptr;
  Journal* journal = nullptr;    // gets a line for each file whose hint can be trusted
  BundleBatch* batch = nullptr;  // takes the bundles
  Throttle* throttle = nullptr;  // null: as fast as it goes
  const ServerClock* clock = nullptr;
  Progress* progress = nullptr;
  std::shared_ptr<io::BufferPool> buffers = {};  // blocks of archives, shared by all passes
  FilePassOptions options;
};

struct FilePassResult {
  enum class Outcome : uint8_t {
    kRead,       // `file` is filled in, its bundle is in place or in the batch
    kUnsettled,  // it changed meanwhile, or is cut and young: to be read again later; `reason` says what was
                 // seen
    kLeftOut,    // it cannot be read; `reason` says why
  };
  Outcome outcome = Outcome::kRead;
  Status reason;
  io::FileIdentity identity;           // as it was looked at; `file.hint` is what can be trusted of it
  dataset::PublishedFile file;         // kind: archive or loose file; quarantine is the publisher's decision
  std::vector<tar::Finding> findings;  // in order, as many as are kept
  bool bundle_reused = false;          // the root had it
};

// Reads `scanned`. `scratch` is a directory of this thread's own in staging. Fails only when the index root
// does, or when a signal asked to stop: whatever is wrong with the file is a result.
Result<FilePassResult> ReadFileOnce(const FilePassContext& context, const ScannedFile& scanned,
                                    const std::string& scratch);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_FILE_PASS_H_

// BundleBuilder: the index of one archive, from its members in archive order to one immutable SST file.
//
// The key of every row starts with the archive's digest, which is known only after the last byte, and
// dentries sort differently from members. So rows gather in spools and sorted runs below a scratch directory,
// in memory while they fit, and are merged into the bundle at the end.
#ifndef TARN_INDEX_BUNDLE_BUILDER_H_
#define TARN_INDEX_BUNDLE_BUILDER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/records.h"
#include "tarn/tar/finding.h"
#include "tarn/tar/member.h"

namespace tarn::index {

struct BundleOptions {
  std::string scratch_directory;            // must exist; what is put there is removed by the destructor
  size_t memory_bytes = size_t{128} << 20;  // for spools and sorters; beyond it rows go to disk
  bool sync = true;                         // the finished bundle; false: the caller does
};

class BundleBuilder {
 public:
  // Findings of the tree are added to `findings`, those of the walk are expected there too: Finish stores
  // them all. `findings` must outlive the builder.
  BundleBuilder(BundleOptions options, tar::FindingList* findings);
  ~BundleBuilder();

  // Members in rising order of ordinal. kUnsupported beyond the 2^30 - 2 members that a node id can number.
  Status AddMember(const tar::Member& member);

  // Writes the bundle to `file` (which must not exist), synced if that was asked for, opened again and
  // checked. `end_offset`: as HeaderWalker::end_offset. Call once. Nothing is left behind when it fails.
  Result<ArchiveFacts> Finish(const ArchiveId& id, std::span<const uint64_t> chunks, uint64_t end_offset,
                              const std::string& file);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The bundle of a loose file: facts and chunk checksums. `sync`: as in BundleOptions.
Result<ArchiveFacts> WriteLooseBundle(const ArchiveId& id, std::span<const uint64_t> chunks,
                                      const std::string& file, bool sync = true);

// Facts of a bundle on disk; kCorrupt when it is damaged or is not the bundle of `id`.
Result<ArchiveFacts> ReadBundleFacts(const std::string& file, const ArchiveId& id);

// The same, with every byte of it checked.
Result<ArchiveFacts> VerifyBundle(const std::string& file, const ArchiveId& id);

}  // namespace tarn::index

#endif  // TARN_INDEX_BUNDLE_BUILDER_H_

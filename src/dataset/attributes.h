// From records to attributes: what a reader sees of a member, a loose file, a directory (DESIGN section 7,
// --access). Pure functions of the index, the archive file's access and the options.
#ifndef TARN_DATASET_ATTRIBUTES_H_
#define TARN_DATASET_ATTRIBUTES_H_

#include <cstdint>

#include "tarn/dataset/file_tree.h"
#include "tarn/index/records.h"

namespace tarn::dataset {

// S_IFREG and its kin for what a member resolves to.
uint32_t FileTypeBits(tar::MemberType type);

// Attributes of a member that is no directory.
Attributes MemberAttributes(const FileTreeOptions& options, const io::FileAccess& archive, NodeId node,
                            const index::MemberRecord& member);

// Attributes of a directory of an archive. `member`: the last one that names it; null when it is made up.
// `archive_mtime_ns`: what a made-up directory shows.
Attributes ArchiveDirectoryAttributes(const FileTreeOptions& options, const io::FileAccess& archive,
                                      int64_t archive_mtime_ns, NodeId node,
                                      const index::DirectoryRecord& directory,
                                      const index::MemberRecord* member);

// Attributes of a directory between archives: nobody's in particular, readable for all.
Attributes TreeDirectoryAttributes(const FileTreeOptions& options, int64_t mtime, NodeId node,
                                   const index::TreeDirectoryRecord& directory);

// Attributes of a file that is shown as it is: a loose file, or an archive itself.
Attributes WholeFileAttributes(const FileTreeOptions& options, const io::FileAccess& file, NodeId node,
                               const index::ManifestRow& row);

// What holds for lookups and listings without attributes: node and type alone.
Attributes TypeOnly(NodeId node, uint32_t type_bits);

}  // namespace tarn::dataset

#endif  // TARN_DATASET_ATTRIBUTES_H_

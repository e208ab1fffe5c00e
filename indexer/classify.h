// Whether a file is shown as an archive or as the file it is.
#ifndef TARN_INDEXER_CLASSIFY_H_
#define TARN_INDEXER_CLASSIFY_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "indexer/glob.h"
#include "tarn/base/result.h"
#include "tarn/io/random_access_file.h"
#include "tarn/tar/finding.h"

namespace tarn::indexer {

// Whether the name alone decides that the file at `path` is a loose file.
bool IsLooseByName(std::string_view path, const Selection& selection);

struct FileClass {
  bool is_archive = false;
  std::optional<tar::Finding> finding;  // COMPRESSED or NOT_A_TAR, when a loose file is named like an archive
};

// Decides by name and the first kFirstBlockBytes of the file, fewer where it ends.
FileClass ClassifyBlock(std::span<const std::byte> bytes, std::string_view path, const Selection& selection);

// Decides by name and first block; reads the block only if it matters. Fails when the file cannot be read.
Result<FileClass> Classify(const io::RandomAccessFile& file, std::string_view path,
                           const Selection& selection);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_CLASSIFY_H_

// Transfer: one generation as a single stream of bytes, for a site that has the same archives and another
// index root (docs/index-format.md, "Exported generations").
//
//     magic     8 bytes "TARNGEN\n"
//     block...  kind (1 byte), length of the payload (8 bytes, most significant first), payload,
//               XXH3-128 of kind, length and payload (16 bytes as they print)
//
//     kind 1    header: varint container version (1), varint index format, length-prefixed name of the writer
//     kind 2    generation facts, as the record in the index
//     kind 3    one manifest row, as the record in the index; rising by number
//     kind 4    24 bytes of an ArchiveId and the file of its bundle; rising by ArchiveId, each once
//     kind 5    end: 8 bytes, how many blocks came before; nothing follows
//
// A stream is written and read front to back, so that it can go through a pipe. What was cut short has no end
// block and is refused; nothing is published of a stream that is not whole.
#ifndef TARN_DATASET_TRANSFER_H_
#define TARN_DATASET_TRANSFER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/archive_id.h"
#include "tarn/base/result.h"
#include "tarn/index/index_root.h"

namespace tarn::dataset {

// Takes the next bytes.
using ByteSink = std::function<Status(std::string_view bytes)>;
// Fills `out` as far as it can; 0: the end.
using ByteSource = std::function<Result<size_t>(std::span<char> out)>;

struct ExportReport {
  std::string dataset;
  uint32_t generation = 0;
  Digest digest;
  uint64_t files = 0;  // archives and loose files
  uint64_t bundles = 0;
  uint64_t bytes = 0;  // of the stream
};

// Writes a generation, retired or not. kNotFound when a bundle is missing, kCorrupt when one is damaged.
Result<ExportReport> ExportGeneration(const index::IndexRoot& root, const std::string& dataset,
                                      uint32_t generation, const ByteSink& sink);

struct ImportOptions {
  std::optional<std::string> name;         // nothing: the name it was exported under
  std::optional<std::string> source_path;  // of the dataset's directory below a source; nothing: as exported
  std::string writer;                      // "tarn-index 0.1.0"
  int64_t created = 0;                     // seconds since 1970-01-01 UTC
};

struct ImportReport {
  std::string dataset;
  uint32_t generation = 0;
  bool published = false;  // false: the newest generation is this one already
  Digest digest;
  uint64_t files = 0;
  uint64_t bundles_added = 0;
  uint64_t bundles_known = 0;         // the root had them
  uint64_t numbers_kept = 0;          // files that have the archive number they were exported with
  uint64_t bytes = 0;                 // of the stream
  std::vector<std::string> warnings;  // one line each: generations here that are damaged
};

// Reads a stream, puts its bundles in place and publishes it as the dataset's next generation, with the same
// dataset digest.
//
// Archive numbers: a file that the dataset's newest generation has (same bytes, seen the same way) keeps the
// number it has here, because kernels know pages by it; another keeps the number it was exported with when
// that was never used here; the rest take the next free ones. A dataset that is new here keeps all.
//
// kCorrupt: the stream is no export, is damaged or cut short; kUnsupported: a newer container or index
// format; kNoSpace: also when the dataset's quota would be passed. Bundles that were put in place before a
// failure stay and are used by the next attempt; gc takes them otherwise.
Result<ImportReport> ImportGeneration(index::IndexRoot* root, const ImportOptions& options,
                                      const ByteSource& source);

}  // namespace tarn::dataset

#endif  // TARN_DATASET_TRANSFER_H_

// Whether the files of a generation are at the sources as they were published: for `tarn verify`.
#ifndef TARN_CLI_PUBLISHED_FILES_H_
#define TARN_CLI_PUBLISHED_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/random_access_file.h"

namespace tarn::cli {

enum class FileState : uint8_t {
  kAsPublished,  // size and mtime; after a full check, the bytes
  kTouched,      // the same bytes under another mtime: a mount checks each chunk before it serves it
  kKept,         // at no source, but the index root keeps a copy with the right bytes: that is served
  kChanged,      // another size, or other bytes
  kMissing,      // at no source
  kUnreadable,   // there, and cannot be read
};
// "as published", "touched", "kept", ...
std::string_view FileStateName(FileState state);

struct FileVerdict {
  std::string path;  // in the dataset
  ArchiveId id;      // as published
  FileState state = FileState::kAsPublished;
  std::string found;  // what is there instead, or why it cannot be read; empty where all is well
};

struct VerifyOptions {
  bool full = false;                 // read every byte, also of files whose size and mtime are as published
  unsigned jobs = 1;                 // files looked at at the same time
  std::shared_ptr<io::Source> kept;  // the index root, for the copies it keeps; null: none
};

// Looks at every archive and loose file of the generation, quarantined ones left out. `visit` gets a verdict
// for each, in order of paths' numbers; one call at a time. Fails only when the index cannot be read.
Status VerifyPublishedFiles(const index::GenerationReader& generation,
                            const std::vector<std::shared_ptr<io::Source>>& sources,
                            const VerifyOptions& options,
                            const std::function<void(const FileVerdict&)>& visit);

}  // namespace tarn::cli

#endif  // TARN_CLI_PUBLISHED_FILES_H_

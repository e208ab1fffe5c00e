// KnownFiles: what is known of a dataset's files without reading them: from the newest generation, and from
// the journals of publishes that did not get that far.
#ifndef TARN_INDEXER_KNOWN_FILES_H_
#define TARN_INDEXER_KNOWN_FILES_H_

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "indexer/glob.h"
#include "indexer/journal.h"
#include "indexer/scanner.h"
#include "tarn/base/result.h"
#include "tarn/dataset/generation_builder.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"

namespace tarn::indexer {

class KnownFiles {
 public:
  // Where the knowledge comes from, and the dataset it is about. All must outlive this.
  struct Context {
    const index::IndexRoot* root = nullptr;
    const index::GenerationReader* newest = nullptr;  // may be null
    // Rows of a newest generation that is damaged, in the place of `newest`: what they name is known when its
    // bundle is whole, to the last byte. May be null.
    const std::vector<index::ManifestRow>* salvaged = nullptr;
    const Journal* journal = nullptr;
    const io::Source* source = nullptr;
    std::string dataset;  // path of the dataset's directory in the source
    const Selection* selection = nullptr;
  };
  static Result<KnownFiles> Load(Context context);

  struct Match {
    dataset::PublishedFile file;
    std::vector<tar::Finding> findings;  // of a loose file; those of an archive are in its bundle
    bool from_journal = false;           // the newest generation does not tell
  };
  // The file that `scanned` is, if its hints say so and its bundle is there; nothing: it has to be read.
  // Hints prove nothing: with --identity=full nobody asks here. Costs no look at the file, unless a loose
  // file is named like an archive: then its first block is looked at again.
  Result<std::optional<Match>> Find(const ScannedFile& scanned) const;

 private:
  explicit KnownFiles(Context context) : context_(std::move(context)) {}
  Result<std::optional<Match>> FindInGeneration(const ScannedFile& scanned) const;
  std::optional<Match> FindInJournal(const ScannedFile& scanned) const;
  std::optional<Match> Accept(const ScannedFile& scanned, const ArchiveId& id, bool was_archive,
                              index::ArchiveFacts facts) const;

  Context context_;
  std::unordered_map<std::string, index::ManifestRow> rows_;  // of the newest generation, by path
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_KNOWN_FILES_H_

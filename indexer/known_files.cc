#include "indexer/known_files.h"

#include <utility>

#include "indexer/classify.h"
#include "tarn/index/bundle_builder.h"

namespace tarn::indexer {
namespace {

dataset::PublishedFile FileOf(const ScannedFile& scanned, const ArchiveId& id, index::ManifestKind kind) {
  dataset::PublishedFile file;
  file.path = scanned.path;
  file.kind = kind;
  file.id = id;
  file.hint = scanned.stat.identity;
  file.access = scanned.stat.access;
  return file;
}

}  // namespace

Result<KnownFiles> KnownFiles::Load(Context context) {
  KnownFiles known(std::move(context));
  if (known.context_.salvaged != nullptr) {
    for (const index::ManifestRow& row : *known.context_.salvaged) known.rows_.emplace(row.path, row);
  } else if (known.context_.newest != nullptr) {
    TARN_RETURN_IF_ERROR(known.context_.newest->ForEachManifestRow([&known](const index::ManifestRow& row) {
      known.rows_.emplace(row.path, row);
      return Status::Ok();
    }));
  }
  return known;
}

Result<std::optional<KnownFiles::Match>> KnownFiles::Find(const ScannedFile& scanned) const {
  TARN_ASSIGN_OR_RETURN(std::optional<Match> match, FindInGeneration(scanned));
  return match ? std::move(match) : FindInJournal(scanned);
}

Result<std::optional<KnownFiles::Match>> KnownFiles::FindInGeneration(const ScannedFile& scanned) const {
  const auto row = rows_.find(scanned.path);
  if (row == rows_.end() || !(row->second.hint == scanned.stat.identity) ||
      !context_.root->HasBundle(row->second.id)) {
    return std::optional<Match>();
  }
  index::ArchiveFacts facts;
  if (context_.salvaged != nullptr) {
    Result<index::ArchiveFacts> whole =
        index::VerifyBundle(context_.root->BundlePath(row->second.id), row->second.id);
    if (!whole.ok()) return std::optional<Match>();  // it is made again from the file
    facts = *std::move(whole);
  } else {
    TARN_ASSIGN_OR_RETURN(const bool some, context_.newest->GetArchiveFacts(row->second.id, &facts));
    if (!some) return std::optional<Match>();
  }
  return Accept(scanned, row->second.id, row->second.kind != index::ManifestKind::kLooseFile,
                std::move(facts));
}

std::optional<KnownFiles::Match> KnownFiles::FindInJournal(const ScannedFile& scanned) const {
  const JournalLine* const line = context_.journal->Find(scanned.path);
  if (line == nullptr || !(line->hint == scanned.stat.identity) || !context_.root->HasBundle(line->id)) {
    return std::nullopt;
  }
  Result<index::ArchiveFacts> facts = index::ReadBundleFacts(context_.root->BundlePath(line->id), line->id);
  if (!facts.ok()) return std::nullopt;  // a damaged bundle is made again from the file
  const bool was_archive = facts->is_tar && context_.selection->NamesArchive(scanned.path);
  std::optional<Match> match = Accept(scanned, line->id, was_archive, *std::move(facts));
  if (match) match->from_journal = true;
  return match;
}

// The options may have changed since the file was read: what it is shown as must be what it would be today.
std::optional<KnownFiles::Match> KnownFiles::Accept(const ScannedFile& scanned, const ArchiveId& id,
                                                    bool was_archive, index::ArchiveFacts facts) const {
  if (was_archive) {
    if (!context_.selection->NamesArchive(scanned.path) || !facts.is_tar) return std::nullopt;
    Match match{FileOf(scanned, id, index::ManifestKind::kArchive), {}, false};
    match.file.facts = std::move(facts);
    return match;
  }
  Match match{FileOf(scanned, id, index::ManifestKind::kLooseFile), {}, false};
  match.file.facts.is_tar = false;
  if (IsLooseByName(scanned.path, *context_.selection)) return match;
  const auto file = context_.source->Open(io::JoinPath(context_.dataset, scanned.path));
  if (!file.ok()) return std::nullopt;  // the pass over it says why
  const Result<FileClass> now = Classify(**file, scanned.path, *context_.selection);
  if (!now.ok() || now->is_archive) return std::nullopt;
  if (now->finding) match.findings.push_back(*now->finding);
  return match;
}

}  // namespace tarn::indexer

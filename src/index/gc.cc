#include "tarn/index/gc.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_set>
#include <utility>

#include "index/retired.h"
#include "tarn/base/timestamp.h"
#include "tarn/index/kept_files.h"
#include "tarn/index/survey.h"
#include "tarn/io/file_facts.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr char kAll[] = "all bundles and kept files";

// A bundle or a kept file: what lives as long as somebody names its ArchiveId.
struct NamedFile {
  ArchiveId id;
  std::string path;
  io::FileFacts facts;
  bool kept = false;  // a kept file
};

Result<std::vector<NamedFile>> ListNamedFiles(const IndexRoot& root) {
  std::vector<NamedFile> files;
  TARN_ASSIGN_OR_RETURN(const std::vector<StoredBundle> bundles, ListBundles(root, nullptr));
  for (const StoredBundle& bundle : bundles) files.push_back({bundle.id, bundle.path, bundle.facts});
  TARN_ASSIGN_OR_RETURN(const std::vector<StoredKept> kept, ListKept(root, nullptr));
  for (const StoredKept& file : kept) files.push_back({file.id, file.path, file.facts, /*kept=*/true});
  return files;
}

// Counts the names that go: a file's bytes are free when none is left.
class FreedBytes {
 public:
  void Add(const io::FileFacts& facts) {
    File& file = files_[{facts.device, facts.inode}];
    file.bytes = facts.bytes;
    file.links = std::max(file.links, facts.links);
    ++file.gone;
  }
  uint64_t total() const {
    uint64_t bytes = 0;
    for (const auto& [key, file] : files_) {
      if (file.gone >= file.links) bytes += file.bytes;
    }
    return bytes;
  }

 private:
  struct File {
    uint64_t bytes = 0;
    uint64_t links = 0;
    uint64_t gone = 0;
  };
  std::map<std::pair<uint64_t, uint64_t>, File> files_;
};

class Collector {
 public:
  Collector(IndexRoot* root, const Holds& holds, const GcOptions& options)
      : root_(root), holds_(holds), options_(options) {}

  Result<GcReport> Run() {
    // Before anything goes: what cannot be understood may hold anything.
    TARN_RETURN_IF_ERROR(holds_.List(options_.now_seconds).status());
    TARN_RETURN_IF_ERROR(TakeStaging());
    if (!options_.dry_run) {
      TARN_ASSIGN_OR_RETURN(trash_root_, IndexRoot::Open(root_->path()));
      TARN_ASSIGN_OR_RETURN(trash_, trash_root_->MakeStagingDirectory("gc"));
    }
    TARN_RETURN_IF_ERROR(TakeGenerations());
    TARN_RETURN_IF_ERROR(TakeNamedFiles());
    if (!options_.dry_run) {
      TARN_RETURN_IF_ERROR(io::RemoveTree(trash_));
      TARN_ASSIGN_OR_RETURN(report_.expired_holds, holds_.RemoveExpired(options_.now_seconds));
    }
    report_.freed_bytes = freed_.total();
    return std::move(report_);
  }

 private:
  Status TakeStaging();
  Status TakeGenerations();
  Status TakeGeneration(const std::string& dataset, uint32_t generation);
  Result<bool> IsDue(const std::string& dataset, uint32_t generation);
  Result<std::vector<NamedFile>> UnnamedFiles();
  Status TakeNamedFiles();
  Result<bool> SomebodyPublishes() const;
  Result<bool> StillUnnamed();
  Status PutBack(const std::vector<NamedFile>& files);
  // Their names differ: that of a bundle has a suffix.
  std::string Aside(const NamedFile& file) const { return io::JoinPath(trash_, io::BaseName(file.path)); }
  void Count(const NamedFile& file);
  void Keep(std::string what, std::string why) { report_.kept.push_back({std::move(what), std::move(why)}); }
  bool WasTaken(const std::string& dataset, uint32_t generation) const {
    return std::any_of(report_.generations.begin(), report_.generations.end(), [&](const auto& taken) {
      return taken.dataset == dataset && taken.generation == generation;
    });
  }

  IndexRoot* const root_;
  const Holds& holds_;
  const GcOptions& options_;
  std::unique_ptr<IndexRoot> trash_root_;            // holds the lock of trash_ as long as we work
  std::string trash_;                                // our staging directory; empty on a dry run
  std::set<std::pair<std::string, uint32_t>> seen_;  // generations whose names were counted
  FreedBytes freed_;
  GcReport report_;
};

// ---- Unfinished work --------------------------------------------------------------------------------------

Status Collector::TakeStaging() {
  TARN_ASSIGN_OR_RETURN(const std::vector<IndexRoot::StagingWork> works, root_->ListStaging());
  for (const IndexRoot::StagingWork& work : works) {
    if (work.alive) continue;
    ++report_.staging;
    if (!io::IsDirectory(work.path)) continue;  // a lock alone
    TARN_RETURN_IF_ERROR(io::WalkFiles(work.path, [&](const std::string&, const io::FileFacts& facts) {
      report_.staging_bytes += facts.bytes;
      freed_.Add(facts);
      return Status::Ok();
    }));
  }
  return options_.dry_run ? Status::Ok() : root_->CleanStaging();
}

// ---- Retired generations ----------------------------------------------------------------------------------

Status Collector::TakeGenerations() {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> datasets, root_->Datasets());
  for (const std::string& dataset : datasets) {
    TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> retired, root_->RetiredGenerations(dataset));
    for (const uint32_t generation : retired) {
      TARN_ASSIGN_OR_RETURN(const bool due, IsDue(dataset, generation));
      if (due) TARN_RETURN_IF_ERROR(TakeGeneration(dataset, generation));
    }
  }
  return Status::Ok();
}

Result<bool> Collector::IsDue(const std::string& dataset, uint32_t generation) {
  const std::string name = fmt::format("{}@{}", dataset, generation);
  const Result<int64_t> since = root_->RetiredSince(dataset, generation);
  if (since.code() == ErrorCode::kNotFound) return false;  // listed again meanwhile
  if (since.code() == ErrorCode::kCorrupt) {
    Keep(name, since.status().message());
    return false;
  }
  if (!since.ok()) return since.status();
  const int64_t until = *since + options_.grace_seconds;
  if (options_.now_seconds < until) {
    Keep(name, fmt::format("retired {}, its grace ends {}", FormatTimestamp(*since), FormatTimestamp(until)));
    return false;
  }
  TARN_ASSIGN_OR_RETURN(const std::vector<Hold> holds, holds_.On(dataset, generation, options_.now_seconds));
  if (!holds.empty()) {
    for (const Hold& hold : holds) Keep(name, hold.ToString());
    return false;
  }
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> all, root_->AllGenerations(dataset));
  if (generation == all.back()) {
    Keep(name, "it is the newest: numbers go on from it. It goes when a newer one is published");
    return false;
  }
  return true;
}

Status Collector::TakeGeneration(const std::string& dataset, uint32_t generation) {
  const std::string path = root_->GenerationPath(dataset, generation);
  std::vector<io::FileFacts> files;
  TARN_RETURN_IF_ERROR(io::WalkFiles(path, [&](const std::string&, const io::FileFacts& facts) {
    files.push_back(facts);
    return Status::Ok();
  }));
  if (!options_.dry_run) {
    const std::string aside = fmt::format("{}/{}@{}", trash_, dataset, generation);
    TARN_RETURN_IF_ERROR(io::Rename(path, aside));
    // Somebody may have held or listed it since we looked.
    TARN_ASSIGN_OR_RETURN(const std::vector<Hold> holds,
                          holds_.On(dataset, generation, options_.now_seconds));
    if (!holds.empty() || !root_->IsRetired(dataset, generation)) {
      TARN_RETURN_IF_ERROR(io::RenameNoReplace(aside, path));
      Keep(fmt::format("{}@{}", dataset, generation), "it was held or listed again while it was looked at");
      return Status::Ok();
    }
    TARN_RETURN_IF_ERROR(io::SyncDirectory(root_->DatasetPath(dataset)));
    TARN_RETURN_IF_ERROR(
        io::RemoveFile(fmt::format("{}/{}/{}", root_->DatasetPath(dataset), kRetiredDirectory, generation)));
    TARN_RETURN_IF_ERROR(io::RemoveTree(aside));
  }
  for (const io::FileFacts& facts : files) freed_.Add(facts);
  report_.generations.push_back({dataset, generation});
  return Status::Ok();
}

// ---- Bundles and kept files -------------------------------------------------------------------------------

// Those that no generation left and no interrupted publish names, and that are older than the grace.
Result<std::vector<NamedFile>> Collector::UnnamedFiles() {
  TARN_ASSIGN_OR_RETURN(std::vector<NamedFile> files, ListNamedFiles(*root_));
  std::unordered_set<ArchiveId> named;
  TARN_RETURN_IF_ERROR(ForEachGeneration(*root_, [&](const StoredGeneration& stored) {
    if (WasTaken(stored.dataset, stored.generation)) return Status::Ok();  // on a dry run it is still there
    seen_.emplace(stored.dataset, stored.generation);
    named.insert(stored.names.begin(), stored.names.end());
    if (!stored.readable.ok()) {
      report_.whole = false;
      Keep(kAll, fmt::format("{}@{} cannot be read and may name any: {}", stored.dataset, stored.generation,
                             stored.readable.message()));
    }
    return Status::Ok();
  }));
  if (!report_.whole) return std::vector<NamedFile>();
  if (options_.named_elsewhere) {
    TARN_ASSIGN_OR_RETURN(const std::set<ArchiveId> elsewhere, options_.named_elsewhere());
    named.insert(elsewhere.begin(), elsewhere.end());
  }
  uint64_t young_bundles = 0, young_kept = 0;
  std::erase_if(files, [&](const NamedFile& file) {
    if (named.contains(file.id)) return true;
    const int64_t age = options_.now_seconds - file.facts.mtime_ns / kNanosecondsPerSecond;
    if (options_.grace_seconds == 0 || age >= options_.grace_seconds) return false;
    ++(file.kept ? young_kept : young_bundles);
    return true;
  });
  const std::string why = fmt::format("younger than the grace of {}", FormatDuration(options_.grace_seconds));
  if (young_bundles != 0) Keep(fmt::format("{} unreferenced bundles", young_bundles), why);
  if (young_kept != 0) Keep(fmt::format("{} unreferenced kept files", young_kept), why);
  return files;
}

Result<bool> Collector::SomebodyPublishes() const {
  TARN_ASSIGN_OR_RETURN(const std::vector<IndexRoot::StagingWork> works, root_->ListStaging());
  return std::any_of(works.begin(), works.end(),
                     [&](const auto& work) { return work.alive && work.path != trash_; });
}

// Whether nothing was published since the names were counted.
Result<bool> Collector::StillUnnamed() {
  TARN_ASSIGN_OR_RETURN(const bool publishes, SomebodyPublishes());
  if (publishes) return false;
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> datasets, root_->Datasets());
  for (const std::string& dataset : datasets) {
    TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> generations, root_->AllGenerations(dataset));
    for (const uint32_t generation : generations) {
      if (!seen_.contains({dataset, generation})) return false;
    }
  }
  return true;
}

Status Collector::PutBack(const std::vector<NamedFile>& files) {
  for (const NamedFile& file : files) {
    if (!io::Exists(Aside(file))) continue;
    const Status back = io::RenameNoReplace(Aside(file), file.path);
    // Somebody wrote the same file anew.
    if (!back.ok() && back.code() != ErrorCode::kAlreadyExists) return back;
  }
  return Status::Ok();
}

void Collector::Count(const NamedFile& file) {
  ++(file.kept ? report_.kept_files : report_.bundles);
  (file.kept ? report_.kept_bytes : report_.bundle_bytes) += file.facts.bytes;
  // Links of generations that were just removed are gone already.
  const Result<io::FileFacts> now = options_.dry_run ? file.facts : io::LookAt(Aside(file));
  if (now.ok()) freed_.Add(*now);
}

Status Collector::TakeNamedFiles() {
  TARN_ASSIGN_OR_RETURN(const bool publishes, SomebodyPublishes());
  if (publishes) {
    Keep(kAll, "somebody publishes and may count on them; run gc again when that is done");
    return Status::Ok();
  }
  TARN_ASSIGN_OR_RETURN(const std::vector<NamedFile> files, UnnamedFiles());
  if (!options_.dry_run) {
    for (const NamedFile& file : files) {
      const Status moved = io::Rename(file.path, Aside(file));
      if (moved.ok() || moved.code() == ErrorCode::kNotFound) continue;
      TARN_RETURN_IF_ERROR(PutBack(files));
      return moved;
    }
    const Result<bool> unnamed = StillUnnamed();
    if (!unnamed.ok() || !*unnamed) {
      TARN_RETURN_IF_ERROR(PutBack(files));
      TARN_RETURN_IF_ERROR(unnamed.status());
      Keep(kAll, "somebody published while they were looked at; run gc again");
      return Status::Ok();
    }
  }
  for (const NamedFile& file : files) Count(file);
  return Status::Ok();
}

}  // namespace

Result<GcReport> CollectGarbage(IndexRoot* root, const Holds& holds, const GcOptions& options) {
  return Collector(root, holds, options).Run();
}

}  // namespace tarn::index

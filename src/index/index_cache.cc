// Copies of generations. A copy has no name that anybody reads until all of it is here, checked and synced;
// whoever holds the lock `copying` may take away all that is staged, because its owner is dead.
#include "tarn/index/index_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "index/sst.h"
#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/random_access_file.h"
#include "tarn/io/shared_file.h"

namespace tarn::index {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kTailBytes = 4096;
constexpr size_t kSmallFile = 4096;
constexpr std::string_view kInUse = "IN-USE";

bool IsTable(std::string_view name) {
  return name.ends_with(".sst");
}

std::string CopyLock(const std::string& cache) {
  return io::JoinPath(cache, "copying");
}

// The last bytes of a file of `size` bytes.
Result<std::string> Tail(const std::string& path, uint64_t size) {
  TARN_ASSIGN_OR_RETURN(const auto file, io::OpenFile(path));
  std::string tail(std::min<uint64_t>(size, kTailBytes), '\0');
  TARN_ASSIGN_OR_RETURN(const size_t got,
                        file->ReadAt(size - tail.size(), std::as_writable_bytes(std::span(tail))));
  tail.resize(got);
  return tail;
}

Status OtherSize(const std::string& path, uint64_t expected, uint64_t found) {
  return Status(ErrorCode::kCorrupt,
                fmt::format("'{}' should have {} bytes and has {}", path, expected, found))
      .WithHint("'tarn-index fsck' says what is wrong with the index root");
}

// Copies `bytes` bytes, which is all there may be. Syncs nothing.
Status CopyBytes(const std::string& from, const std::string& to, uint64_t bytes,
                 const std::atomic<bool>& cancelled) {
  TARN_ASSIGN_OR_RETURN(const auto source, io::OpenFile(from));
  source->Advise(io::AccessPattern::kSequential);
  TARN_ASSIGN_OR_RETURN(const auto copy, io::AppendFile::Create(to));
  std::vector<std::byte> buffer(kBufferBytes);
  uint64_t copied = 0;
  for (;;) {
    if (cancelled) return Status(ErrorCode::kCancelled, fmt::format("the copy of '{}' was ended", from));
    TARN_ASSIGN_OR_RETURN(const size_t got, source->ReadAt(copied, buffer));
    TARN_RETURN_IF_ERROR(copy->Append({reinterpret_cast<const char*>(buffer.data()), got}));
    copied += got;
    if (got < buffer.size()) break;
  }
  // From here on the copy is what is read.
  source->DropCache(0, 0);
  if (copied != bytes) return OtherSize(from, bytes, copied);
  return copy->Close();
}

// Whether two files hold the same bytes, `bytes` of them.
Status CompareBytes(const std::string& source, const std::string& copy, uint64_t bytes) {
  TARN_ASSIGN_OR_RETURN(const auto left, io::OpenFile(source));
  TARN_ASSIGN_OR_RETURN(const auto right, io::OpenFile(copy));
  std::vector<std::byte> from_source(kBufferBytes);
  std::vector<std::byte> from_copy(kBufferBytes);
  for (uint64_t offset = 0; offset < bytes; offset += kBufferBytes) {
    TARN_ASSIGN_OR_RETURN(const size_t expected, left->ReadAt(offset, from_source));
    TARN_ASSIGN_OR_RETURN(const size_t found, right->ReadAt(offset, from_copy));
    if (expected == found &&
        std::equal(from_source.begin(), from_source.begin() + static_cast<ptrdiff_t>(found),
                   from_copy.begin())) {
      continue;
    }
    return Status(
        ErrorCode::kCorrupt,
        fmt::format("'{}' does not hold what its copy '{}' got when it is read again", source, copy));
  }
  return Status::Ok();
}

Result<std::vector<uint32_t>> NumbersIn(const std::string& directory) {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(directory));
  std::vector<uint32_t> numbers;
  for (const std::string& name : names) {
    const auto reference = DatasetReference::Parse("x@" + name);
    if (reference.ok() && reference->generation) numbers.push_back(*reference->generation);
  }
  return numbers;
}

// Calls with every generation of a cache that is whole: dataset, number, path.
template <typename Visit>
Status ForEachGeneration(const std::string& cache, const Visit& visit) {
  const std::string datasets = io::JoinPath(cache, "datasets");
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(datasets));
  for (const std::string& name : names) {
    const std::string dataset = io::JoinPath(datasets, name);
    TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> numbers, NumbersIn(dataset));
    for (const uint32_t number : numbers) visit(name, number, io::JoinPath(dataset, std::to_string(number)));
  }
  return Status::Ok();
}

// Writes what differs from what is there: most starts change nothing.
Status Remember(const std::string& path, const std::string& text) {
  const Result<std::string> known = io::ReadFile(path, kSmallFile);
  if (known.ok() && *known == text) return Status::Ok();
  return io::WriteFileAtomically(path, text);
}

Status Busy(const std::string& cache) {
  return Status(ErrorCode::kBusy, fmt::format("another process copies to index cache '{}'", cache));
}

}  // namespace

// What a copy consists of.
struct IndexCache::Plan {
  std::string source;  // in the root
  std::string dataset;
  uint32_t number = 0;
  std::string staged;
  std::vector<File> files;
  std::vector<bool> linked;  // of each: it was in the cache
  uint64_t bytes = 0;        // that are to be copied
};

IndexCache::IndexCache(std::string path, std::string uuid, uint64_t max_bytes)
    : path_(std::move(path)), uuid_(std::move(uuid)), max_bytes_(max_bytes) {}

// ---- Opening ----------------------------------------------------------------------------------------------

Result<std::unique_ptr<IndexCache>> IndexCache::Open(const std::string& directory, const IndexRoot& root,
                                                     uint64_t max_bytes) {
  TARN_RETURN_IF_ERROR(io::MakePrivateDirectory(directory));
  std::string path = io::JoinPath(directory, root.uuid());
  TARN_RETURN_IF_ERROR(io::MakePrivateDirectory(path));
  for (const std::string_view name : {"datasets", "files", "staging"}) {
    TARN_RETURN_IF_ERROR(io::MakeDirectories(io::JoinPath(path, name)));
  }
  TARN_ASSIGN_OR_RETURN(const std::string format,
                        io::ReadFile(io::JoinPath(root.path(), "format"), kSmallFile));
  TARN_RETURN_IF_ERROR(Remember(io::JoinPath(path, "format"), format));
  TARN_RETURN_IF_ERROR(Remember(io::JoinPath(path, "root"), root.path() + "\n"));
  return Start(std::move(path), root.uuid(), max_bytes);
}

Result<std::unique_ptr<IndexCache>> IndexCache::OpenWithoutRoot(const std::string& directory,
                                                                const std::string& root_path,
                                                                uint64_t max_bytes) {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(directory));
  std::string newest;
  int64_t newest_use = 0;
  for (const std::string& name : names) {
    const std::string path = io::JoinPath(directory, name);
    const Result<std::string> known = io::ReadFile(io::JoinPath(path, "root"), kSmallFile);
    if (!known.ok() || *known != root_path + "\n") continue;
    int64_t use = 0;
    TARN_RETURN_IF_ERROR(ForEachGeneration(path, [&](const auto&, uint32_t, const std::string& generation) {
      const auto facts = io::LookAt(io::JoinPath(generation, kInUse));
      if (facts.ok()) use = std::max(use, facts->mtime_ns);
    }));
    if (newest.empty() || use > newest_use) newest = name;
    newest_use = std::max(newest_use, use);
  }
  if (newest.empty()) {
    return Status(ErrorCode::kNotFound,
                  fmt::format("index cache '{}' has nothing of index root '{}'", directory, root_path));
  }
  TARN_RETURN_IF_ERROR(io::MakePrivateDirectory(directory));
  std::string path = io::JoinPath(directory, newest);
  TARN_RETURN_IF_ERROR(io::MakePrivateDirectory(path));
  TARN_ASSIGN_OR_RETURN(const auto remembered, IndexRoot::Open(path));
  return Start(std::move(path), remembered->uuid(), max_bytes);
}

Result<std::unique_ptr<IndexCache>> IndexCache::Start(std::string path, std::string uuid,
                                                      uint64_t max_bytes) {
  std::unique_ptr<IndexCache> cache(new IndexCache(std::move(path), std::move(uuid), max_bytes));
  TARN_ASSIGN_OR_RETURN(const auto copying, io::FileLock::TryAcquire(CopyLock(cache->path_)));
  if (copying) {
    TARN_RETURN_IF_ERROR(io::RemoveTree(io::JoinPath(cache->path_, "staging")));
    TARN_RETURN_IF_ERROR(io::MakeDirectories(io::JoinPath(cache->path_, "staging")));
  }
  TARN_RETURN_IF_ERROR(cache->Recount());
  return cache;
}

// ---- Looking ----------------------------------------------------------------------------------------------

std::string IndexCache::GenerationPath(std::string_view dataset, uint32_t number) const {
  return fmt::format("{}/datasets/{}/{}", path_, dataset, number);
}

std::string IndexCache::PoolPath(const io::FileFacts& facts) const {
  return fmt::format("{}/files/{}-{}-{}.sst", path_, facts.inode, facts.bytes, facts.mtime_ns);
}

bool IndexCache::IsPooled(const std::string& source, const io::FileFacts& facts) const {
  const std::string pooled = PoolPath(facts);
  const auto found = io::LookAt(pooled);
  if (!found.ok() || found->bytes != facts.bytes) return false;
  const Result<std::string> here = Tail(pooled, facts.bytes);
  const Result<std::string> there = Tail(source, facts.bytes);
  return here.ok() && there.ok() && *here == *there;
}

std::optional<std::string> IndexCache::Find(std::string_view dataset, uint32_t number) {
  std::string path = GenerationPath(dataset, number);
  const std::lock_guard lock(mutex_);
  if (in_use_.contains(path)) return path;
  auto used = io::SharedLock::TryAcquire(io::JoinPath(path, kInUse));
  if (!used.ok() && used.code() != ErrorCode::kNotFound) {
    Log(LogLevel::kWarning, "a copy of the index is not used: " + used.status().message());
  }
  if (!used.ok() || !*used) return std::nullopt;
  in_use_.emplace(path, std::move(**used));
  return path;
}

Result<IndexCache::Missing> IndexCache::MissingOf(const std::string& generation_path) const {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(generation_path));
  Missing missing;
  for (const std::string& name : names) {
    TARN_ASSIGN_OR_RETURN(const io::FileFacts facts, io::LookAt(io::JoinPath(generation_path, name)));
    if (IsTable(name) && io::Exists(PoolPath(facts))) continue;
    missing.bytes += facts.bytes;
    ++missing.files;
  }
  return missing;
}

IndexCache::Totals IndexCache::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

Status IndexCache::Recount() {
  Totals totals;
  std::set<std::pair<uint64_t, uint64_t>> counted;
  for (const std::string_view name : {"files", "datasets"}) {
    const std::string below = io::JoinPath(path_, name);
    TARN_RETURN_IF_ERROR(io::WalkFiles(below, [&](const std::string&, const io::FileFacts& facts) {
      if (counted.emplace(facts.device, facts.inode).second) totals.bytes += facts.bytes;
      return Status::Ok();
    }));
  }
  TARN_RETURN_IF_ERROR(
      ForEachGeneration(path_, [&](const auto&, uint32_t, const std::string&) { ++totals.generations; }));
  const std::lock_guard lock(mutex_);
  totals_ = totals;
  return Status::Ok();
}

// ---- Copying ----------------------------------------------------------------------------------------------

Result<std::string> IndexCache::Fetch(const std::string& generation_path, std::string_view dataset,
                                      uint32_t number) {
  TARN_RETURN_IF_ERROR(Copy(generation_path, dataset, number));
  if (auto path = Find(dataset, number)) return *path;
  return Status(ErrorCode::kBusy,
                fmt::format("the copy of {}@{} in '{}' was removed by another process at once", dataset,
                            number, path_));
}

Status IndexCache::Copy(const std::string& generation_path, std::string_view dataset, uint32_t number) {
  const std::lock_guard one(copy_mutex_);
  TARN_ASSIGN_OR_RETURN(const auto copying, io::FileLock::TryAcquire(CopyLock(path_)));
  if (io::Exists(GenerationPath(dataset, number))) return Status::Ok();
  if (!copying) return Busy(path_);
  Plan plan;
  plan.source = generation_path;
  plan.dataset = dataset;
  plan.number = number;
  plan.staged = fmt::format("{}/staging/{}@{}", path_, dataset, number);
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(generation_path));
  for (const std::string& name : names) {
    TARN_ASSIGN_OR_RETURN(const io::FileFacts facts, io::LookAt(io::JoinPath(generation_path, name)));
    if (facts.type == io::FileType::kRegular) plan.files.push_back({name, facts});
  }

  // The order matters: what is linked is kept from the removal of others, and nothing is written before there
  // is room.
  TARN_RETURN_IF_ERROR(io::RemoveTree(plan.staged));
  TARN_RETURN_IF_ERROR(io::MakeDirectories(plan.staged));
  LinkPooled(&plan);
  Status status = MakeRoom(plan);
  if (status.ok()) status = CopyAside(plan);
  if (status.ok()) status = io::SyncFileSystem(plan.staged);
  if (status.ok()) status = Check(plan);
  if (status.ok()) status = Place(plan);
  if (status.ok()) {
    Pool(plan);
    return Recount();
  }
  if (const Status removed = io::RemoveTree(plan.staged); !removed.ok()) {
    Log(LogLevel::kWarning, removed.message());  // the next start takes it away
  }
  return std::move(status).WithContext(fmt::format("{}@{} is not copied to '{}': ", dataset, number, path_));
}

void IndexCache::LinkPooled(Plan* plan) const {
  plan->linked.assign(plan->files.size(), false);
  for (size_t i = 0; i < plan->files.size(); ++i) {
    const auto& [name, facts] = plan->files[i];
    const std::string staged = io::JoinPath(plan->staged, name);
    plan->linked[i] = IsTable(name) && IsPooled(io::JoinPath(plan->source, name), facts) &&
                      io::HardLink(PoolPath(facts), staged).ok();  // else: a copy of its own
    if (!plan->linked[i]) plan->bytes += facts.bytes;
  }
}

Status IndexCache::CopyAside(const Plan& plan) const {
  for (size_t i = 0; i < plan.files.size(); ++i) {
    if (plan.linked[i]) continue;
    const auto& [name, facts] = plan.files[i];
    TARN_RETURN_IF_ERROR(
        CopyBytes(io::JoinPath(plan.source, name), io::JoinPath(plan.staged, name), facts.bytes, cancelled_));
  }
  TARN_ASSIGN_OR_RETURN(const auto in_use, io::AppendFile::Create(io::JoinPath(plan.staged, kInUse)));
  return in_use->Close();
}

// What was copied is what was published: tables say so themselves, of the others the source is asked again.
Status IndexCache::Check(const Plan& plan) const {
  for (size_t i = 0; i < plan.files.size(); ++i) {
    if (plan.linked[i]) continue;
    if (cancelled_) return Status(ErrorCode::kCancelled, "the check of the copy was ended");
    const auto& [name, facts] = plan.files[i];
    const std::string copy = io::JoinPath(plan.staged, name);
    if (!IsTable(name)) {
      TARN_RETURN_IF_ERROR(CompareBytes(io::JoinPath(plan.source, name), copy, facts.bytes));
      continue;
    }
    TARN_ASSIGN_OR_RETURN(const auto table, SstScan::Open(copy));
    Status sums = table->VerifyChecksums();
    if (!sums.ok()) {
      return std::move(sums).WithContext(fmt::format("the copy of '{}': ", io::JoinPath(plan.source, name)));
    }
  }
  TARN_ASSIGN_OR_RETURN(const auto reader, GenerationReader::Open(plan.staged));
  const GenerationFacts& facts = reader->facts();
  if (facts.root_uuid != uuid_ || facts.dataset != plan.dataset || facts.generation != plan.number) {
    return Status(
        ErrorCode::kCorrupt,
        fmt::format("'{}' should hold {}@{} of root {}, and holds {}@{} of {}", plan.source, plan.dataset,
                    plan.number, uuid_, EscapeName(facts.dataset), facts.generation, facts.root_uuid));
  }
  TARN_RETURN_IF_ERROR(reader->CheckWhole());
  const std::string dataset = fmt::format("{}/datasets/{}", path_, plan.dataset);
  TARN_RETURN_IF_ERROR(io::MakeDirectories(dataset));
  return Remember(io::JoinPath(dataset, "number"), fmt::format("{}\n", facts.dataset_number));
}

Status IndexCache::Place(const Plan& plan) {
  const std::string place = GenerationPath(plan.dataset, plan.number);
  TARN_RETURN_IF_ERROR(io::SyncDirectory(plan.staged));
  TARN_RETURN_IF_ERROR(io::RenameNoReplace(plan.staged, place));
  TARN_RETURN_IF_ERROR(io::SyncDirectory(std::string(io::DirName(place))));
  return io::SyncDirectory(io::JoinPath(path_, "datasets"));
}

// From here on others find the tables. Without it they copy them again, which is no reason to fail.
void IndexCache::Pool(const Plan& plan) const {
  for (size_t i = 0; i < plan.files.size(); ++i) {
    const auto& [name, facts] = plan.files[i];
    if (plan.linked[i] || !IsTable(name)) continue;
    const std::string pooled = PoolPath(facts);
    const std::string copy = io::JoinPath(GenerationPath(plan.dataset, plan.number), name);
    Status status = io::RemoveFile(pooled);  // one with another tail
    if (status.ok()) status = io::HardLink(copy, pooled);
    if (status.ok()) continue;
    Log(LogLevel::kWarning, "generations in the index cache share no files: " + status.message());
    return;
  }
}

// ---- Removing ---------------------------------------------------------------------------------------------

// Removes generations until the plan's bytes fit.
Status IndexCache::MakeRoom(const Plan& plan) {
  uint64_t whole = 0;
  for (const File& file : plan.files) whole += file.facts.bytes;
  if (whole > max_bytes_) {
    return Status(ErrorCode::kNoSpace, fmt::format("it has {}, and the cache may have {}", HumanBytes(whole),
                                                   HumanBytes(max_bytes_)))
        .WithHint("raise --index-cache-size");
  }
  TARN_RETURN_IF_ERROR(DropUnshared());
  TARN_RETURN_IF_ERROR(Recount());
  while (totals().bytes + plan.bytes > max_bytes_) {
    TARN_ASSIGN_OR_RETURN(const bool removed, RemoveOldest());
    if (!removed) {
      return Status(
                 ErrorCode::kNoSpace,
                 fmt::format("it needs {}, and of the {} that the cache may have, generations in use take {}",
                             HumanBytes(plan.bytes), HumanBytes(max_bytes_), HumanBytes(totals().bytes)))
          .WithHint("raise --index-cache-size");
    }
    TARN_RETURN_IF_ERROR(Recount());
  }
  TARN_ASSIGN_OR_RETURN(const uint64_t free, io::FreeBytes(path_));
  if (free >= plan.bytes) return Status::Ok();
  return Status(ErrorCode::kNoSpace, fmt::format("it needs {}, and the file system of '{}' has {} free",
                                                 HumanBytes(plan.bytes), path_, HumanBytes(free)))
      .WithHint("free some, or name another directory with --index-cache");
}

// Removes the generation that was taken into use longest ago, of those nobody uses; false when there is none.
Result<bool> IndexCache::RemoveOldest() {
  struct Candidate {
    int64_t used_ns = 0;
    std::string dataset;
    uint32_t number = 0;
  };
  std::vector<Candidate> candidates;
  TARN_RETURN_IF_ERROR(
      ForEachGeneration(path_, [&](const std::string& dataset, uint32_t number, const std::string& path) {
        const auto facts = io::LookAt(io::JoinPath(path, kInUse));
        candidates.push_back({facts.ok() ? facts->mtime_ns : 0, dataset, number});
      }));
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.used_ns < b.used_ns; });
  for (const Candidate& candidate : candidates) {
    const Status removed = Remove(candidate.dataset, candidate.number);
    if (removed.code() == ErrorCode::kBusy) continue;
    TARN_RETURN_IF_ERROR(removed);
    Log(LogLevel::kInfo, fmt::format("{}@{} is removed from index cache '{}' to make room", candidate.dataset,
                                     candidate.number, path_));
    TARN_RETURN_IF_ERROR(DropUnshared());
    return true;
  }
  return false;
}

// kBusy when somebody uses it.
Status IndexCache::Remove(std::string_view dataset, uint32_t number) const {
  const std::string path = GenerationPath(dataset, number);
  TARN_ASSIGN_OR_RETURN(const auto unused, io::FileLock::TryAcquire(io::JoinPath(path, kInUse)));
  if (!unused) return Status(ErrorCode::kBusy, fmt::format("'{}' is in use", path));
  const std::string aside = fmt::format("{}/staging/{}@{}.removed", path_, dataset, number);
  TARN_RETURN_IF_ERROR(io::RemoveTree(aside));
  TARN_RETURN_IF_ERROR(io::Rename(path, aside));
  return io::RemoveTree(aside);
}

// Tables that no generation has any more.
Status IndexCache::DropUnshared() const {
  return io::WalkFiles(io::JoinPath(path_, "files"), [](const std::string& path, const io::FileFacts& facts) {
    return facts.links == 1 ? io::RemoveFile(path) : Status::Ok();
  });
}

Status IndexCache::Discard(std::string_view dataset, uint32_t number) {
  const std::lock_guard one(copy_mutex_);
  TARN_ASSIGN_OR_RETURN(const auto copying, io::FileLock::TryAcquire(CopyLock(path_)));
  if (!copying) return Busy(path_);
  const std::string path = GenerationPath(dataset, number);
  {
    const std::lock_guard lock(mutex_);
    in_use_.erase(path);
  }
  std::set<uint64_t> inodes;
  TARN_RETURN_IF_ERROR(io::WalkFiles(path, [&](const std::string&, const io::FileFacts& facts) {
    inodes.insert(facts.inode);
    return Status::Ok();
  }));
  TARN_RETURN_IF_ERROR(Remove(dataset, number));
  TARN_RETURN_IF_ERROR(
      io::WalkFiles(io::JoinPath(path_, "files"), [&](const std::string& file, const io::FileFacts& facts) {
        return inodes.contains(facts.inode) ? io::RemoveFile(file) : Status::Ok();
      }));
  return Recount();
}

}  // namespace tarn::index

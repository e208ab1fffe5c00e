// The root on disk. Every change is one step that the file system does whole or not at all: an exclusive
// mkdir takes a number, a rename that replaces nothing publishes, a rename moves the pointer. What a process
// that died left behind is either invisible (staging/) or complete.
#include "tarn/index/index_root.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "index/format_file.h"
#include "index/retired.h"
#include "tarn/base/bytes.h"
#include "tarn/base/log.h"
#include "tarn/base/program.h"
#include "tarn/base/version.h"
#include "tarn/index/generation_reader.h"

namespace tarn::index {
namespace {

constexpr std::string_view kLockSuffix = ".lock";
constexpr std::string_view kJournals = "journals";
constexpr std::string_view kPlans = "plans";
constexpr int kStagingAttempts = 100;
constexpr size_t kSmallFile = 4096;  // no text file of a root is larger

// "7" and nothing else: numbers have one spelling, also as names of directories.
std::optional<uint32_t> ParseCount(std::string_view text) {
  uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || number == 0 || text[0] == '0') return std::nullopt;
  return number;
}

// The number in a file that holds one line.
Result<uint32_t> ReadNumberFile(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path, kSmallFile));
  if (!text.empty() && text.back() == '\n') {
    if (const auto number = ParseCount(std::string_view(text).substr(0, text.size() - 1))) return *number;
  }
  return Status(ErrorCode::kCorrupt, fmt::format("'{}' should hold a number, and holds '{}'", path,
                                                 EscapeName(std::string_view(text).substr(0, 32))));
}

// Names of `directory` that are numbers, rising.
Result<std::vector<uint32_t>> ListNumbers(const std::string& directory) {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(directory));
  std::vector<uint32_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = ParseCount(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// What a file system or another creator puts into a directory that is otherwise empty.
bool CountsAsNothing(std::string_view name) {
  return name == "lost+found" || name == ".snapshot" || name.substr(0, 4) == ".nfs" ||
         name.substr(0, 8) == ".format.";
}

// Ok when a root may be made in `path`, a directory without a format file.
Status CheckEmpty(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(path));
  const auto foreign = std::find_if_not(names.begin(), names.end(), CountsAsNothing);
  // Another creator may have made the root since the caller looked.
  if (foreign == names.end() || io::Exists(io::JoinPath(path, "format"))) return Status::Ok();
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no Tarn index root and not empty: it holds '{}' and no file 'format'",
                            path, EscapeName(*foreign)))
      .WithHint("give --index an empty or new directory");
}

Status NoFormatFile(const std::string& path) {
  if (!io::Exists(path)) {
    return Status(ErrorCode::kNotFound, fmt::format("index root '{}' does not exist", path))
        .WithHint("check --index or TARN_INDEX; 'tarn-index publish' makes a new root");
  }
  if (!io::IsDirectory(path)) {
    return Status(ErrorCode::kInvalidArgument, fmt::format("index root '{}' is no directory", path));
  }
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no Tarn index root: it has no file 'format'", path))
      .WithHint(
          "check --index or TARN_INDEX, and that the volume is mounted; 'tarn-index publish' makes a new "
          "root in an empty directory");
}

}  // namespace

IndexRoot::IndexRoot(std::string path, std::string uuid, uint32_t format_version)
    : path_(std::move(path)), uuid_(std::move(uuid)), format_version_(format_version) {}

IndexRoot::~IndexRoot() {
  for (const StagingLock& staging : staging_locks_) {
    if (const Status status = io::RemoveFile(staging.path); !status.ok()) {
      Log(LogLevel::kWarning, status.message());  // the next CleanStaging takes it away
    }
  }
}

// ---- Opening ----------------------------------------------------------------------------------------------

Result<std::unique_ptr<IndexRoot>> IndexRoot::Open(const std::string& path) {
  const Result<std::string> text = io::ReadFile(io::JoinPath(path, "format"), kSmallFile);
  if (text.code() == ErrorCode::kNotFound) return NoFormatFile(path);
  if (!text.ok()) return text.status();
  TARN_ASSIGN_OR_RETURN(FormatFile format, ParseFormatFile(*text, path));
  return std::unique_ptr<IndexRoot>(new IndexRoot(path, std::move(format.uuid), format.version));
}

std::unique_ptr<IndexRoot> IndexRoot::Remembered(std::string path, std::string uuid,
                                                 uint32_t format_version) {
  return std::unique_ptr<IndexRoot>(new IndexRoot(std::move(path), std::move(uuid), format_version));
}

Result<std::unique_ptr<IndexRoot>> IndexRoot::OpenOrCreate(const std::string& path) {
  const std::string format = io::JoinPath(path, "format");
  if (!io::Exists(format)) {
    if (!io::Exists(path)) TARN_RETURN_IF_ERROR(io::MakeDirectories(path));
    TARN_RETURN_IF_ERROR(CheckEmpty(path));
    const FormatFile file{.version = kIndexFormatVersion, .features = 0, .uuid = MakeUuid()};
    const Status created = io::CreateFileAtomically(format, RenderFormatFile(file));
    // Somebody else was first: theirs is the root's identity.
    if (!created.ok() && created.code() != ErrorCode::kAlreadyExists) return created;
    const std::string_view parent = io::DirName(path);
    TARN_RETURN_IF_ERROR(io::SyncDirectory(parent.empty() ? io::JoinPath(path, "..") : std::string(parent)));
  }
  TARN_ASSIGN_OR_RETURN(std::unique_ptr<IndexRoot> root, Open(path));
  // Also those that a creator who died left out.
  for (const std::string_view name : {"numbers", "bundles", "datasets", "staging"}) {
    TARN_RETURN_IF_ERROR(io::MakeDirectories(io::JoinPath(path, name)));
  }
  TARN_RETURN_IF_ERROR(io::SyncDirectory(path));
  return root;
}

// ---- Bundles ----------------------------------------------------------------------------------------------

std::string IndexRoot::BundlePath(const ArchiveId& id) const {
  return fmt::format("{}/bundles/{}/{}.sst", path_, id.digest.ToHex().substr(0, 2), id.ToString());
}

bool IndexRoot::HasBundle(const ArchiveId& id) const {
  return io::Exists(BundlePath(id));
}

Status IndexRoot::MakeShard(const std::string& shard) {
  if (io::IsDirectory(shard)) return Status::Ok();
  TARN_RETURN_IF_ERROR(io::MakeDirectories(shard));
  return io::SyncDirectory(io::JoinPath(path_, "bundles"));
}

Status IndexRoot::PlaceBundle(const ArchiveId& id, const std::string& file, bool replace) {
  const std::string path = BundlePath(id);
  TARN_RETURN_IF_ERROR(MakeShard(std::string(io::DirName(path))));
  if (replace) return io::Rename(file, path);
  const Status renamed = io::RenameNoReplace(file, path);
  return renamed.code() == ErrorCode::kAlreadyExists ? io::RemoveFile(file) : renamed;
}

Status IndexRoot::AddBundle(const ArchiveId& id, const std::string& file) {
  TARN_RETURN_IF_ERROR(PlaceBundle(id, file, /*replace=*/false));
  return io::SyncDirectory(std::string(io::DirName(BundlePath(id))));
}

Status IndexRoot::ReplaceBundle(const ArchiveId& id, const std::string& file) {
  TARN_RETURN_IF_ERROR(PlaceBundle(id, file, /*replace=*/true));
  return io::SyncDirectory(std::string(io::DirName(BundlePath(id))));
}

// ---- Datasets ---------------------------------------------------------------------------------------------

std::string IndexRoot::DatasetPath(std::string_view dataset) const {
  return fmt::format("{}/datasets/{}", path_, dataset);
}

std::string IndexRoot::GenerationPath(std::string_view dataset, uint32_t generation) const {
  return fmt::format("{}/{}", DatasetPath(dataset), generation);
}

Result<std::vector<std::string>> IndexRoot::Datasets() const {
  TARN_ASSIGN_OR_RETURN(std::vector<std::string> names, io::ListDirectory(io::JoinPath(path_, "datasets")));
  std::erase_if(names, [this](const std::string& name) {
    return !IsDatasetName(name) || !io::IsDirectory(DatasetPath(name));
  });
  return names;
}

Status IndexRoot::RequireDataset(std::string_view dataset) const {
  if (IsDatasetName(dataset) && io::IsDirectory(DatasetPath(dataset))) return Status::Ok();
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, Datasets());
  std::string hint = names.empty() ? "the root has no dataset yet: 'tarn-index publish' makes one"
                                   : fmt::format("'tarn datasets --index {}' lists all", path_);
  if (const auto nearest = NearestMatch(dataset, names))
    hint = fmt::format("did you mean '{}'? {}", *nearest, hint);
  return Status(ErrorCode::kNotFound,
                fmt::format("index root '{}' has no dataset '{}'", path_, EscapeName(dataset)))
      .WithHint(std::move(hint));
}

Result<std::vector<uint32_t>> IndexRoot::AllGenerations(std::string_view dataset) const {
  TARN_RETURN_IF_ERROR(RequireDataset(dataset));
  return ListNumbers(DatasetPath(dataset));
}

Result<std::vector<uint32_t>> IndexRoot::Generations(std::string_view dataset) const {
  TARN_ASSIGN_OR_RETURN(std::vector<uint32_t> generations, AllGenerations(dataset));
  // A root without retired generations has nothing to ask for each of them.
  if (io::IsDirectory(io::JoinPath(DatasetPath(dataset), kRetiredDirectory))) {
    std::erase_if(generations, [&](uint32_t generation) { return IsRetired(dataset, generation); });
  }
  return generations;
}

Result<std::optional<uint32_t>> IndexRoot::ReadLatest(std::string_view dataset) const {
  const Result<uint32_t> latest = ReadNumberFile(DatasetPath(dataset) + "/LATEST");
  if (latest.code() == ErrorCode::kNotFound) return std::optional<uint32_t>();
  if (!latest.ok()) return latest.status();
  return std::optional<uint32_t>(*latest);
}

Result<uint32_t> IndexRoot::Latest(std::string_view dataset) const {
  TARN_RETURN_IF_ERROR(RequireDataset(dataset));
  TARN_ASSIGN_OR_RETURN(const std::optional<uint32_t> latest, ReadLatest(dataset));
  if (latest && io::IsDirectory(GenerationPath(dataset, *latest)) && !IsRetired(dataset, *latest)) {
    return *latest;
  }
  // The first publisher died before it wrote the pointer, or the generation was taken away.
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> generations, Generations(dataset));
  if (!generations.empty()) return generations.back();
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> retired, RetiredGenerations(dataset));
  if (!retired.empty()) {
    return Status(ErrorCode::kNotFound, fmt::format("all generations of dataset '{}' in index root '{}' are "
                                                    "retired",
                                                    dataset, path_))
        .WithHint(fmt::format("name one of them ('{0}@{1}'), list it again with 'tarn-index retire {0}@{1} "
                              "--undo', or publish",
                              dataset, retired.back()));
  }
  return Status(ErrorCode::kNotFound,
                fmt::format("dataset '{}' in index root '{}' has no generation yet", dataset, path_))
      .WithHint("'tarn-index publish' makes one");
}

Result<uint32_t> IndexRoot::Resolve(const DatasetReference& reference) const {
  if (reference.digest) return ResolveDigest(reference.name, *reference.digest);
  if (!reference.generation) return Latest(reference.name);
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> generations, AllGenerations(reference.name));
  if (std::binary_search(generations.begin(), generations.end(), *reference.generation)) {
    return *reference.generation;
  }
  return Status(ErrorCode::kNotFound,
                fmt::format("index root '{}' has no generation '{}'", path_, reference.ToString()))
      .WithHint(generations.empty()
                    ? "the dataset has none yet: 'tarn-index publish' makes one"
                    : fmt::format("the newest is '{}@{}'; 'tarn datasets --index {}' lists all",
                                  reference.name, generations.back(), path_));
}

Result<uint32_t> IndexRoot::ResolveDigest(const std::string& dataset, const Digest& digest) const {
  TARN_ASSIGN_OR_RETURN(std::vector<uint32_t> generations, AllGenerations(dataset));
  // Listed ones are preferred: the same content may have been published again.
  std::stable_partition(generations.begin(), generations.end(),
                        [&](uint32_t generation) { return IsRetired(dataset, generation); });
  Status unreadable;
  for (auto generation = generations.rbegin(); generation != generations.rend(); ++generation) {
    const auto reader = GenerationReader::Open(GenerationPath(dataset, *generation));
    if (!reader.ok()) {
      if (unreadable.ok()) unreadable = reader.status();
      continue;
    }
    if ((*reader)->facts().digest == digest) return *generation;
  }
  // It may be the one that could not be read.
  TARN_RETURN_IF_ERROR(unreadable);
  return Status(ErrorCode::kNotFound,
                fmt::format("no generation of dataset '{}' in index root '{}' has digest {}", dataset, path_,
                            digest.ToHex()))
      .WithHint(fmt::format("'tarn datasets --index {}' lists generations and digests", path_));
}

// ---- Numbers ----------------------------------------------------------------------------------------------

Result<uint32_t> IndexRoot::DatasetNumber(std::string_view dataset) const {
  TARN_RETURN_IF_ERROR(RequireDataset(dataset));
  Result<uint32_t> number = ReadNumberFile(DatasetPath(dataset) + "/number");
  if (number.code() == ErrorCode::kNotFound) {
    return Status(ErrorCode::kCorrupt, fmt::format("'{}' has no file 'number'", DatasetPath(dataset)))
        .WithHint("restore it from a backup: node ids of every mount depend on it");
  }
  return number;
}

// Takes the lowest number above all that were ever taken. Two processes that try the same one: mkdir lets one
// of them have it.
Result<uint32_t> IndexRoot::TakeNumber(std::string_view dataset) {
  const std::string numbers = io::JoinPath(path_, "numbers");
  TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> taken, ListNumbers(numbers));
  for (uint32_t number = taken.empty() ? 1 : taken.back() + 1; number != 0; ++number) {
    const std::string directory = fmt::format("{}/{}", numbers, number);
    const Status made = io::MakeDirectory(directory);
    if (made.code() == ErrorCode::kAlreadyExists) continue;
    TARN_RETURN_IF_ERROR(made);
    // For people: whose number it is, also when the dataset is gone.
    TARN_RETURN_IF_ERROR(
        io::CreateFileAtomically(io::JoinPath(directory, "dataset"), fmt::format("{}\n", dataset)));
    TARN_RETURN_IF_ERROR(io::SyncDirectory(numbers));
    return number;
  }
  return Status(ErrorCode::kUnsupported, fmt::format("index root '{}' has no dataset number left", path_));
}

Result<uint32_t> IndexRoot::DatasetNumberOrCreate(std::string_view dataset) {
  if (!IsDatasetName(dataset)) return DatasetReference::Parse(dataset).status();
  Result<uint32_t> existing = DatasetNumber(dataset);
  if (existing.ok() || existing.code() != ErrorCode::kNotFound) return existing;

  TARN_ASSIGN_OR_RETURN(const uint32_t number, TakeNumber(dataset));
  TARN_ASSIGN_OR_RETURN(const std::string staged, MakeStagingDirectory("dataset"));
  TARN_RETURN_IF_ERROR(io::CreateFileAtomically(io::JoinPath(staged, "number"), fmt::format("{}\n", number)));
  const Status renamed = io::RenameNoReplace(staged, DatasetPath(dataset));
  if (renamed.code() == ErrorCode::kAlreadyExists) {
    // Another publisher named the dataset first. Our number stays taken and means nothing.
    TARN_RETURN_IF_ERROR(io::RemoveTree(staged));
    return DatasetNumber(dataset);
  }
  TARN_RETURN_IF_ERROR(renamed);
  TARN_RETURN_IF_ERROR(io::SyncDirectory(io::JoinPath(path_, "datasets")));
  return number;
}

// ---- Publishing -------------------------------------------------------------------------------------------

Status IndexRoot::PublishGeneration(std::string_view dataset, uint32_t generation,
                                    const std::string& directory) {
  TARN_RETURN_IF_ERROR(RequireDataset(dataset));
  TARN_RETURN_IF_ERROR(io::RenameNoReplace(directory, GenerationPath(dataset, generation)));
  TARN_RETURN_IF_ERROR(io::SyncDirectory(DatasetPath(dataset)));
  return RepairLatest(dataset);
}

Status IndexRoot::RepairLatest(std::string_view dataset) {
  // Looks again after each write: of several publishers whoever writes last has seen what all of them
  // renamed, so the pointer never ends up behind.
  for (;;) {
    TARN_ASSIGN_OR_RETURN(const std::vector<uint32_t> generations, Generations(dataset));
    if (generations.empty()) return io::RemoveFile(DatasetPath(dataset) + "/LATEST");
    const Result<std::optional<uint32_t>> latest = ReadLatest(dataset);
    if (!latest.ok() && latest.code() != ErrorCode::kCorrupt) return latest.status();
    if (latest.ok() && *latest == generations.back()) return Status::Ok();
    TARN_RETURN_IF_ERROR(
        io::WriteFileAtomically(DatasetPath(dataset) + "/LATEST", fmt::format("{}\n", generations.back())));
  }
}

// ---- Staging ----------------------------------------------------------------------------------------------

std::string IndexRoot::staging_path() const {
  return io::JoinPath(path_, "staging");
}

std::string IndexRoot::JournalPath(std::string_view dataset) const {
  return fmt::format("{}/{}/{}", staging_path(), kJournals, dataset);
}

std::string IndexRoot::PlansPath() const {
  return io::JoinPath(staging_path(), kPlans);
}

Result<std::string> IndexRoot::MakeStagingDirectory(std::string_view purpose) {
  // Where many start at once, one that cleans may have the lock for a moment: then another name.
  for (int attempt = 0; attempt < kStagingAttempts; ++attempt) {
    std::string directory = fmt::format("{}/{}-{}", staging_path(), purpose, MakeUuid());
    // The lock first: whoever cleans finds no directory without an owner.
    const std::string lock_path = directory + std::string(kLockSuffix);
    TARN_ASSIGN_OR_RETURN(std::optional<io::FileLock> lock, io::FileLock::TryAcquire(lock_path));
    if (!lock) continue;
    const std::lock_guard guard(staging_mutex_);
    staging_locks_.push_back({lock_path, std::move(*lock)});
    TARN_RETURN_IF_ERROR(io::MakeDirectory(directory));
    return directory;
  }
  return Status(ErrorCode::kBusy, fmt::format("new directories in '{}' were cleaned by others {} times",
                                              staging_path(), kStagingAttempts))
      .WithHint("try again");
}

// A directory, its lock, or both may be left of a work.
Result<std::vector<std::string>> IndexRoot::StagingNames() const {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(staging_path()));
  std::set<std::string> works;
  for (std::string name : names) {
    if (name.ends_with(kLockSuffix)) name.resize(name.size() - kLockSuffix.size());
    works.insert(std::move(name));
  }
  works.erase(std::string(kJournals));
  works.erase(std::string(kPlans));
  return std::vector<std::string>(works.begin(), works.end());
}

Result<std::vector<IndexRoot::StagingWork>> IndexRoot::ListStaging() const {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, StagingNames());
  std::vector<StagingWork> works;
  for (const std::string& name : names) {
    StagingWork work{.path = io::JoinPath(staging_path(), name), .alive = false};
    const std::string lock_path = work.path + std::string(kLockSuffix);
    if (io::Exists(lock_path)) {
      const auto lock = io::FileLock::TryAcquire(lock_path);
      // Who may not ask takes it for alive.
      work.alive = !lock.ok() || !lock->has_value();
    }
    works.push_back(std::move(work));
  }
  return works;
}

Status IndexRoot::CleanStaging() {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> works, StagingNames());
  for (const std::string& work : works) {
    const std::string path = io::JoinPath(staging_path(), work);
    const std::string lock_path = path + std::string(kLockSuffix);
    TARN_ASSIGN_OR_RETURN(const std::optional<io::FileLock> lock, io::FileLock::TryAcquire(lock_path));
    if (!lock) continue;  // its owner lives
    TARN_RETURN_IF_ERROR(io::RemoveTree(path));
    TARN_RETURN_IF_ERROR(io::RemoveFile(lock_path));
  }
  return Status::Ok();
}

}  // namespace tarn::index

// Google Benchmark suite of the index layer: codec, bundles, generations, lookups, scans.
//
// Names and sizes are like ImageNet's (n01440764_10026.JPEG, about 110 KiB, times of their own); a generation
// has a million members unless said otherwise. The counter bytes_per_member is what the generation's
// directory takes for all rows of a member, chunk checksums left out.
//
//     index_bench --benchmark_filter=Lookup
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tarn/index/bundle_builder.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/generation_writer.h"
#include "tarn/index/index_root.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

void Check(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "index_bench: {}\n", status.ToString());
  std::exit(3);
}
template <typename T>
T Take(Result<T> result) {
  Check(result.status());
  return std::move(result).value();
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    path_ = (std::filesystem::temp_directory_path() / "index_bench-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr)
      Check(Status(ErrorCode::kIo, "cannot make a temporary directory"));
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

uint64_t BytesBelow(const std::string& path) {
  uint64_t bytes = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(path)) {
    if (item.is_regular_file()) bytes += item.file_size();
  }
  return bytes;
}

// The members of one class's archive, in the order of a directory listing.
std::vector<tar::Member> MakeMembers(uint32_t archive, uint32_t count) {
  std::mt19937_64 random(archive);
  std::lognormal_distribution<double> sizes(11.4, 0.5);
  std::vector<tar::Member> members(count);
  uint64_t offset = 0;
  for (uint32_t ordinal = 0; ordinal < count; ++ordinal) {
    tar::Member& member = members[ordinal];
    member.ordinal = ordinal;
    member.name = fmt::format("n{:08}_{}.JPEG", 1440764 + archive * 137, ordinal * 11 + random() % 11);
    member.mode = 0644;
    member.uid = member.gid = 1000;
    member.user_name = member.group_name = "imagenet";
    member.mtime = 1'339'000'000 + static_cast<int64_t>(random() % 16384);
    member.logical_size = member.stored_size = static_cast<uint64_t>(sizes(random));
    member.header_offset = offset;
    member.data_offset = offset + 512;
    member.extents = {{static_cast<int64_t>(member.data_offset), member.logical_size}};
    offset = member.data_offset + (member.logical_size + 511) / 512 * 512;
  }
  return members;
}

ArchiveId MakeId(uint32_t archive, const std::vector<tar::Member>& members) {
  std::mt19937_64 random(~uint64_t{archive});
  return {members.empty() ? 0 : members.back().header_offset + (64 << 10), Digest{random(), random()}};
}

ArchiveFacts BuildBundle(const ArchiveId& id, const std::vector<tar::Member>& members,
                         const std::string& scratch, const std::string& file) {
  tar::FindingList findings;
  BundleBuilder builder({.scratch_directory = scratch}, &findings);
  for (const tar::Member& member : members) Check(builder.AddMember(member));
  return Take(builder.Finish(id, {}, id.size, file));
}

// A root with one bundle an archive, and a generation of them. Made once for each shape.
class Dataset {
 public:
  using Shape = std::pair<uint32_t, uint32_t>;  // archives, members of each

  static std::map<Shape, std::unique_ptr<Dataset>>& All() {
    static std::map<Shape, std::unique_ptr<Dataset>> datasets;
    return datasets;
  }
  static const Dataset& Get(uint32_t archives, uint32_t members) {
    auto& dataset = All()[{archives, members}];
    if (!dataset) dataset.reset(new Dataset(archives, members));
    return *dataset;
  }

  const GenerationReader& reader() const { return *reader_; }
  const IndexRoot& root() const { return *root_; }
  const GenerationRows& rows() const { return rows_; }
  const std::string& generation() const { return generation_; }
  std::string Scratch(const std::string& name) const { return directory_.path() + "/" + name; }
  const ArchiveId& id(size_t archive) const { return rows_.manifest[archive].id; }
  const ArchiveFacts& facts(size_t archive) const { return facts_[archive]; }
  const std::string& name(size_t archive, size_t ordinal) const { return names_[archive][ordinal]; }
  double BytesPerMember() const {
    return static_cast<double>(BytesBelow(generation_)) / static_cast<double>(rows_.facts.members);
  }

 private:
  Dataset(uint32_t archives, uint32_t members) {
    root_ = Take(IndexRoot::OpenOrCreate(directory_.path() + "/root"));
    rows_.facts.format_version = root_->format_version();
    rows_.directories.push_back({});
    for (uint32_t archive = 0; archive < archives; ++archive)
      AddArchive(MakeMembers(archive, members), archive);
    rows_.facts.next_number = archives + 1;
    generation_ = directory_.path() + "/generation";
    Check(WriteGeneration(*root_, rows_, generation_));
    reader_ = Take(GenerationReader::Open(generation_));
  }

  void AddArchive(const std::vector<tar::Member>& members, uint32_t archive) {
    ManifestRow row;
    row.number = archive + 1;
    row.path = fmt::format("{}.tar", archive);
    row.shown_name = std::to_string(archive);
    row.id = MakeId(archive, members);
    const std::string file = directory_.path() + "/bundle.sst";
    facts_.push_back(BuildBundle(row.id, members, directory_.path(), file));
    Check(root_->AddBundle(row.id, file));
    row.first_directory = rows_.facts.directories;
    row.directories = facts_.back().directories;
    row.members = members.size();
    rows_.facts.directories += row.directories;
    rows_.facts.members += row.members;
    ++rows_.facts.archives;
    rows_.dentries.push_back({0, row.shown_name, {TreeDentryKind::kArchive, row.number}});
    ++rows_.directories[0].entries;
    rows_.manifest.push_back(row);
    names_.emplace_back();
    for (const tar::Member& member : members) names_.back().push_back(member.name);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<IndexRoot> root_;
  GenerationRows rows_;
  std::vector<ArchiveFacts> facts_;
  std::vector<std::vector<std::string>> names_;
  std::string generation_;
  std::shared_ptr<const GenerationReader> reader_;
};

const Dataset& DatasetOf(const benchmark::State& state) {
  return Dataset::Get(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
}

// ---- Codec

MemberRecord RecordOf(const tar::Member& member) {
  MemberRecord record;
  record.mode = member.mode;
  record.uid = member.uid;
  record.gid = member.gid;
  record.user_name = member.user_name;
  record.group_name = member.group_name;
  record.mtime = member.mtime;
  record.logical_size = record.stored_size = member.stored_size;
  record.header_offset = member.header_offset;
  record.data_offset = member.data_offset;
  record.extents = member.extents;
  record.directory = 0;
  record.name = member.name;
  return record;
}

constexpr uint32_t kCodecMembers = 1000;

MemberDefaults CodecDefaults() {
  return {.mode = 0644,
          .uid = 1000,
          .gid = 1000,
          .user_name = "imagenet",
          .group_name = "imagenet",
          .mtime = 1'339'000'000};
}

void EncodeMember(benchmark::State& state) {
  std::vector<MemberRecord> records;
  for (const tar::Member& member : MakeMembers(0, kCodecMembers)) records.push_back(RecordOf(member));
  const MemberDefaults defaults = CodecDefaults();
  std::string bytes;
  size_t at = 0;
  for (auto _ : state) {
    bytes.clear();
    Encode(records[at++ % kCodecMembers], defaults, &bytes);
    benchmark::DoNotOptimize(bytes.data());
  }
}
BENCHMARK(EncodeMember);

void DecodeMember(benchmark::State& state) {
  const MemberDefaults defaults = CodecDefaults();
  std::vector<std::string> encoded;
  for (const tar::Member& member : MakeMembers(0, kCodecMembers)) {
    Encode(RecordOf(member), defaults, &encoded.emplace_back());
  }
  MemberRecord record;
  size_t at = 0;
  for (auto _ : state) {
    Check(Decode(encoded[at++ % kCodecMembers], defaults, &record));
    benchmark::DoNotOptimize(record);
  }
}
BENCHMARK(DecodeMember);

// ---- Writing

void WriteBundle(benchmark::State& state) {
  const auto members = MakeMembers(1, static_cast<uint32_t>(state.range(0)));
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/bundle.sst";
  for (auto _ : state) {
    BuildBundle(MakeId(1, members), members, directory.path(), file);
    Check(io::RemoveFile(file));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(WriteBundle)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Links, packs, ingests, syncs, opens again and checks.
void IngestGeneration(benchmark::State& state) {
  const Dataset& dataset = DatasetOf(state);
  const std::string directory = dataset.Scratch("again");
  for (auto _ : state) {
    Check(WriteGeneration(dataset.root(), dataset.rows(), directory));
    state.PauseTiming();
    Check(io::RemoveTree(directory));
    state.ResumeTiming();
  }
}
BENCHMARK(IngestGeneration)->Args({100, 10'000})->Args({2000, 500})->Unit(benchmark::kMillisecond);

// ---- Reading

void OpenGeneration(benchmark::State& state) {
  const Dataset& dataset = DatasetOf(state);
  for (auto _ : state) benchmark::DoNotOptimize(Take(GenerationReader::Open(dataset.generation())));
}
BENCHMARK(OpenGeneration)->Args({100, 10'000})->Args({2000, 500})->Unit(benchmark::kMillisecond);

// What a first open of a file asks: its name, then its attributes and extents. `local`: one archive after the
// other, as loaders shuffle within a shard; otherwise anywhere.
void Lookup(benchmark::State& state, bool local) {
  const Dataset& dataset = DatasetOf(state);
  const auto archives = static_cast<uint64_t>(state.range(0));
  const auto members = static_cast<uint64_t>(state.range(1));
  std::mt19937_64 random(4711);
  DentryRecord dentry;
  MemberRecord member;
  uint64_t done = 0;
  for (auto _ : state) {
    const size_t archive = local ? done / 2000 % archives : random() % archives;
    const size_t ordinal = random() % members;
    ++done;
    const ArchiveId& id = dataset.id(archive);
    const bool found =
        Take(dataset.reader().GetDentry(id, 0, dataset.name(archive, ordinal), &dentry)) &&
        Take(dataset.reader().GetMember(id, dataset.facts(archive).defaults, dentry.target_ordinal, &member));
    if (!found) Check(Status(ErrorCode::kCorrupt, "a member is missing"));
  }
  state.counters["bytes_per_member"] = dataset.BytesPerMember();
}
BENCHMARK_CAPTURE(Lookup, anywhere, false)
    ->Args({100, 10'000})
    ->Args({2000, 500})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Lookup, local, true)->Args({100, 10'000})->Args({2000, 500})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Lookup, cached, false)->Args({10, 10'000})->Unit(benchmark::kMicrosecond);

void LookupMiss(benchmark::State& state) {
  const Dataset& dataset = DatasetOf(state);
  DentryRecord dentry;
  size_t archive = 0;
  for (auto _ : state) {
    const ArchiveId& id = dataset.id(archive++ % static_cast<size_t>(state.range(0)));
    benchmark::DoNotOptimize(Take(dataset.reader().GetDentry(id, 0, "n01440764_10026.json", &dentry)));
  }
}
BENCHMARK(LookupMiss)->Args({100, 10'000})->Unit(benchmark::kMicrosecond);

// readdirplus in archive order: names and members of one archive, both by cursor.
void ScanDirectory(benchmark::State& state) {
  const Dataset& dataset = DatasetOf(state);
  size_t archive = 0;
  for (auto _ : state) {
    const ArchiveId& id = dataset.id(archive % static_cast<size_t>(state.range(0)));
    const auto names = dataset.reader().Dentries(id, 0);
    std::string_view name;
    DentryRecord dentry;
    while (Take(names->Next(&name, &dentry))) benchmark::DoNotOptimize(dentry);
    const auto members = dataset.reader().Members(id, dataset.facts(archive).defaults);
    MemberRecord member;
    for (uint32_t ordinal = 0; Take(members->Get(ordinal, &member)); ++ordinal)
      benchmark::DoNotOptimize(member);
    archive = (archive + 1) % static_cast<size_t>(state.range(0));
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(ScanDirectory)->Args({100, 10'000})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tarn::index

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  // Before RocksDB's own statics go.
  tarn::index::Dataset::All().clear();
  return 0;
}

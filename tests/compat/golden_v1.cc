#include "tests/compat/golden_v1.h"

#include <map>
#include <memory>
#include <vector>

#include "index/sst.h"
#include "tarn/base/bytes.h"
#include "tarn/index/bundle_builder.h"
#include "tarn/index/generation_writer.h"
#include "tarn/index/index_root.h"
#include "tarn/io/filesystem.h"

namespace tarn::index {
namespace {

constexpr ArchiveId kMixed{70'000'000, Digest{0x0102030405060708, 0x090a0b0c0d0e0f10}};
constexpr ArchiveId kPlain{20'480, Digest{0xffeeddccbbaa9988, 0x7766554433221100}};
constexpr ArchiveId kDamaged{512, Digest{0x1111111111111111, 0x2222222222222222}};
constexpr ArchiveId kLoose{0, Digest{0x99aa06d3014798d8, 0x6001c324468d497f}};

std::vector<uint64_t> ChunksOf(const ArchiveId& id) {
  std::vector<uint64_t> chunks((id.size + (128 << 10) - 1) / (128 << 10));
  for (size_t i = 0; i < chunks.size(); ++i) chunks[i] = id.digest.low * (i + 1);
  return chunks;
}

class Members {
 public:
  tar::Member& Add(tar::MemberType type, std::string name, uint64_t size) {
    tar::Member member;
    member.ordinal = list.size();
    member.type = type;
    member.name = std::move(name);
    member.mode = 0644;
    member.uid = 1000;
    member.gid = 1000;
    member.user_name = "data";
    member.group_name = "data";
    member.mtime = 1'700'000'000;
    member.logical_size = member.stored_size = size;
    member.header_offset = end_;
    member.data_offset = end_ + 512;
    if (size > 0) member.extents = {{static_cast<int64_t>(member.data_offset), size}};
    end_ = member.data_offset + (size + 511) / 512 * 512;
    list.push_back(std::move(member));
    return list.back();
  }

  std::vector<tar::Member> list;

 private:
  uint64_t end_ = 0;
};

// A member of every type, and one for every field that is not as most have it.
std::vector<tar::Member> MixedMembers() {
  using tar::MemberType;
  Members members;
  members.Add(MemberType::kDirectory, "train/", 0).mode = 0755;
  members.Add(MemberType::kRegular, "train/a.jpg", 110'000);
  members.Add(MemberType::kRegular, "train/times.jpg", 1).mtime_ns = 123'456'789;
  members.list.back().mtime = -1;
  tar::Member& owner = members.Add(MemberType::kRegular, "train/owner.jpg", 2);
  owner.mode = 04755;
  owner.uid = uint64_t{1} << 40;
  owner.gid = 0;
  owner.user_name = "root";
  owner.group_name = "";
  members.Add(MemberType::kSymlink, "train/link", 0).link = "../elsewhere";
  members.Add(MemberType::kHardLink, "train/hard", 0).link = "train/a.jpg";
  members.Add(MemberType::kFifo, "fifo", 0);
  members.Add(MemberType::kCharDevice, "null", 0).device_major = 1;
  members.list.back().device_minor = 3;
  members.Add(MemberType::kBlockDevice, "disk", 0).device_major = 8;
  members.Add(MemberType::kContiguous, "contiguous", 513);
  tar::Member& sparse = members.Add(MemberType::kRegular, "sparse", 1024);
  sparse.logical_size = 1'000'000;
  sparse.data_offset += 512;
  const auto data = static_cast<int64_t>(sparse.data_offset);
  sparse.extents = {{data, 512},
                    {tar::Extent::kHole, 498'976},
                    {data + 512, 256},
                    {tar::Extent::kHole, 500'000},
                    {data + 1000, 256}};
  members.Add(MemberType::kRegular, "xattrs", 3).xattrs = {{"user.label", "cat"}, {"user.empty", ""}};
  members.Add(MemberType::kRegular, std::string("bytes-\xff\xfe\x01"), 0);
  members.Add(MemberType::kRegular, "again", 1);
  members.Add(MemberType::kRegular, "again", 2);
  members.Add(MemberType::kRegular, "../out", 5);
  members.Add(MemberType::kRegular, "made/up/parents", 6).header_offset += 1;
  return members.list;
}

std::vector<tar::Member> PlainMembers() {
  Members members;
  for (const char* const name : {"0", "1", "2"}) members.Add(tar::MemberType::kRegular, name, 4096);
  return members.list;
}

Result<ArchiveFacts> AddBundle(IndexRoot* root, const ArchiveId& id, const std::vector<tar::Member>& members,
                               tar::FindingList* findings) {
  TARN_ASSIGN_OR_RETURN(const std::string staged, root->MakeStagingDirectory("golden"));
  BundleBuilder builder({.scratch_directory = staged}, findings);
  for (const tar::Member& member : members) TARN_RETURN_IF_ERROR(builder.AddMember(member));
  const std::string file = staged + "/bundle.sst";
  TARN_ASSIGN_OR_RETURN(ArchiveFacts facts, builder.Finish(id, ChunksOf(id), id.size, file));
  TARN_RETURN_IF_ERROR(root->AddBundle(id, file));
  return facts;
}

ManifestRow RowOf(uint32_t number, const std::string& path, ManifestKind kind, const ArchiveId& id) {
  ManifestRow row;
  row.number = number;
  row.path = path;
  row.kind = kind;
  row.id = id;
  row.hint = {id.size, 1'700'000'000'000'000'001, -1, 4711};
  row.access = {0640, 1000, 100};
  return row;
}

GenerationRows FirstGeneration(const ArchiveFacts& mixed) {
  GenerationRows rows;
  GenerationFacts& facts = rows.facts;
  facts.format_version = 1;
  facts.root_uuid = "0f8fad5b-d9cd-469f-a165-70867728950e";
  facts.dataset = "golden";
  facts.dataset_number = 1;
  facts.generation = 1;
  facts.digest = {0xaaaaaaaaaaaaaaaa, 0x5555555555555555};
  facts.created = 1'700'000'000;
  facts.writer = "tarn-index 0.1.0";
  facts.source_path = "datasets/golden";
  facts.next_number = 4;
  facts.archives = facts.loose_files = facts.quarantined = 1;
  facts.tree_directories = 2;
  facts.directories = 2 + mixed.directories;
  facts.members = mixed.members;
  facts.bytes = kMixed.size + kLoose.size + kDamaged.size;

  ManifestRow archive = RowOf(1, "sub/mixed.tar", ManifestKind::kArchive, kMixed);
  archive.tree_directory = 1;
  archive.shown_name = "mixed";
  archive.first_directory = 2;
  archive.directories = mixed.directories;
  archive.members = mixed.members;
  archive.warnings = mixed.warnings;
  ManifestRow loose = RowOf(2, "labels.csv", ManifestKind::kLooseFile, kLoose);
  loose.shown_name = "labels.csv";
  ManifestRow damaged = RowOf(3, "damaged.tar", ManifestKind::kQuarantined, kDamaged);
  damaged.errors = 1;
  rows.manifest = {archive, loose, damaged};
  rows.directories = {{.parent = 0, .name = "", .entries = 2, .subdirectories = 1},
                      {.parent = 0, .name = "sub", .entries = 1, .subdirectories = 1}};
  rows.dentries = {{0, "sub", {TreeDentryKind::kDirectory, 1}},
                   {0, "labels.csv", {TreeDentryKind::kLooseFile, 2}},
                   {1, "mixed", {TreeDentryKind::kArchive, 1}}};
  return rows;
}

// The first one, and an archive more.
GenerationRows SecondGeneration(GenerationRows rows, const ArchiveFacts& plain) {
  rows.facts.generation = 2;
  rows.facts.digest.low = 0x6666666666666666;
  rows.facts.next_number = 5;
  rows.facts.archives = 2;
  rows.facts.members += plain.members;
  rows.facts.bytes += kPlain.size;
  ManifestRow archive = RowOf(4, "plain.tar", ManifestKind::kArchive, kPlain);
  archive.shown_name = "plain";
  archive.first_directory = rows.facts.directories;
  archive.directories = plain.directories;
  archive.members = plain.members;
  rows.facts.directories += plain.directories;
  rows.manifest.push_back(archive);
  rows.dentries.push_back({0, "plain", {TreeDentryKind::kArchive, 4}});
  ++rows.directories[0].entries;
  ++rows.directories[0].subdirectories;
  return rows;
}

}  // namespace

Status WriteGoldenV1(const std::string& path) {
  TARN_ASSIGN_OR_RETURN(const auto root, IndexRoot::OpenOrCreate(path));
  tar::FindingList none;
  tar::FindingList of_mixed;
  of_mixed.Add(
      {tar::FindingCode::kLoneZeroBlock, tar::Severity::kWarning, 69'999'488, "made/up/parents", "one"});
  tar::FindingList of_damaged;
  of_damaged.Add(
      {tar::FindingCode::kNotATar, tar::Severity::kError, 0, "", "the first block is no tar header"});
  TARN_ASSIGN_OR_RETURN(const ArchiveFacts mixed, AddBundle(root.get(), kMixed, MixedMembers(), &of_mixed));
  TARN_ASSIGN_OR_RETURN(const ArchiveFacts plain, AddBundle(root.get(), kPlain, PlainMembers(), &none));
  TARN_RETURN_IF_ERROR(AddBundle(root.get(), kDamaged, {}, &of_damaged).status());
  TARN_ASSIGN_OR_RETURN(const std::string staged, root->MakeStagingDirectory("golden"));
  TARN_RETURN_IF_ERROR(WriteLooseBundle(kLoose, {}, staged + "/loose.sst").status());
  TARN_RETURN_IF_ERROR(root->AddBundle(kLoose, staged + "/loose.sst"));

  TARN_RETURN_IF_ERROR(root->DatasetNumberOrCreate("golden").status());
  const GenerationRows first = FirstGeneration(mixed);
  TARN_RETURN_IF_ERROR(WriteGeneration(*root, first, staged + "/1"));
  TARN_RETURN_IF_ERROR(root->PublishGeneration("golden", 1, staged + "/1"));
  // Packed, so that both kinds of generation are there.
  TARN_RETURN_IF_ERROR(
      WriteGeneration(*root, SecondGeneration(first, plain), staged + "/2", {.pack_above_bundles = 0}));
  TARN_RETURN_IF_ERROR(root->PublishGeneration("golden", 2, staged + "/2"));
  return io::RemoveTree(staged);
}

Result<std::string> DumpRows(const std::string& generation) {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(generation));
  std::map<std::string, std::string> rows;
  for (const std::string& name : names) {
    if (!name.ends_with(".sst")) continue;
    TARN_ASSIGN_OR_RETURN(const auto scan, SstScan::Open(generation + "/" + name));
    for (;;) {
      TARN_ASSIGN_OR_RETURN(const bool found, scan->Next());
      if (!found) break;
      rows.emplace(scan->key(), scan->value());
    }
  }
  std::string text;
  for (const auto& [key, value] : rows) text += ToHex(key) + " " + ToHex(value) + "\n";
  return text;
}

}  // namespace tarn::index

// Made-up archives for tests of bundles and generations: members as a walk gives them, no tar behind them.
#ifndef TARN_TESTS_UNIT_INDEX_ARCHIVES_H_
#define TARN_TESTS_UNIT_INDEX_ARCHIVES_H_

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tarn/index/bundle_builder.h"
#include "tarn/index/generation_writer.h"
#include "tarn/index/index_root.h"

namespace tarn::index {

// A list of members with ordinals and offsets as an archive would have them.
class MadeUpArchive {
 public:
  tar::Member& Add(tar::MemberType type, std::string name, uint64_t size = 0) {
    tar::Member member;
    member.ordinal = members.size();
    member.name = std::move(name);
    member.type = type;
    member.mode = type == tar::MemberType::kDirectory ? 0755 : 0644;
    member.uid = 1000;
    member.gid = 100;
    member.user_name = "data";
    member.group_name = "users";
    member.mtime = 1'700'000'000;
    member.logical_size = member.stored_size = size;
    member.header_offset = end;
    member.data_offset = end + 512;
    if (size > 0) member.extents = {{static_cast<int64_t>(member.data_offset), size}};
    end = member.data_offset + (size + 511) / 512 * 512;
    members.push_back(std::move(member));
    return members.back();
  }
  tar::Member& File(std::string name, uint64_t size = 1000) {
    return Add(tar::MemberType::kRegular, std::move(name), size);
  }
  tar::Member& Directory(std::string name) { return Add(tar::MemberType::kDirectory, std::move(name)); }
  tar::Member& HardLink(std::string name, std::string target) {
    tar::Member& member = Add(tar::MemberType::kHardLink, std::move(name));
    member.link = std::move(target);
    return member;
  }

  // Builds the bundle in `scratch` and gives its facts.
  Result<ArchiveFacts> Build(const ArchiveId& id, const std::string& scratch, const std::string& file,
                             size_t memory_bytes = size_t{64} << 20) const {
    tar::FindingList findings;
    BundleBuilder builder({.scratch_directory = scratch, .memory_bytes = memory_bytes}, &findings);
    for (const tar::Member& member : members) TARN_RETURN_IF_ERROR(builder.AddMember(member));
    return builder.Finish(id, chunks, end + 1024, file);
  }

  std::vector<tar::Member> members;
  std::vector<uint64_t> chunks;
  uint64_t end = 0;
};

// A dataset of archives in one directory, as its publisher would describe it.
class MadeUpDataset {
 public:
  MadeUpDataset() {
    rows.facts.format_version = 1;
    rows.facts.root_uuid = "0f8fad5b-d9cd-469f-a165-70867728950e";
    rows.facts.dataset = "made-up";
    rows.facts.dataset_number = 1;
    rows.facts.generation = 1;
    rows.facts.digest = {0x0123456789abcdef, 0xfedcba9876543210};
    rows.facts.created = 1'700'000'000;
    rows.facts.writer = "test";
    rows.directories.push_back({});
  }

  void AddArchive(const std::string& name, const ArchiveId& id, const ArchiveFacts& facts) {
    ManifestRow row = Row(name + ".tar", id);
    row.shown_name = name;
    row.first_directory = rows.facts.directories;
    row.directories = facts.directories;
    row.members = facts.members;
    rows.facts.directories += facts.directories;
    rows.facts.members += facts.members;
    ++rows.facts.archives;
    ++rows.directories[0].subdirectories;
    Show(row, TreeDentryKind::kArchive);
  }
  void AddLooseFile(const std::string& name, const ArchiveId& id) {
    ManifestRow row = Row(name, id);
    row.kind = ManifestKind::kLooseFile;
    row.shown_name = name;
    ++rows.facts.loose_files;
    Show(row, TreeDentryKind::kLooseFile);
  }
  void AddQuarantined(const std::string& name, const ArchiveId& id) {
    ManifestRow row = Row(name, id);
    row.kind = ManifestKind::kQuarantined;
    row.errors = 1;
    ++rows.facts.quarantined;
    rows.manifest.push_back(row);
  }

  GenerationRows rows;

 private:
  ManifestRow Row(const std::string& path, const ArchiveId& id) {
    ManifestRow row;
    row.number = rows.facts.next_number++;
    row.path = path;
    row.id = id;
    row.hint = {id.size, 1'700'000'000'123'456'789, 1'700'000'001'000'000'000, 4711 + row.number};
    row.access = {0640, 1000, 100};
    rows.facts.bytes += id.size;
    return row;
  }
  void Show(const ManifestRow& row, TreeDentryKind kind) {
    rows.dentries.push_back({0, row.shown_name, {kind, row.number}});
    ++rows.directories[0].entries;
    rows.manifest.push_back(row);
  }
};

#define ASSERT_OK(expr)                               \
  do {                                                \
    const auto& checked = (expr);                     \
    ASSERT_TRUE(checked.ok()) << StatusText(checked); \
  } while (false)
#define EXPECT_OK(expr)                               \
  do {                                                \
    const auto& checked = (expr);                     \
    EXPECT_TRUE(checked.ok()) << StatusText(checked); \
  } while (false)

inline std::string StatusText(const Status& status) {
  return status.ToString();
}
template <typename T>
std::string StatusText(const Result<T>& result) {
  return result.status().ToString();
}

}  // namespace tarn::index

#endif  // TARN_TESTS_UNIT_INDEX_ARCHIVES_H_

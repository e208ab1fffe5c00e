// Records with every field at its usual value, at its limits and anywhere between: for round trips.
#ifndef TARN_TESTS_UNIT_INDEX_RANDOM_RECORDS_H_
#define TARN_TESTS_UNIT_INDEX_RANDOM_RECORDS_H_

#include <cstdint>
#include <random>
#include <string>

#include "tarn/index/records.h"

namespace tarn::index {

class RandomRecords {
 public:
  explicit RandomRecords(uint32_t seed) : engine_(seed) {}

  bool OneIn(unsigned n) { return engine_() % n == 0; }
  uint64_t Number64() { return engine_() >> (engine_() % 64); }
  uint32_t Number32() { return static_cast<uint32_t>(engine_()) >> (engine_() % 32); }
  int64_t Signed64() {
    return OneIn(2) ? static_cast<int64_t>(Number64()) : -static_cast<int64_t>(Number64() / 2);
  }
  std::string Text(size_t longest = 20) {
    std::string text(engine_() % (longest + 1), '\0');
    for (char& c : text) c = static_cast<char>(engine_());
    return text;
  }
  Digest AnyDigest() { return Digest{engine_(), engine_()}; }
  ArchiveId AnyId() { return ArchiveId{Number64(), AnyDigest()}; }
  tar::MemberType AnyType() { return static_cast<tar::MemberType>(engine_() % 8); }
  template <typename T>
  T Pick(T usual, T other) {
    return OneIn(2) ? usual : other;
  }

  MemberDefaults Defaults() {
    return {.mode = Number32(),
            .uid = Number64(),
            .gid = Number64(),
            .user_name = Text(),
            .group_name = Text(),
            .mtime = Signed64()};
  }
  MemberRecord Member(const MemberDefaults& defaults);
  DentryRecord Dentry() {
    DentryRecord dentry{.type = AnyType(), .own_ordinal = Pick(tar::kNoOrdinal, Number32())};
    dentry.target_ordinal = Pick(dentry.own_ordinal, Number32());
    dentry.child_directory = Pick(tar::kNoDirectory, Number32());
    return dentry;
  }
  DirectoryRecord Directory() {
    return {.parent = Number32(),
            .name = Text(),
            .ordinal = Pick(tar::kNoOrdinal, Number32()),
            .entries = Number32(),
            .subdirectories = Number32()};
  }
  ArchiveFacts Archive() {
    return {.is_tar = OneIn(2),
            .members = Number64(),
            .dentries = Number64(),
            .directories = Number32(),
            .replaced = Number64(),
            .unshown = Number64(),
            .logical_bytes = Number64(),
            .end_offset = Number64(),
            .warnings = Number64(),
            .errors = Number64(),
            .defaults = Defaults()};
  }
  tar::Finding Finding() {
    return {.code = static_cast<tar::FindingCode>(1 + engine_() % 25),
            .severity = Pick(tar::Severity::kWarning, tar::Severity::kError),
            .offset = Number64(),
            .member = Text(),
            .detail = Text(60)};
  }
  ManifestRow Manifest() {
    return {.number = Number32(),
            .path = Text(40),
            .kind = static_cast<ManifestKind>(engine_() % 3),
            .id = AnyId(),
            .hint = {Number64(), Signed64(), Signed64(), Number64()},
            .access = {Number32(), Number32(), Number32()},
            .tree_directory = Number32(),
            .shown_name = Text(),
            .first_directory = Number64(),
            .directories = Number32(),
            .members = Number64(),
            .warnings = Number64(),
            .errors = Number64()};
  }
  TreeDentryRecord TreeDentry() {
    return {.kind = static_cast<TreeDentryKind>(engine_() % 3), .number = Number32()};
  }
  TreeDirectoryRecord TreeDirectory() {
    return {.parent = Number32(), .name = Text(), .entries = Number32(), .subdirectories = Number32()};
  }
  DirectoryRangeRecord DirectoryRange() { return {.number = Number32(), .directories = Number32()}; }
  GenerationFacts Generation() {
    return {.format_version = Number32(),
            .incompatible_features = Number64(),
            .root_uuid = Text(36),
            .dataset = Text(),
            .dataset_number = Number32(),
            .generation = Number32(),
            .digest = AnyDigest(),
            .created = Signed64(),
            .writer = Text(),
            .source_path = Text(),
            .view = Text(),
            .next_number = Number32(),
            .archives = Number32(),
            .loose_files = Number32(),
            .quarantined = Number32(),
            .tree_directories = Number32(),
            .directories = Number64(),
            .members = Number64(),
            .bytes = Number64()};
  }

 private:
  std::mt19937_64 engine_;
};

inline MemberRecord RandomRecords::Member(const MemberDefaults& defaults) {
  MemberRecord member;
  member.type = AnyType();
  member.mode = Pick(defaults.mode, Number32());
  member.uid = Pick(defaults.uid, Number64());
  member.gid = Pick(defaults.gid, Number64());
  member.user_name = Pick(defaults.user_name, Text());
  member.group_name = Pick(defaults.group_name, Text());
  member.mtime = Pick(defaults.mtime, Signed64());
  member.mtime_ns = Pick(0U, Number32() % 1'000'000'000);
  member.device_major = OneIn(8) ? Number32() : 0;
  member.device_minor = OneIn(8) ? Number32() : 0;
  member.stored_size = Pick(uint64_t{0}, Number64() >> 1);
  member.logical_size = Pick(member.stored_size, Number64() >> 1);
  member.header_offset = (Number64() >> 2) / 512 * 512 + (OneIn(4) ? Number32() % 512 : 0);
  member.data_offset = member.header_offset + Pick(uint64_t{512}, uint64_t{Number32()});
  if (OneIn(2)) {
    if (member.logical_size != 0) {
      member.extents.push_back({static_cast<int64_t>(member.data_offset), member.logical_size});
    }
  } else {
    uint64_t next = member.data_offset;
    for (uint32_t i = Number32() % 12; i > 0; --i) {
      tar::Extent extent{OneIn(3) ? tar::Extent::kHole : static_cast<int64_t>(Pick(next, Number64() >> 1)),
                         uint64_t{Number32()}};
      if (extent.archive_offset != tar::Extent::kHole) {
        next = (static_cast<uint64_t>(extent.archive_offset) + extent.length) & INT64_MAX;
      }
      member.extents.push_back(extent);
    }
  }
  member.directory = Pick(tar::kNoDirectory, Number32());
  member.name = Text(40);
  member.link = Pick(std::string(), Text(40));
  member.links = Pick(1U, Number32());
  for (uint32_t i = OneIn(4) ? Number32() % 5 : 0; i > 0; --i) member.xattrs.emplace_back(Text(), Text(50));
  return member;
}

}  // namespace tarn::index

#endif  // TARN_TESTS_UNIT_INDEX_RANDOM_RECORDS_H_

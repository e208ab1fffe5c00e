// A generation in memory: the rows that BuildGeneration made and the archives they speak of, behind the
// contract of index::GenerationReader. Counts the rows it gives, so that a test can say what an answer may
// cost.
#ifndef TARN_TESTS_SUPPORT_FAKE_GENERATION_H_
#define TARN_TESTS_SUPPORT_FAKE_GENERATION_H_

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tarn/index/generation_reader.h"
#include "tarn/index/generation_writer.h"
#include "tests/support/fake_archive.h"

namespace tarn::testing_support {

class FakeGeneration final : public index::GenerationReader {
 public:
  explicit FakeGeneration(index::GenerationRows rows) : facts_(rows.facts), directories_(rows.directories) {
    for (const index::ManifestRow& row : rows.manifest) {
      manifest_[row.number] = row;
      if (row.kind == index::ManifestKind::kArchive) ranges_[row.first_directory] = row;
    }
    for (const auto& dentry : rows.dentries) tree_[{dentry.directory, dentry.name}] = dentry.record;
  }
  void AddArchive(const FakeArchive& archive) { archives_[archive.id] = archive; }

  mutable std::atomic<int> member_rows{0};     // point reads
  mutable std::atomic<int> cursor_members{0};  // by cursor
  mutable std::atomic<int> manifest_rows{0};
  mutable std::atomic<int> range_seeks{0};

  const index::GenerationFacts& facts() const override { return facts_; }
  Result<bool> GetManifestRow(uint32_t number, index::ManifestRow* row) const override {
    manifest_rows++;
    return Find(manifest_, number, row);
  }
  Status ForEachManifestRow(const std::function<Status(const index::ManifestRow&)>& visit) const override {
    for (const auto& [number, row] : manifest_) TARN_RETURN_IF_ERROR(visit(row));
    return Status::Ok();
  }
  Result<bool> GetTreeDentry(uint32_t directory, std::string_view name,
                             index::TreeDentryRecord* record) const override {
    return Find(tree_, {directory, std::string(name)}, record);
  }
  Result<bool> GetTreeDirectory(uint32_t number, index::TreeDirectoryRecord* record) const override {
    if (number >= directories_.size()) return false;
    *record = directories_[number];
    return true;
  }
  std::unique_ptr<index::TreeDentryCursor> TreeDentries(uint32_t directory) const override {
    return std::make_unique<Cursor<index::TreeDentryCursor, index::TreeDentryRecord>>(&tree_, directory);
  }
  Result<bool> ArchiveOfDirectory(uint64_t directory, uint32_t* number) const override {
    range_seeks++;
    const auto behind = ranges_.upper_bound(directory);
    if (behind == ranges_.begin()) return false;
    const index::ManifestRow& row = std::prev(behind)->second;
    if (directory - row.first_directory >= row.directories) return false;
    *number = row.number;
    return true;
  }
  Result<bool> GetArchiveFacts(const ArchiveId& id, index::ArchiveFacts* facts) const override {
    const FakeArchive* archive = ArchiveOf(id);
    if (archive != nullptr) *facts = archive->facts;
    return archive != nullptr;
  }
  Result<bool> GetDentry(const ArchiveId& id, uint32_t directory, std::string_view name,
                         index::DentryRecord* record) const override {
    const FakeArchive* archive = ArchiveOf(id);
    return archive != nullptr ? Find(archive->dentries, {directory, std::string(name)}, record)
                              : Result<bool>(false);
  }
  Result<bool> GetMember(const ArchiveId& id, const index::MemberDefaults&, uint32_t ordinal,
                         index::MemberRecord* member) const override {
    member_rows++;
    return MemberOf(id, ordinal, member);
  }
  Result<bool> GetDirectory(const ArchiveId& id, uint32_t number,
                            index::DirectoryRecord* record) const override {
    const FakeArchive* archive = ArchiveOf(id);
    if (archive == nullptr || number >= archive->directories.size()) return false;
    *record = archive->directories[number];
    return true;
  }
  Status GetChunkChecksums(const ArchiveId& id, uint64_t first, uint64_t count,
                           std::vector<uint64_t>* checksums) const override {
    const FakeArchive* archive = ArchiveOf(id);
    if (archive == nullptr || first + count > archive->chunks.size()) {
      return Status(ErrorCode::kCorrupt, "a chunk checksum is missing");
    }
    checksums->assign(archive->chunks.begin() + static_cast<ptrdiff_t>(first),
                      archive->chunks.begin() + static_cast<ptrdiff_t>(first + count));
    return Status::Ok();
  }
  Status ForEachFinding(const ArchiveId&, const std::function<Status(const tar::Finding&)>&) const override {
    return Status::Ok();
  }
  std::unique_ptr<index::DentryCursor> Dentries(const ArchiveId& id, uint32_t directory) const override {
    return std::make_unique<Cursor<index::DentryCursor, index::DentryRecord>>(&ArchiveOf(id)->dentries,
                                                                              directory);
  }
  std::unique_ptr<index::MemberCursor> Members(const ArchiveId& id,
                                               const index::MemberDefaults&) const override {
    return std::make_unique<ByOrdinal>(this, id);
  }
  Status CheckWhole() const override { return Status::Ok(); }

  // For tests of what happens when an index lacks a row.
  void LoseMember(const ArchiveId& id, uint32_t ordinal) { lost_ = {id, ordinal}; }

 private:
  template <typename Base, typename Record>
  class Cursor final : public Base {
   public:
    using Map = std::map<std::pair<uint32_t, std::string>, Record>;
    Cursor(const Map* map, uint32_t directory) : map_(map), directory_(directory) {}
    Status Seek(std::string_view after) override {
      next_ = after.empty() ? map_->lower_bound({directory_, ""})
                            : map_->upper_bound({directory_, std::string(after)});
      return Status::Ok();
    }
    Result<bool> Next(std::string_view* name, Record* record) override {
      if (next_ == map_->end() || next_->first.first != directory_) return false;
      *name = next_->first.second;
      *record = next_->second;
      ++next_;
      return true;
    }

   private:
    const Map* const map_;
    const uint32_t directory_;
    typename Map::const_iterator next_;
  };
  class ByOrdinal final : public index::MemberCursor {
   public:
    ByOrdinal(const FakeGeneration* generation, const ArchiveId& id) : generation_(generation), id_(id) {}
    Result<bool> Get(uint32_t ordinal, index::MemberRecord* member) override {
      generation_->cursor_members++;
      return generation_->MemberOf(id_, ordinal, member);
    }

   private:
    const FakeGeneration* const generation_;
    const ArchiveId id_;
  };

  template <typename Map, typename Value>
  static Result<bool> Find(const Map& map, const typename Map::key_type& key, Value* value) {
    const auto found = map.find(key);
    if (found == map.end()) return false;
    *value = found->second;
    return true;
  }
  const FakeArchive* ArchiveOf(const ArchiveId& id) const {
    const auto found = archives_.find(id);
    return found == archives_.end() ? nullptr : &found->second;
  }
  bool MemberOf(const ArchiveId& id, uint32_t ordinal, index::MemberRecord* member) const {
    const FakeArchive* archive = ArchiveOf(id);
    if (archive == nullptr || ordinal >= archive->members.size()) return false;
    if (lost_ == std::pair(id, ordinal)) return false;
    *member = archive->members[ordinal];
    return true;
  }

  index::GenerationFacts facts_;
  std::map<uint32_t, index::ManifestRow> manifest_;
  std::map<uint64_t, index::ManifestRow> ranges_;
  std::map<std::pair<uint32_t, std::string>, index::TreeDentryRecord> tree_;
  std::vector<index::TreeDirectoryRecord> directories_;
  std::map<ArchiveId, FakeArchive> archives_;
  std::pair<ArchiveId, uint32_t> lost_{{}, UINT32_MAX};
};

}  // namespace tarn::testing_support

#endif  // TARN_TESTS_SUPPORT_FAKE_GENERATION_H_

// ArchiveCheck: whether the rows of one archive agree, taken in key order in one pass.
//
// Rows come as facts, chunk checksums, dentries, members, directories, findings. What dentries say is kept
// until the members and directories they speak of pass by: 13 bytes a member and 24 a directory.
#ifndef TARN_SRC_INDEX_FSCK_ARCHIVE_H_
#define TARN_SRC_INDEX_FSCK_ARCHIVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "index/fsck_report.h"
#include "tarn/base/archive_id.h"
#include "tarn/index/records.h"

namespace tarn::index {

class ArchiveCheck {
 public:
  ArchiveCheck(const ArchiveId& id, FsckSink* sink) : id_(id), sink_(sink) {}

  void Row(std::string_view key, std::string_view value);
  // After the last row. The archive's facts; nothing when there are none.
  std::optional<ArchiveFacts> Finish();

 private:
  struct Said {  // of a directory, by the names that pass by
    uint32_t entries = 0;
    uint32_t subdirectories = 0;
    uint64_t place = 0;  // hash of the parent and name that lead to it; 0: nobody
    uint32_t ordinal = tar::kNoOrdinal;
  };

  void FactsRow(std::string_view key, std::string_view value);
  void ChunkRow(std::string_view key, std::string_view value);
  void Dentry(std::string_view key, std::string_view value);
  void Member(std::string_view key, std::string_view value);
  void CheckPlace(std::string_view key, uint32_t ordinal, const MemberRecord& member);
  void CheckExtents(std::string_view key, const MemberRecord& member);
  void Directory(std::string_view key, std::string_view value);
  void FindingRow(std::string_view key, std::string_view value);
  // The number behind the kind, which must be `expected` (rows are numbered without gaps).
  bool NumberIs(std::string_view key, uint64_t expected, std::string_view what);
  Said* DirectorySaid(uint32_t number);
  void Compare(std::string_view what, uint64_t expected, uint64_t found);

  const ArchiveId id_;
  FsckSink* const sink_;
  std::optional<ArchiveFacts> facts_;
  uint64_t chunk_rows_ = 0;
  uint64_t chunks_ = 0;
  uint64_t dentries_ = 0;
  uint64_t members_ = 0;
  uint64_t directories_ = 0;
  uint64_t findings_ = 0;
  uint64_t logical_bytes_ = 0;
  std::vector<uint32_t> names_;       // by ordinal: names that show it
  std::vector<uint8_t> types_;        // by ordinal: what they say it is; kUnsaid
  std::vector<uint64_t> own_places_;  // by ordinal: hash of the directory and name that are its own; 0: none
  std::vector<Said> directories_said_;  // by number
  MemberRecord member_;
};

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_FSCK_ARCHIVE_H_

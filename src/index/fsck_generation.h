// GenerationCheck: whether a generation's own rows agree with each other, with the archives whose rows are in
// it, and with the root it lies in.
#ifndef TARN_SRC_INDEX_FSCK_GENERATION_H_
#define TARN_SRC_INDEX_FSCK_GENERATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "index/fsck_report.h"
#include "tarn/index/records.h"

namespace tarn::index {

class GenerationCheck {
 public:
  // What the place of a generation says it must be.
  struct Place {
    std::string root_uuid;
    uint32_t format_version = 0;
    std::string dataset;
    std::optional<uint32_t> dataset_number;  // nothing: that is damaged itself
    uint32_t generation = 0;
  };
  GenerationCheck(Place place, FsckSink* sink) : place_(std::move(place)), sink_(sink) {}

  // Rows below the null ArchiveId, in key order.
  void Row(std::string_view key, std::string_view value);
  // After the last row. `archives`: facts of every archive whose rows are in the generation.
  void Finish(const std::unordered_map<ArchiveId, ArchiveFacts>& archives, const FsckOptions& options);

  const std::vector<ManifestRow>& manifest() const { return manifest_; }

 private:
  struct TreeName {
    std::string name;
    TreeDentryRecord record;
  };

  void CheckFacts();
  void CheckArchives(const std::unordered_map<ArchiveId, ArchiveFacts>& archives);
  void CheckArchive(const ManifestRow& row, const ArchiveFacts& facts);
  void CheckTree();
  void CheckDirectory(uint32_t number, const TreeDirectoryRecord& record);
  void CheckName(uint32_t directory, const TreeName& name);
  void CheckRanges();
  const ManifestRow* RowOf(uint32_t number) const;
  void Compare(std::string_view what, uint64_t expected, uint64_t found);

  const Place place_;
  FsckSink* const sink_;
  std::optional<GenerationFacts> facts_;
  std::vector<ManifestRow> manifest_;  // rising by number
  std::map<uint32_t, std::vector<TreeName>> names_;
  std::vector<TreeDirectoryRecord> directories_;
  std::map<uint64_t, DirectoryRangeRecord> ranges_;
};

}  // namespace tarn::index

#endif  // TARN_SRC_INDEX_FSCK_GENERATION_H_

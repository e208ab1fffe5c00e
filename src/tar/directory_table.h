// DirectoryTable: the directories of one archive, numbered at first mention.
//
// This is what the tree keeps in memory, so it is small: names lie end to end in one string, a directory
// costs some 36 bytes and its name, and one open-addressed table finds them by parent and name.
#ifndef TARN_SRC_TAR_DIRECTORY_TABLE_H_
#define TARN_SRC_TAR_DIRECTORY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/tar/tree_builder.h"

namespace tarn::tar {

class DirectoryTable {
 public:
  struct Row {
    uint64_t name_offset = 0;
    uint32_t name_length = 0;
    uint32_t parent = kRootDirectory;
    uint32_t ordinal = kNoOrdinal;  // last member that names it
    uint32_t mentions = 0;          // names placed in it so far, shown or not; saturates
    uint32_t entries = 0;           // names shown in it
    uint32_t subdirectories = 0;    // of which directories
  };

  DirectoryTable();

  // The directory `name` in `parent`, or kNoDirectory.
  uint32_t Find(uint32_t parent, std::string_view name) const;
  // Adds one that Find does not find.
  uint32_t Add(uint32_t parent, std::string_view name);
  // The directory with the normalised path `path`, or kNoDirectory. "" is the root.
  uint32_t FindPath(std::string_view path) const;

  uint32_t size() const { return static_cast<uint32_t>(rows_.size()); }
  Row& row(uint32_t number) { return rows_[number]; }
  const Row& row(uint32_t number) const { return rows_[number]; }
  std::string_view name(uint32_t number) const {
    return std::string_view(names_).substr(rows_[number].name_offset, rows_[number].name_length);
  }
  // "a/b/NAME" for a name in a directory.
  std::string PathOf(uint32_t directory, std::string_view name) const;

 private:
  static uint64_t Hash(uint32_t parent, std::string_view name);
  // The slot that holds it, or the empty one where it would go.
  size_t SlotOf(uint32_t parent, std::string_view name) const;
  void Grow();

  std::vector<Row> rows_;
  std::string names_;
  std::vector<uint32_t> slots_;  // directory number, kNoDirectory where empty; a power of two of them
};

}  // namespace tarn::tar

#endif  // TARN_SRC_TAR_DIRECTORY_TABLE_H_

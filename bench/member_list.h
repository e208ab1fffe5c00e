// MemberList: what there is to read: every file of a dataset, by path and by where its bytes lie.
//
// The path leads through a mount or a directory of loose files; archive and offset lead to the same bytes
// with one pread(2), the raw limit that everything is held against.
#ifndef TARN_BENCH_MEMBER_LIST_H_
#define TARN_BENCH_MEMBER_LIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"

namespace tarn::bench {

class MemberList {
 public:
  struct Target {
    uint32_t archive = 0;    // index into archives()
    uint32_t directory = 0;  // index of the path of its directory
    uint64_t name = 0;       // where its name stands
    uint64_t offset = 0;     // of its first byte in the archive
    uint64_t size = 0;       // bytes, at least 1
  };

  // Files of a published dataset ("name", "name@7") that lie in one piece: offsets from the index in
  // `index_root`, archives below `source`, which is a source root or the dataset's directory itself.
  static Result<MemberList> FromIndex(const std::string& index_root, const std::string& dataset,
                                      const std::string& source);
  // Files of the tars (*.tar) below `directory`, found by walking their headers: no index is needed.
  static Result<MemberList> FromArchives(const std::string& directory);
  // The files below `directory` as they are: each is its own archive.
  static Result<MemberList> FromFiles(const std::string& directory);

  const std::vector<Target>& targets() const { return targets_; }
  const std::vector<std::string>& archives() const { return archives_; }  // paths on this machine
  std::string PathOf(const Target& target) const;  // relative to a mount's or loose root
  uint64_t total_bytes() const { return total_bytes_; }

  // Which dataset it is: "imagenet@7", or the directory.
  const std::string& name() const { return name_; }
  // 32 hex characters; empty unless it came from an index.
  const std::string& digest() const { return digest_; }
  const std::string& index_uuid() const { return index_uuid_; }

  // For builders of lists: numbers of what was added.
  uint32_t AddArchive(std::string path);
  uint32_t AddDirectory(std::string path);
  void AddTarget(uint32_t archive, uint32_t directory, std::string_view name, uint64_t offset, uint64_t size);

 private:
  friend class IndexedListBuilder;

  std::vector<std::string> archives_;
  std::vector<std::string> directories_;
  std::string names_;  // each ends with a NUL
  std::vector<Target> targets_;
  uint64_t total_bytes_ = 0;
  std::string name_;
  std::string digest_;
  std::string index_uuid_;
};

}  // namespace tarn::bench

#endif  // TARN_BENCH_MEMBER_LIST_H_

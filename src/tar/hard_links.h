// HardLinks: what each hard link of an archive shows.
//
// A link shows what its target was when the link was written: the last member of that name before it; if
// there is none, the first one behind it. A link that shows nothing leaves its name to the member before it,
// as extraction does. Members are not in memory, so the question is answered while the
// sorted names pass by; then chains are followed. Memory: links only.
#ifndef TARN_SRC_TAR_HARD_LINKS_H_
#define TARN_SRC_TAR_HARD_LINKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tar/directory_table.h"
#include "tarn/tar/finding.h"
#include "tarn/tar/tree_builder.h"

namespace tarn::tar {

class HardLinks {
 public:
  // What a link resolves to.
  struct Target {
    uint32_t ordinal = kNoOrdinal;  // kNoOrdinal: nothing; the link is not shown
    MemberType type = MemberType::kRegular;
  };

  // In rising order of ordinal. `target`: as the archive has it.
  void Add(uint32_t ordinal, uint64_t header_offset, std::string_view name, std::string_view target);
  bool empty() const { return links_.empty(); }

  // Call once after the last Add: looks up where the targets stand.
  void LocateTargets(const DirectoryTable& directories, size_t path_bytes, size_t path_depth);

  // Names in the order of (directory, name, ordinal): first BeginName, then its members that are no
  // directories.
  void BeginName(uint32_t directory, std::string_view name, uint32_t directory_ordinal);
  void OnMember(uint32_t ordinal, MemberType type);
  void EndNames();

  // Follows chains; reports links that show nothing.
  void Resolve(FindingList* findings);

  // After Resolve; `ordinal` must be one that was added.
  Target TargetOf(uint32_t ordinal) const;
  // Whether some link shows this member.
  bool IsTarget(uint32_t ordinal) const { return names_of_target_.count(ordinal) != 0; }
  // One more name that shows this target.
  void CountName(uint32_t target_ordinal) { ++names_of_target_[target_ordinal]; }
  // Targets with their counts, in rising order of ordinal.
  std::vector<MemberFate> Counts() const;

 private:
  enum class State : uint8_t { kOpen, kFollowing, kDone };
  struct Link {
    uint32_t ordinal = 0;
    uint32_t directory = kNoDirectory;  // where its target stands
    uint32_t target_ordinal = kNoOrdinal;
    MemberType target_type = MemberType::kRegular;
    MemberType before_type = MemberType::kRegular;
    uint32_t before_ordinal = kNoOrdinal;  // member of the link's own name before it: stays if the link fails
    State state = State::kOpen;
    bool only_itself = false;   // the target's name is the link's own, and nobody else has it
    bool to_directory = false;  // the target is a directory
    bool in_cycle = false;
    uint64_t header_offset = 0;
    uint64_t text_offset = 0;  // in text_: name, then target as written
    uint64_t leaf_offset = 0;  // in text_: last component of the target
    uint32_t name_length = 0;
    uint32_t target_length = 0;
    uint32_t leaf_length = 0;
  };

  std::string_view NameOf(const Link& link) const { return View(link.text_offset, link.name_length); }
  std::string_view TargetTextOf(const Link& link) const {
    return View(link.text_offset + link.name_length, link.target_length);
  }
  std::string_view LeafOf(const Link& link) const { return View(link.leaf_offset, link.leaf_length); }
  std::string_view View(uint64_t offset, size_t length) const {
    return std::string_view(text_).substr(offset, length);
  }
  const Link* Find(uint32_t ordinal) const;
  Link* Find(uint32_t ordinal);
  void Answer(Link* link, uint32_t ordinal, MemberType type);
  void FinishName();
  // A link that is being followed, and what it is tried with.
  struct Trial {
    Link* link;
    uint32_t ordinal;
    MemberType type;
    bool met_cycle;
  };
  void Follow(Link* link, std::vector<Trial>* trials);
  void TakeBefore(Link* failed, Trial* trial);

  std::vector<Link> links_;
  std::string text_;
  std::vector<uint32_t> queries_;            // indexes of links, by (directory, leaf, ordinal)
  size_t next_query_ = 0;                    // first that is not in a name seen so far
  size_t group_end_ = 0;                     // behind the queries of the name that passes by
  std::vector<uint32_t> waiting_;            // queries of this name with no member before them
  uint32_t directory_ordinal_ = kNoOrdinal;  // last directory member of this name
  bool queried_ = false;                     // whether some link's target has this name
  bool have_last_ = false;
  uint32_t last_ordinal_ = kNoOrdinal;
  MemberType last_type_ = MemberType::kRegular;
  std::unordered_map<uint32_t, uint32_t> names_of_target_;
};

}  // namespace tarn::tar

#endif  // TARN_SRC_TAR_HARD_LINKS_H_

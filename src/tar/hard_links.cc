#include "tar/hard_links.h"

#include <algorithm>
#include <utility>

#include "tar/member_path.h"
#include "tarn/base/bytes.h"

namespace tarn::tar {

void HardLinks::Add(uint32_t ordinal, uint64_t header_offset, std::string_view name,
                    std::string_view target) {
  Link link;
  link.ordinal = ordinal;
  link.header_offset = header_offset;
  link.text_offset = text_.size();
  link.name_length = static_cast<uint32_t>(name.size());
  link.target_length = static_cast<uint32_t>(target.size());
  text_.append(name);
  text_.append(target);
  links_.push_back(link);
}

void HardLinks::LocateTargets(const DirectoryTable& directories, size_t path_bytes, size_t path_depth) {
  const PathLimits limits{path_bytes, path_depth};
  std::string path;
  for (size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    if (NormalizePath(TargetTextOf(link), limits, &path) || path.empty()) continue;
    const size_t slash = path.rfind('/');
    const std::string_view leaf = std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
    link.directory =
        directories.FindPath(std::string_view(path).substr(0, slash == std::string::npos ? 0 : slash));
    if (link.directory == kNoDirectory) continue;
    link.leaf_offset = text_.size();
    link.leaf_length = static_cast<uint32_t>(leaf.size());
    text_.append(leaf);
    queries_.push_back(static_cast<uint32_t>(i));
  }
  std::sort(queries_.begin(), queries_.end(), [this](uint32_t a, uint32_t b) {
    const Link& x = links_[a];
    const Link& y = links_[b];
    if (x.directory != y.directory) return x.directory < y.directory;
    const int order = LeafOf(x).compare(LeafOf(y));
    return order != 0 ? order < 0 : a < b;
  });
}

void HardLinks::BeginName(uint32_t directory, std::string_view name, uint32_t directory_ordinal) {
  FinishName();
  const auto before = [&](uint32_t query) {
    const Link& link = links_[query];
    if (link.directory != directory) return link.directory < directory;
    return LeafOf(link) < name;
  };
  while (next_query_ < queries_.size() && before(queries_[next_query_])) ++next_query_;
  group_end_ = next_query_;
  while (group_end_ < queries_.size() && links_[queries_[group_end_]].directory == directory &&
         LeafOf(links_[queries_[group_end_]]) == name) {
    ++group_end_;
  }
  queried_ = group_end_ > next_query_;
  have_last_ = false;
  directory_ordinal_ = directory_ordinal;
}

void HardLinks::Answer(Link* link, uint32_t ordinal, MemberType type) {
  const bool directory_between =
      directory_ordinal_ != kNoOrdinal && directory_ordinal_ > ordinal && directory_ordinal_ < link->ordinal;
  if (directory_between) {
    link->to_directory = true;
    return;
  }
  link->target_ordinal = ordinal;
  link->target_type = type;
}

void HardLinks::OnMember(uint32_t ordinal, MemberType type) {
  if (!queried_) return;
  if (type == MemberType::kHardLink && have_last_) {
    Link* link = Find(ordinal);
    link->before_ordinal = last_ordinal_;
    link->before_type = last_type_;
  }
  // Links behind their own name's first member only have what follows.
  for (const uint32_t query : waiting_) Answer(&links_[query], ordinal, type);
  waiting_.clear();
  while (next_query_ < group_end_ && links_[queries_[next_query_]].ordinal <= ordinal) {
    Link& link = links_[queries_[next_query_]];
    if (have_last_) {
      Answer(&link, last_ordinal_, last_type_);
    } else if (link.ordinal < ordinal) {
      Answer(&link, ordinal, type);
    } else {
      waiting_.push_back(queries_[next_query_]);
    }
    ++next_query_;
  }
  have_last_ = true;
  last_ordinal_ = ordinal;
  last_type_ = type;
}

void HardLinks::FinishName() {
  for (const uint32_t query : waiting_) links_[query].only_itself = true;
  waiting_.clear();
  for (; next_query_ < group_end_; ++next_query_) {
    Link& link = links_[queries_[next_query_]];
    if (have_last_) {
      Answer(&link, last_ordinal_, last_type_);
    } else {
      link.to_directory = true;  // the name is there and no member but a directory has it
    }
  }
  group_end_ = next_query_;
}

void HardLinks::EndNames() {
  FinishName();
}

const HardLinks::Link* HardLinks::Find(uint32_t ordinal) const {
  const auto found =
      std::lower_bound(links_.begin(), links_.end(), ordinal,
                       [](const Link& link, uint32_t wanted) { return link.ordinal < wanted; });
  return found != links_.end() && found->ordinal == ordinal ? &*found : nullptr;
}

HardLinks::Link* HardLinks::Find(uint32_t ordinal) {
  return const_cast<Link*>(static_cast<const HardLinks*>(this)->Find(ordinal));
}

// Goes on with what has the name of a link that shows nothing. Chains of such links are cut short behind the
// walk: many links of one name, none of which shows anything, must not be walked by each of many others.
void HardLinks::TakeBefore(Link* failed, Trial* trial) {
  if (failed->before_ordinal != kNoOrdinal && failed->before_type == MemberType::kHardLink) {
    const Link* next = Find(failed->before_ordinal);
    if (next->state == State::kDone && next->target_ordinal == kNoOrdinal) {
      failed->before_ordinal = next->before_ordinal;
      failed->before_type = next->before_type;
    }
  }
  trial->ordinal = failed->before_ordinal;
  trial->type = failed->before_type;
}

// Follows `link` to something that is no link. A stack of its own: chains may be as long as the archive.
void HardLinks::Follow(Link* link, std::vector<Trial>* trials) {
  const auto begin = [trials](Link* next) {
    next->state = State::kFollowing;
    trials->push_back({next, next->target_ordinal, next->target_type, next->only_itself});
  };
  trials->clear();
  begin(link);
  while (!trials->empty()) {
    Trial& trial = trials->back();
    Link* next =
        trial.ordinal != kNoOrdinal && trial.type == MemberType::kHardLink ? Find(trial.ordinal) : nullptr;
    if (next == nullptr) {
      const Trial done = trial;
      done.link->state = State::kDone;
      done.link->target_ordinal = done.ordinal;
      done.link->target_type = done.type;
      done.link->in_cycle = done.ordinal == kNoOrdinal && done.met_cycle;
      trials->pop_back();
    } else if (next->state == State::kOpen) {
      begin(next);
    } else if (next->state == State::kDone && next->target_ordinal != kNoOrdinal) {
      trial.ordinal = next->target_ordinal;
      trial.type = next->target_type;
    } else {
      trial.met_cycle = trial.met_cycle || next->state == State::kFollowing || next->in_cycle;
      TakeBefore(next, &trial);
    }
  }
}

void HardLinks::Resolve(FindingList* findings) {
  std::vector<Trial> trials;
  for (Link& link : links_) {
    if (link.state == State::kOpen) Follow(&link, &trials);
  }
  for (const Link& link : links_) {
    if (link.target_ordinal != kNoOrdinal) {
      names_of_target_.emplace(link.target_ordinal, 0);
      continue;
    }
    const std::string target = EscapeName(TargetTextOf(link));
    Finding finding{FindingCode::kDanglingHardlink,
                    Severity::kWarning,
                    link.header_offset,
                    std::string(NameOf(link)),
                    {}};
    if (link.in_cycle) {
      finding.code = FindingCode::kHardlinkCycle;
      finding.detail = "a file behind the hard link to '" + target + "' expected, it leads back to itself";
    } else if (link.to_directory) {
      finding.detail = "a file expected as target of the hard link, '" + target + "' is a directory";
    } else {
      finding.detail =
          "the target '" + target + "' of the hard link expected in the archive, it is not there";
    }
    finding.detail += "; the link is not shown";
    findings->Add(std::move(finding));
  }
}

HardLinks::Target HardLinks::TargetOf(uint32_t ordinal) const {
  const Link* link = Find(ordinal);
  return link == nullptr ? Target{} : Target{link->target_ordinal, link->target_type};
}

std::vector<MemberFate> HardLinks::Counts() const {
  std::vector<MemberFate> counts;
  counts.reserve(names_of_target_.size());
  for (const auto& [ordinal, links] : names_of_target_) counts.push_back({ordinal, links});
  std::sort(counts.begin(), counts.end(),
            [](const MemberFate& a, const MemberFate& b) { return a.ordinal < b.ordinal; });
  return counts;
}

}  // namespace tarn::tar

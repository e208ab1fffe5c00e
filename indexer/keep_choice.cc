#include "indexer/keep_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "indexer/glob.h"
#include "tarn/base/bytes.h"

namespace tarn::indexer {
namespace {

class Chooser {
 public:
  explicit Chooser(const KeepOptions& options) : options_(options), matched_(options.globs.size()) {}

  KeepChoice Run(std::vector<KeepCandidate> candidates) {
    std::vector<KeepCandidate> small;
    for (KeepCandidate& candidate : candidates) {
      if (IsAsked(candidate)) {
        IsNew(candidate);
        choice_.files.push_back({std::move(candidate), /*asked=*/true});
      } else if (candidate.is_loose && candidate.bytes <= options_.most_bytes) {
        small.push_back(std::move(candidate));
      }
    }
    TakeSmall(std::move(small));
    NoteUnmatched();
    return std::move(choice_);
  }

 private:
  // Every pattern is tried: each is told when it names nothing.
  bool IsAsked(const KeepCandidate& candidate) {
    bool asked = false;
    for (size_t i = 0; i < matched_.size(); ++i) {
      if (!GlobMatches(options_.globs[i], candidate.path)) continue;
      matched_[i] = true;
      asked = true;
    }
    return asked;
  }

  // Whether no file before it has the same bytes.
  bool IsNew(const KeepCandidate& candidate) { return !candidate.id || seen_.insert(*candidate.id).second; }

  void TakeSmall(std::vector<KeepCandidate> small) {
    std::sort(small.begin(), small.end(), [](const KeepCandidate& a, const KeepCandidate& b) {
      return std::tie(a.bytes, a.path) < std::tie(b.bytes, b.path);
    });
    uint64_t together = 0, beyond = 0, beyond_bytes = 0;
    for (KeepCandidate& candidate : small) {
      const uint64_t bytes = IsNew(candidate) ? candidate.bytes : 0;
      if (bytes > options_.most_bytes_together - together) {
        ++beyond;
        beyond_bytes += bytes;
        continue;
      }
      together += bytes;
      choice_.files.push_back({std::move(candidate), /*asked=*/false});
    }
    if (beyond == 0) return;
    choice_.notes.push_back(
        fmt::format("{} loose files ({}) are not kept: without being named at most {} are, the smallest "
                    "first; --keep GLOB keeps what it names",
                    beyond, HumanBytes(beyond_bytes), HumanBytes(options_.most_bytes_together)));
  }

  void NoteUnmatched() {
    for (size_t i = 0; i < matched_.size(); ++i) {
      if (matched_[i]) continue;
      choice_.notes.push_back(
          fmt::format("--keep '{}' names no file that is shown: a pattern with '/' is held against the whole "
                      "path below DIR",
                      EscapeName(options_.globs[i])));
    }
  }

  const KeepOptions& options_;
  std::vector<bool> matched_;  // by pattern
  std::unordered_set<ArchiveId> seen_;
  KeepChoice choice_;
};

}  // namespace

KeepChoice ChooseKept(const KeepOptions& options, std::vector<KeepCandidate> candidates) {
  if (options.none) return {};
  return Chooser(options).Run(std::move(candidates));
}

}  // namespace tarn::indexer

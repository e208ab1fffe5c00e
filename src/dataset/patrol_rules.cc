#include "dataset/patrol_rules.h"

#include <algorithm>
#include <cerrno>

namespace tarn::dataset {
namespace {

using State = ArchiveVerdict::State;

// Whether the verdict came from reading this very file as it looks now: no look can overrule it.
bool ReadAsItIs(const ArchiveVerdict& verdict, const ArchiveId& id, const Sight& sight) {
  if (verdict.found_at != sight.found_at || verdict.identity != sight.identity) return false;
  return verdict.state != State::kMissing && verdict.identity.size == id.size;
}

}  // namespace

Standing JudgeStat(const Result<io::FileStat>& found, const ArchiveId& id,
                   std::span<const io::FileIdentity> hints) {
  if (!found.ok()) {
    // Something that is no directory stands where one was: nothing lies below it. Everything else (EIO,
    // ESTALE, a server that does not answer, permissions) says nothing about the file.
    const bool gone = found.code() == ErrorCode::kNotFound || found.status().error_number() == ENOTDIR;
    return gone ? Standing::kMissing : Standing::kUnreadable;
  }
  if (found->type != io::FileType::kRegular || found->identity.size != id.size) return Standing::kChanged;
  const bool plain = std::any_of(hints.begin(), hints.end(), [&](const io::FileIdentity& hint) {
    return hint.size == found->identity.size && hint.mtime_ns == found->identity.mtime_ns;
  });
  return plain ? Standing::kAsPublished : Standing::kTouched;
}

Ruling Rule(const std::optional<ArchiveVerdict>& before, const ArchiveId& id, const Sight& sight) {
  switch (sight.standing) {
    case Standing::kChanged:
      return {.verdict = Ruling::Verdict::kSet, .state = State::kChanged};
    case Standing::kUnreadable:
      return {.verdict = Ruling::Verdict::kSet, .state = State::kUnreadable};
    case Standing::kMissing:
      return {.verdict = Ruling::Verdict::kSet, .state = State::kMissing};
    case Standing::kAsPublished:
    case Standing::kTouched:
      break;
  }
  const bool agrees_now = sight.standing == Standing::kAsPublished && before &&
                          before->state == State::kVerified;  // published again with the stat it has
  if (before && !agrees_now && ReadAsItIs(*before, id, sight)) {
    // What could not be read may be readable now.
    return {.verdict = Ruling::Verdict::kKeep, .scrub = before->state == State::kUnreadable};
  }
  if (sight.standing == Standing::kTouched) {
    return {.verdict = Ruling::Verdict::kClear, .scrub = true, .touched = true};
  }
  // Other bytes lay here: its stat alone does not make up for that.
  return {.verdict = Ruling::Verdict::kClear, .scrub = before && before->state == State::kChanged};
}

Ruling RuleOnBytes(Standing standing, const Status& bad) {
  if (bad.code() == ErrorCode::kChanged) return {.verdict = Ruling::Verdict::kSet, .state = State::kChanged};
  if (!bad.ok()) return {.verdict = Ruling::Verdict::kSet, .state = State::kUnreadable};
  if (standing == Standing::kTouched) {
    return {.verdict = Ruling::Verdict::kSet, .state = State::kVerified};
  }
  return {.verdict = Ruling::Verdict::kClear};
}

double BytesBehind(const ScrubPace& pace, int64_t now) {
  if (pace.period <= 0) return static_cast<double>(pace.total - std::min(pace.done, pace.total));
  const double over =
      static_cast<double>(std::max<int64_t>(now - pace.round_started, 0)) / static_cast<double>(pace.period);
  return std::min(over, 1.0) * static_cast<double>(pace.total) - static_cast<double>(pace.done);
}

double SecondsUntilDue(const ScrubPace& pace, int64_t now) {
  const double behind = BytesBehind(pace, now);
  if (behind > 0 || pace.total == 0) return 0;
  // A second more than none: what is due is due when time has passed.
  return std::max(-behind / static_cast<double>(pace.total) * static_cast<double>(pace.period), 1.0);
}

}  // namespace tarn::dataset

#include "dataset/archive_places.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "dataset/source_visit.h"
#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"

namespace tarn::dataset {
namespace {

bool AgreesWith(const io::FileIdentity& found, const io::FileIdentity& hint) {
  return found.size == hint.size && found.mtime_ns == hint.mtime_ns;
}

// How much an error says: something else in the archive's place, then a place that cannot be read, then
// nothing there.
int Weight(ErrorCode code) {
  if (code == ErrorCode::kChanged) return 2;
  return code == ErrorCode::kNotFound ? 0 : 1;
}

void Append(const std::string& what, std::string* list) {
  if (!list->empty()) *list += "; ";
  *list += what;
}

}  // namespace

std::string ArchivePlaces::Place::Name() const {
  return EscapeName(io::JoinPath(source->name(), path));
}

ArchivePlaces::Place* ArchivePlaces::FindOrAdd(const std::shared_ptr<io::Source>& source, size_t number,
                                               const std::string& path, PlaceKind kind) {
  const auto known = std::find_if(places_.begin(), places_.end(), [&](const Place& place) {
    return place.source == source && place.path == path;
  });
  if (known != places_.end()) {
    if (kind == PlaceKind::kPublished) known->kind = kind;
    return &*known;
  }
  Place& place = places_.emplace_back();
  place.source = source;
  place.source_number = number;
  place.path = path;
  place.kind = kind;
  return &place;
}

void ArchivePlaces::Add(const std::vector<std::shared_ptr<io::Source>>& sources,
                        const std::string& source_path, const std::string& path, const io::FileIdentity& hint,
                        PlaceKind kind) {
  for (size_t number = 0; number < sources.size(); ++number) {
    for (const std::string& below : {io::JoinPath(source_path, path), path}) {
      Place* const place = FindOrAdd(sources[number], number, below, kind);
      if (std::find(place->hints.begin(), place->hints.end(), hint) == place->hints.end()) {
        place->hints.push_back(hint);
      }
    }
  }
}

void ArchivePlaces::AddFile(const std::shared_ptr<io::Source>& source, size_t source_number,
                            const std::string& path, PlaceKind kind) {
  FindOrAdd(source, source_number, path, kind);
}

Result<OpenedArchive> ArchivePlaces::OpenPlace(size_t index, bool* plain) {
  Place& place = places_[index];
  looking_in_.store(place.source_number, std::memory_order_relaxed);
  const SourceVisit visit(guard_, place.source_number, path_);
  if (!visit.entered()) return SourceVisit::Refused();
  ++looks_;
  auto file = place.source->Open(place.path);
  if (file.code() == ErrorCode::kInvalidArgument) {
    return Status(ErrorCode::kChanged, "found no regular file at '" + place.Name() + "'");
  }
  if (!file.ok()) return std::move(file).status();
  TARN_ASSIGN_OR_RETURN(const io::FileStat stat, (*file)->Stat());
  if (stat.identity.size != id_.size) {
    // Something of it may have been served before it looked like this.
    if (std::exchange(place.other, stat.identity) != stat.identity) found_changed_ = true;
    return Status(ErrorCode::kChanged, "found " + std::to_string(stat.identity.size) + " bytes at '" +
                                           place.Name() + "' instead of " + std::to_string(id_.size));
  }
  if (stat.identity != place.seen) {
    place.seen = stat.identity;
    place.ledger = nullptr;
    place.bad.clear();
  } else if (!place.bad.empty()) {
    return Status(ErrorCode::kChanged, place.bad);
  }
  const std::optional<ArchiveVerdict> told = verdicts_->Told(id_, stat.identity);
  if (told && told->state == ArchiveVerdict::State::kChanged) {
    place.bad = "'" + place.Name() + "': " + told->message;
    found_changed_ = true;
    return Status(ErrorCode::kChanged, place.bad);
  }
  const bool verified = told && told->state == ArchiveVerdict::State::kVerified;
  const bool agrees =
      verified || std::any_of(place.hints.begin(), place.hints.end(),
                              [&](const io::FileIdentity& hint) { return AgreesWith(stat.identity, hint); });
  if (!agrees && place.ledger == nullptr) {
    place.ledger = verdicts_->Ledger(id_, (*file)->name(), stat.identity);
    if (const std::optional<uint64_t> bad = place.ledger->bad_chunk()) {
      place.bad = BadChunk(*bad, (*file)->name()).message();
      return Status(ErrorCode::kChanged, place.bad);
    }
  }
  (*file)->Advise(io::AccessPattern::kRandom);
  OpenedArchive opened{.file = std::move(file).value(),
                       .identity = stat.identity,
                       .access = place.kind == PlaceKind::kCopy ? published_access_ : stat.access,
                       .place = index,
                       .source = place.source_number,
                       .is_copy = place.kind == PlaceKind::kCopy,
                       .instead_of = {},
                       .ledger = {}};
  *plain = agrees || (place.ledger->complete() || place.ledger->Recount());
  if (!agrees) opened.ledger = place.ledger;
  return opened;
}

std::vector<size_t> ArchivePlaces::Order() const {
  std::vector<size_t> order(places_.size());
  std::iota(order.begin(), order.end(), 0);
  if (found_last_ < order.size()) {
    std::rotate(order.begin(), order.begin() + static_cast<ptrdiff_t>(found_last_),
                order.begin() + static_cast<ptrdiff_t>(found_last_) + 1);
  }
  return order;
}

Result<OpenedArchive> ArchivePlaces::Open() {
  Status worst(ErrorCode::kNotFound, places_.empty() ? "there is no source" : "");
  std::string found;      // everywhere
  std::string published;  // where it was published
  bool changed = false;   // something else was found there
  Result<OpenedArchive> fallback = worst;
  bool refused = false;
  const auto take = [&](Result<OpenedArchive> opened) {
    const Place& place = places_[opened->place];
    // With several sources, only one of them has it: that it is not in the others is nothing to say.
    if (place.kind != PlaceKind::kPublished || changed) opened->instead_of = std::move(published);
    return opened;
  };
  for (const size_t i : Order()) {
    bool plain = false;
    Result<OpenedArchive> opened = OpenPlace(i, &plain);
    if (opened.ok()) {
      if (plain) {
        found_last_ = i;
        return take(std::move(opened));
      }
      if (!fallback.ok()) fallback = std::move(opened);
      continue;
    }
    if (opened.code() == ErrorCode::kBusy) {
      refused = true;
      continue;
    }
    // That it is not where it merely may be is nothing to say.
    if (opened.code() == ErrorCode::kNotFound && places_[i].kind != PlaceKind::kPublished) continue;
    const std::string here = opened.code() == ErrorCode::kNotFound ? "nothing at '" + places_[i].Name() + "'"
                                                                   : opened.status().message();
    Append(here, &found);
    if (places_[i].kind == PlaceKind::kPublished) {
      Append(here, &published);
      changed = changed || opened.code() == ErrorCode::kChanged;
    }
    if (worst.message().empty() || Weight(opened.code()) > Weight(worst.code())) worst = opened.status();
  }
  if (fallback.ok()) return take(std::move(fallback));
  if (places_.empty()) return fallback;
  if (refused) return SourceVisit::Refused();
  // Its error number tells whether to try again.
  if (worst.error_number() != 0 && worst.code() != ErrorCode::kNotFound) return worst;
  return Status(worst.code(), found).WithHint(worst.hint());
}

void ArchivePlaces::MarkBad(const OpenedArchive& opened, std::string why) {
  Place& place = places_[opened.place];
  if (place.seen != opened.identity) return;
  place.bad = std::move(why);
  found_changed_ = true;
}

Result<io::FileAccess> ArchivePlaces::Access() {
  Status status(ErrorCode::kNotFound, "nowhere to be found");
  bool refused = false;
  for (const size_t i : Order()) {
    const Place& place = places_[i];
    if (place.kind == PlaceKind::kCopy) continue;
    looking_in_.store(place.source_number, std::memory_order_relaxed);
    const SourceVisit visit(guard_, place.source_number, path_);
    if (!visit.entered()) {
      refused = true;
      continue;
    }
    ++looks_;
    const Result<io::FileStat> stat = place.source->Stat(place.path);
    if (stat.ok() && stat->type == io::FileType::kRegular) return stat->access;
    if (!stat.ok()) status = stat.status();
  }
  if (refused) return SourceVisit::Refused();
  return status;
}

}  // namespace tarn::dataset

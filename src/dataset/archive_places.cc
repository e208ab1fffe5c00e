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

}  // namespace

std::string ArchivePlaces::Place::Name() const {
  return EscapeName(io::JoinPath(source->name(), path));
}

void ArchivePlaces::Add(const std::vector<std::shared_ptr<io::Source>>& sources,
                        const std::string& source_path, const std::string& path,
                        const io::FileIdentity& hint) {
  for (size_t number = 0; number < sources.size(); ++number) {
    const std::shared_ptr<io::Source>& source = sources[number];
    for (const std::string& below : {io::JoinPath(source_path, path), path}) {
      const auto known = std::find_if(places_.begin(), places_.end(), [&](const Place& place) {
        return place.source == source && place.path == below;
      });
      Place& place = known != places_.end() ? *known : places_.emplace_back();
      place.source = source;
      place.source_number = number;
      place.path = below;
      if (std::find(place.hints.begin(), place.hints.end(), hint) == place.hints.end()) {
        place.hints.push_back(hint);
      }
    }
  }
}

Result<OpenedArchive> ArchivePlaces::OpenPlace(size_t index, bool* plain) {
  Place& place = places_[index];
  looking_in_.store(place.source_number, std::memory_order_relaxed);
  const SourceVisit visit(guard_, place.source_number, path_);
  if (!visit.entered()) return SourceVisit::Refused();
  auto file = place.source->Open(place.path);
  if (file.code() == ErrorCode::kInvalidArgument) {
    return Status(ErrorCode::kChanged, "found no regular file at '" + place.Name() + "'");
  }
  if (!file.ok()) return std::move(file).status();
  TARN_ASSIGN_OR_RETURN(const io::FileStat stat, (*file)->Stat());
  if (stat.identity.size != id_.size) {
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
  (*file)->Advise(io::AccessPattern::kRandom);
  OpenedArchive opened{.file = std::move(file).value(),
                       .identity = stat.identity,
                       .access = stat.access,
                       .place = index,
                       .source = place.source_number,
                       .ledger = {}};
  *plain = std::any_of(place.hints.begin(), place.hints.end(),
                       [&](const io::FileIdentity& hint) { return AgreesWith(stat.identity, hint); });
  if (!*plain) {
    if (place.ledger == nullptr) place.ledger = std::make_shared<ChunkLedger>(id_.size);
    opened.ledger = place.ledger;
  }
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
  std::string found;
  Result<OpenedArchive> fallback = worst;
  bool refused = false;
  for (const size_t i : Order()) {
    bool plain = false;
    Result<OpenedArchive> opened = OpenPlace(i, &plain);
    if (opened.ok()) {
      if (plain) {
        found_last_ = i;
        return opened;
      }
      if (!fallback.ok()) fallback = std::move(opened);
      continue;
    }
    if (opened.code() == ErrorCode::kBusy) {
      refused = true;
      continue;
    }
    if (!found.empty()) found += "; ";
    found += opened.code() == ErrorCode::kNotFound ? "nothing at '" + places_[i].Name() + "'"
                                                   : opened.status().message();
    if (worst.message().empty() || Weight(opened.code()) > Weight(worst.code())) worst = opened.status();
  }
  if (fallback.ok() || places_.empty()) return fallback;
  if (refused) return SourceVisit::Refused();
  return Status(worst.code(), found).WithHint(worst.hint());
}

void ArchivePlaces::MarkBad(const OpenedArchive& opened, std::string why) {
  Place& place = places_[opened.place];
  if (place.seen == opened.identity) place.bad = std::move(why);
}

Result<io::FileAccess> ArchivePlaces::Access() {
  Status status(ErrorCode::kNotFound, "nowhere to be found");
  bool refused = false;
  for (const size_t i : Order()) {
    const Place& place = places_[i];
    looking_in_.store(place.source_number, std::memory_order_relaxed);
    const SourceVisit visit(guard_, place.source_number, path_);
    if (!visit.entered()) {
      refused = true;
      continue;
    }
    const Result<io::FileStat> stat = place.source->Stat(place.path);
    if (stat.ok() && stat->type == io::FileType::kRegular) return stat->access;
    if (!stat.ok()) status = stat.status();
  }
  if (refused) return SourceVisit::Refused();
  return status;
}

}  // namespace tarn::dataset

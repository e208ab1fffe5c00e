#include "tarn/dataset/archive_states.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"

namespace tarn::dataset {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kSchemaVersion = 1;
constexpr size_t kLongestFile = size_t{1} << 30;  // a million verdicts and more
constexpr std::array kStates = {ArchiveVerdict::State::kVerified, ArchiveVerdict::State::kChanged,
                                ArchiveVerdict::State::kMissing, ArchiveVerdict::State::kUnreadable};

// ---- Writing ----------------------------------------------------------------------------------------------
// Names are bytes and JSON is text: they are written as they are shown everywhere (EscapeName).

Json ToJson(const ArchiveVerdict& verdict) {
  return {{"path", EscapeName(verdict.path)},
          {"archive_id", verdict.id.ToString()},
          {"state", VerdictName(verdict.state)},
          {"found_at", EscapeName(verdict.found_at)},
          {"size", verdict.identity.size},
          {"mtime_ns", verdict.identity.mtime_ns},
          {"ctime_ns", verdict.identity.ctime_ns},
          {"inode", verdict.identity.inode},
          {"since", verdict.since},
          {"message", EscapeName(verdict.message)}};
}

Json ToJson(const ScrubProgress& scrub) {
  return {{"round_started", scrub.round_started},
          {"files", scrub.files},
          {"bytes", scrub.bytes},
          {"total_files", scrub.total_files},
          {"total_bytes", scrub.total_bytes},
          {"done_path", EscapeName(scrub.done_path)},
          {"done_id", scrub.done_id.ToString()}};
}

Json ToJson(const UnpublishedArchives& unpublished) {
  Json names = Json::array();
  for (const std::string& name : unpublished.names) names.push_back(EscapeName(name));
  return {{"count", unpublished.count}, {"oldest_mtime", unpublished.oldest_mtime}, {"names", names}};
}

// ---- Reading ----------------------------------------------------------------------------------------------

// Takes fields out of one object; the first that is not as expected is remembered, and asked for once.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) bad_ = where_ + " to be an object";
  }

  const Json* Find(const char* key) {
    if (!bad_.empty()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  uint64_t Count(const char* key) {
    const Json* const value = Find(key);
    if (value != nullptr && value->is_number_unsigned()) return value->get<uint64_t>();
    Expect("a whole number, not negative,", key);
    return 0;
  }
  int64_t Moment(const char* key) {
    const Json* const value = Find(key);
    const bool fits = value != nullptr && value->is_number_integer() &&
                      (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
    if (fits) return value->get<int64_t>();
    Expect("a whole number", key);
    return 0;
  }
  std::string Text(const char* key) {
    const Json* const value = Find(key);
    if (value != nullptr && value->is_string()) {
      if (auto text = UnescapeName(value->get_ref<const std::string&>())) return std::move(*text);
    }
    Expect("a name", key);
    return "";
  }
  ArchiveId Id(const char* key) {
    if (const auto id = ArchiveId::FromString(Text(key))) return *id;
    Expect("an ArchiveId", key);
    return {};
  }

  void Expect(std::string_view what, const char* key) {
    if (bad_.empty()) bad_ = fmt::format("{} in '{}' of {}", what, key, where_);
  }
  // What was expected and is not there; empty when all was.
  const std::string& bad() const { return bad_; }

 private:
  const Json& object_;
  const std::string where_;
  std::string bad_;
};

std::string Parse(const Json& object, size_t number, ArchiveVerdict* verdict) {
  Fields fields(object, fmt::format("verdict {}", number));
  verdict->path = fields.Text("path");
  verdict->id = fields.Id("archive_id");
  const std::string name = fields.Text("state");
  bool known = false;
  for (const ArchiveVerdict::State state : kStates) {
    if (VerdictName(state) != name) continue;
    verdict->state = state;
    known = true;
  }
  if (!known) fields.Expect("verified, changed, missing or unreadable", "state");
  verdict->found_at = fields.Text("found_at");
  verdict->identity = {.size = fields.Count("size"),
                       .mtime_ns = fields.Moment("mtime_ns"),
                       .ctime_ns = fields.Moment("ctime_ns"),
                       .inode = fields.Count("inode")};
  verdict->since = fields.Moment("since");
  verdict->message = fields.Text("message");
  return fields.bad();
}

std::string Parse(const Json& object, ScrubProgress* scrub) {
  Fields fields(object, "'scrub'");
  scrub->round_started = fields.Moment("round_started");
  scrub->files = fields.Count("files");
  scrub->bytes = fields.Count("bytes");
  scrub->total_files = fields.Count("total_files");
  scrub->total_bytes = fields.Count("total_bytes");
  scrub->done_path = fields.Text("done_path");
  scrub->done_id = fields.Id("done_id");
  return fields.bad();
}

std::string Parse(const Json& object, UnpublishedArchives* unpublished) {
  Fields fields(object, "'unpublished'");
  unpublished->count = fields.Count("count");
  unpublished->oldest_mtime = fields.Moment("oldest_mtime");
  const Json* const names = fields.Find("names");
  if (names == nullptr || !names->is_array()) {
    fields.Expect("a list", "names");
    return fields.bad();
  }
  for (const Json& name : *names) {
    auto text = name.is_string() ? UnescapeName(name.get_ref<const std::string&>()) : std::nullopt;
    if (!text) fields.Expect("a list of names", "names");
    unpublished->names.push_back(std::move(text).value_or(""));
  }
  return fields.bad();
}

std::string Parse(const Json& object, DatasetStates* states) {
  Fields fields(object, "the file");
  states->dataset = fields.Text("dataset");
  states->root_uuid = fields.Text("root_uuid");
  states->looked_at = fields.Moment("looked_at");
  const Json* const scrub = fields.Find("scrub");
  if (scrub == nullptr) fields.Expect("an object", "scrub");
  const Json* const verdicts = fields.Find("verdicts");
  if (verdicts == nullptr || !verdicts->is_array()) fields.Expect("a list", "verdicts");
  if (!fields.bad().empty()) return fields.bad();

  if (std::string bad = Parse(*scrub, &states->scrub); !bad.empty()) return bad;
  for (const Json& verdict : *verdicts) {
    const size_t number = states->verdicts.size();
    if (std::string bad = Parse(verdict, number, &states->verdicts.emplace_back()); !bad.empty()) return bad;
  }
  const Json* const unpublished = fields.Find("unpublished");
  if (unpublished == nullptr || unpublished->is_null()) return "";
  return Parse(*unpublished, &states->unpublished.emplace());
}

Status Damaged(const std::string& path, std::string_view what) {
  return Status(ErrorCode::kCorrupt, fmt::format("'{}' is damaged: {}", path, what))
      .WithHint("remove the file: 'tarn-index watch' writes it anew");
}

Result<Json> ParseText(const std::string& path, const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    return Damaged(path, fmt::format("expected JSON, found something else at offset {} of {} bytes", offset,
                                     text.size()));
  }
}

}  // namespace

std::string_view VerdictName(ArchiveVerdict::State state) {
  switch (state) {
    case ArchiveVerdict::State::kVerified:
      return "verified";
    case ArchiveVerdict::State::kChanged:
      return "changed";
    case ArchiveVerdict::State::kMissing:
      return "missing";
    case ArchiveVerdict::State::kUnreadable:
      return "unreadable";
  }
  return "unknown";
}

std::string StatesPath(std::string_view dataset) {
  return fmt::format("datasets/{}/STATES", dataset);
}

Status WriteStates(const std::string& root, const DatasetStates& states) {
  Json verdicts = Json::array();
  for (const ArchiveVerdict& verdict : states.verdicts) verdicts.push_back(ToJson(verdict));
  const Json object = {{"schema_version", kSchemaVersion},
                       {"dataset", EscapeName(states.dataset)},
                       {"root_uuid", EscapeName(states.root_uuid)},
                       {"looked_at", states.looked_at},
                       {"scrub", ToJson(states.scrub)},
                       {"unpublished", states.unpublished ? ToJson(*states.unpublished) : Json()},
                       {"verdicts", std::move(verdicts)}};
  return io::WriteFileAtomically(io::JoinPath(root, StatesPath(states.dataset)), object.dump(1) + "\n");
}

Result<DatasetStates> ReadStates(const std::string& root, std::string_view dataset) {
  const std::string path = io::JoinPath(root, StatesPath(dataset));
  TARN_ASSIGN_OR_RETURN(const std::string text, io::ReadFile(path, kLongestFile));
  TARN_ASSIGN_OR_RETURN(const Json object, ParseText(path, text));
  Fields fields(object, "the file");
  const uint64_t version = fields.Count("schema_version");
  if (!fields.bad().empty()) return Damaged(path, "expected " + fields.bad());
  if (version != kSchemaVersion) {
    return Status(ErrorCode::kUnsupported, fmt::format("'{}' has schema version {}, this Tarn reads {}", path,
                                                       version, kSchemaVersion))
        .WithHint("upgrade Tarn here, or run the 'tarn-index watch' of this version");
  }
  DatasetStates states;
  if (const std::string bad = Parse(object, &states); !bad.empty()) return Damaged(path, "expected " + bad);
  if (states.dataset != dataset) {
    return Damaged(path,
                   fmt::format("expected the dataset '{}', found '{}'", dataset, EscapeName(states.dataset)));
  }
  return states;
}

}  // namespace tarn::dataset

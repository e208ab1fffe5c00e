// tarn describe: a generation in the words of those who keep track of experiments, from the index alone.
//
// Each format is a function from the same facts to one JSON object, which the tracker takes as it is. What an
// index does not know is left out and never made up: columns and licences, and hashes other than XXH3.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/dataset_path.h"
#include "tarn/base/bytes.h"
#include "tarn/base/timestamp.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/filesystem.h"

namespace tarn::cli {
namespace {

using Json = nlohmann::ordered_json;

// What MLflow's tracking server takes (mlflow/utils/validation.py), in characters. The digest, 32 of 36, and
// the name fit by their making.
constexpr size_t kMlflowSourceLimit = 65'535;

struct DescribeArguments {
  std::string reference;
  std::string format;
  PlaceOptions places;
  std::optional<std::string> mount;
  std::optional<std::string> uri;
  bool archives = false;
};

// Where the data is seen, as trackers tell places: a path of this machine, or a URI.
struct Place {
  std::string text;
  std::string scheme;  // of the URI; empty: `text` is a path
};

struct Described {
  std::shared_ptr<const index::GenerationReader> reader;
  std::string name;  // NAME@N
  Place place;

  const index::GenerationFacts& facts() const { return reader->facts(); }
};

// JSON is UTF-8, and its writer throws for what is not; names and paths are bytes.
bool IsUtf8(std::string_view text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

// The scheme of a URI in small letters (RFC 3986, section 3.1); empty when `text` has none.
std::string SchemeOf(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return "";
  std::string scheme(text.substr(0, colon));
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-' || c == '.'; };
  if (!std::isalpha(static_cast<unsigned char>(scheme[0])) || !std::ranges::all_of(scheme, fits)) return "";
  std::ranges::transform(scheme, scheme.begin(), [](unsigned char c) { return std::tolower(c); });
  return scheme;
}

Status BadPlace(const char* option, const std::string& value, const char* expected) {
  return Status(ErrorCode::kInvalidArgument,
                fmt::format("{} '{}' is not {}", option, EscapeName(value), expected))
      .WithHint("it is written down for others to find the data by; without it, it is tarn://NAME@N");
}

Result<Place> PlaceOf(const DescribeArguments& arguments, const std::string& name) {
  if (arguments.mount) {
    if (!arguments.mount->starts_with('/') || !IsUtf8(*arguments.mount)) {
      return BadPlace("--mount", *arguments.mount, "an absolute path in UTF-8");
    }
    return Place{io::JoinPath(*arguments.mount, name), ""};
  }
  if (!arguments.uri) return Place{"tarn://" + name, "tarn"};
  std::string scheme = SchemeOf(*arguments.uri);
  if (scheme.empty() || !IsUtf8(*arguments.uri)) {
    return BadPlace("--uri", *arguments.uri, "a URI, which begins with a scheme and a colon");
  }
  return Place{*arguments.uri, std::move(scheme)};
}

// The path as a URI: bytes that one may not hold are written %XX (RFC 3986, section 2.1).
std::string AsUri(const Place& place) {
  if (!place.scheme.empty()) return place.text;
  constexpr std::string_view kPlain = "/-._~@";
  std::string uri = "file://";
  for (const unsigned char byte : place.text) {
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 ||
                                       kPlain.find(static_cast<char>(byte)) != std::string_view::npos);
    uri += plain ? std::string(1, static_cast<char>(byte)) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

// The numbers of `tarn datasets --json`, under its names.
Json Numbers(const Described& described) {
  const index::GenerationFacts& facts = described.facts();
  return {{"dataset", facts.dataset},
          {"generation", facts.generation},
          {"digest", facts.digest.ToHex()},
          {"archives", facts.archives},
          {"loose_files", facts.loose_files},
          {"quarantined", facts.quarantined},
          {"members", facts.members},
          {"bytes", facts.bytes},
          {"published", FormatTimestamp(facts.created)}};
}

// ---- MLflow: the fields of mlflow.entities.Dataset; source and profile are JSON within a string.

Result<Json> DescribeForMlflow(const Described& described, const DescribeArguments&) {
  const Place& place = described.place;
  // "local" is what MLflow calls the sources that it reads from a path or a file: URI.
  const bool local = place.scheme.empty() || place.scheme == "file";
  const std::string source = Json{{"uri", place.text}}.dump();
  if (source.size() > kMlflowSourceLimit) {
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("the source has {} bytes, MLflow takes {}", source.size(), kMlflowSourceLimit))
        .WithHint("give a shorter --uri or --mount");
  }
  return Json{{"name", described.name},
              {"digest", described.facts().digest.ToHex()},
              {"source_type", local ? "local" : place.scheme},
              {"source", source},
              // Of columns or tensors, and an index knows files.
              {"schema", nullptr},
              {"profile", Numbers(described).dump()}};
}

// ---- Kubeflow Pipelines: an artifact as executors are given it; name, uri and metadata are what
// kfp.dsl.Dataset() takes.

Result<Json> DescribeForKfp(const Described& described, const DescribeArguments&) {
  return Json{{"name", described.name},
              {"type", {{"schemaTitle", "system.Dataset"}, {"schemaVersion", "0.0.1"}}},
              {"uri", described.place.text},
              {"metadata", Numbers(described)}};
}

// ---- Croissant 1.0 (http://mlcommons.org/croissant/1.0), JSON-LD.
//
// A FileObject has to carry a SHA-256 or MD5, and Tarn has neither. Files are a FileSet instead, which needs
// no hash; digests stand in `identifier`, under their own name.

// Appendix 1 of the specification, whole: validators complain of any other.
Json CroissantContext() {
  constexpr const char* kTerms[] = {"citeAs",    "column",      "equivalentProperty",
                                    "extract",   "field",       "fileProperty",
                                    "format",    "fileObject",  "fileSet",
                                    "key",       "includes",    "isLiveDataset",
                                    "md5",       "jsonPath",    "parentField",
                                    "path",      "recordSet",   "references",
                                    "regex",     "repeated",    "replace",
                                    "source",    "subField",    "separator",
                                    "transform", "samplingRate"};
  Json context = {{"@language", "en"},
                  {"@vocab", "https://schema.org/"},
                  {"cr", "http://mlcommons.org/croissant/"},
                  {"rai", "http://mlcommons.org/croissant/RAI/"},
                  {"dct", "http://purl.org/dc/terms/"},
                  {"sc", "https://schema.org/"},
                  {"conformsTo", "dct:conformsTo"},
                  {"data", {{"@id", "cr:data"}, {"@type", "@json"}}},
                  {"dataType", {{"@id", "cr:dataType"}, {"@type", "@vocab"}}},
                  {"examples", {{"@id", "cr:examples"}, {"@type", "@json"}}}};
  for (const char* term : kTerms) context[term] = std::string("cr:") + term;
  return context;
}

Json DigestIdentifier(const Digest& digest) {
  return {{"@type", "sc:PropertyValue"}, {"propertyID", "xxh3-128"}, {"value", digest.ToHex()}};
}

// A glob that matches `path` alone: what means something in a glob is put in brackets. A byte that JSON
// cannot hold is written as ?, which matches any.
std::string GlobOf(const std::string& path) {
  const bool utf8 = IsUtf8(path);
  std::string glob;
  for (const char c : path) {
    if (c == '*' || c == '?' || c == '[') {
      glob += fmt::format("[{}]", c);
    } else {
      glob += utf8 || (c & 0x80) == 0 ? c : '?';
    }
  }
  return glob;
}

Json FileSet(const std::string& id, const std::string& name, const std::string& includes) {
  return {{"@type", "cr:FileSet"},
          {"@id", id},
          {"name", name},
          {"encodingFormat", "application/octet-stream"},
          {"includes", includes}};
}

// The directory that an archive is shown as.
Json ArchiveFileSet(const index::ManifestRow& row) {
  const std::string shown = io::JoinPath(io::DirName(row.path), row.shown_name);
  Json set = FileSet(fmt::format("archive-{}", row.number), EscapeName(row.path), GlobOf(shown) + "/**");
  set["description"] = fmt::format("The {} members of archive {}", row.members, row.id.ToString());
  set["identifier"] = DigestIdentifier(row.id.digest);
  return set;
}

Result<Json> DescribeAsCroissant(const Described& described, const DescribeArguments& arguments) {
  const index::GenerationFacts& facts = described.facts();
  Json distribution = Json::array({FileSet("files", "files", "**")});
  if (arguments.archives) {
    TARN_RETURN_IF_ERROR(described.reader->ForEachManifestRow([&](const index::ManifestRow& row) {
      if (row.kind == index::ManifestKind::kArchive) distribution.push_back(ArchiveFileSet(row));
      return Status::Ok();
    }));
  }
  return Json{
      {"@context", CroissantContext()},
      {"@type", "sc:Dataset"},
      {"conformsTo", "http://mlcommons.org/croissant/1.0"},
      {"name", facts.dataset},
      {"version", facts.generation},
      {"description", fmt::format("{}: {} archives, {} loose files, {} members, {} bytes", described.name,
                                  facts.archives, facts.loose_files, facts.members, facts.bytes)},
      {"identifier", DigestIdentifier(facts.digest)},
      {"url", AsUri(described.place)},
      {"datePublished", FormatTimestamp(facts.created)},
      {"distribution", std::move(distribution)}};
}

// ---- The command

struct Format {
  const char* name;
  Result<Json> (*describe)(const Described&, const DescribeArguments&);
};

constexpr Format kFormats[] = {
    {"mlflow", DescribeForMlflow}, {"kfp", DescribeForKfp}, {"croissant", DescribeAsCroissant}};

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

Result<Json> Describe(const Config& config, const DescribeArguments& arguments) {
  if (arguments.archives && arguments.format != "croissant") {
    return Status(ErrorCode::kInvalidArgument, "--archives: format '" + arguments.format + "' lists no files")
        .WithHint("'tarn ls' lists them; --format croissant takes --archives");
  }
  TARN_ASSIGN_OR_RETURN(const auto reference, index::DatasetReference::Parse(arguments.reference));
  TARN_ASSIGN_OR_RETURN(const auto root, OpenIndexRoot(config, arguments.places));
  TARN_ASSIGN_OR_RETURN(const uint32_t number, root->Resolve(reference));
  Described described;
  TARN_ASSIGN_OR_RETURN(described.reader,
                        index::GenerationReader::Open(root->GenerationPath(reference.name, number)));
  described.name = fmt::format("{}@{}", reference.name, number);
  TARN_ASSIGN_OR_RETURN(described.place, PlaceOf(arguments, described.name));
  const auto* const format =
      std::ranges::find(kFormats, arguments.format, [](const Format& f) { return std::string(f.name); });
  return format->describe(described, arguments);
}

}  // namespace

int RunDescribe(const Program& program) {
  const auto app = MakeCommandLine(
      "tarn describe",
      "Print what an experiment tracker records of a dataset, as JSON, from the index alone.");
  DescribeArguments arguments;
  app->add_option("NAME", arguments.reference, "NAME, NAME@N or NAME@DIGEST")->required();
  app->add_option("--format", arguments.format, "Whose record it is: mlflow, kfp or croissant")
      ->check(CLI::IsMember(FormatNames()))
      ->required();
  AddIndexOption(app.get(), &arguments.places);
  CLI::Option* const mount =
      app->add_option("--mount", arguments.mount, "A mount of all datasets: the data is at DIR/NAME@N");
  app->add_option("--uri", arguments.uri, "Where the data is (default: tarn://NAME@N)")->excludes(mount);
  app->add_flag("--archives", arguments.archives, "With croissant: each archive too");
  if (const auto code = ParseCommandLine(app.get(), program)) return *code;

  const auto record = Describe(Config(program), arguments);
  if (!record.ok()) return program.Fail("tarn describe", record.status());
  *program.out << record->dump() << '\n';
  program.out->flush();
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace tarn::cli

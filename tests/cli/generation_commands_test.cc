// tarn resolve, describe, diff, where and verify, run in-process on two generations that tarn-index
// published.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.h"
#include "indexer/program.h"
#include "tests/support/scratch.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

class GenerationCommands : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new support::Scratch;
    WriteArchive("changed.tar", {{"kept", "same"}, {"longer", "short"}, {"gone", "x"}, {"dir/inner", "1"}});
    WriteArchive("moves.tar", {{"m", "moves"}});
    WriteArchive("removed.tar", {{"r", "removed"}});
    WriteArchive("stays.tar", {{"s", "stays"}});
    scratch_->Write("data/set/labels.csv", "1,2,3\n");
    Publish();
    WriteArchive(
        "changed.tar",
        {{"kept", "same"}, {"longer", "not so short"}, {"new", "y"}, {"dir/inner", "1"}, {"dir/more", "2"}});
    fs::create_directories(*scratch_ / "data/set/sub");
    fs::rename(*scratch_ / "data/set/moves.tar", *scratch_ / "data/set/sub/moved.tar");
    fs::remove(*scratch_ / "data/set/removed.tar");
    WriteArchive("added.tar", {{"a", "added"}});
    scratch_->Write("data/set/labels.csv", "1,2,3,4\n");
    Publish();
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static void WriteArchive(const std::string& name, const std::map<std::string, std::string>& members) {
    fs::remove_all(*scratch_ / "files");
    for (const auto& [path, contents] : members) scratch_->Write("files/" + path, contents);
    fs::create_directories(fs::path(*scratch_ / ("data/set/" + name)).parent_path());
    const std::string command = "tar --create --format=gnu --sort=name --mtime=@1700000000 -C '" +
                                (*scratch_ / "files") + "' --file '" + (*scratch_ / ("data/set/" + name)) +
                                "' .";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  static Outcome RunProgram(int (*run)(const Program&), std::vector<std::string> arguments) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    Outcome outcome;
    outcome.code = run({.arguments = std::move(arguments),
                        .in = &in,
                        .out = &out,
                        .err = &err,
                        .environment = {{"TARN_CONFIG", "/dev/null"}, {"TARN_INDEX", *scratch_ / "index"}}});
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
  }
  static void Publish() {
    const Outcome published = RunProgram(
        indexer::Run, {"publish", *scratch_ / "data/set", "--name", "set", "--settle", "0", "--quiet"});
    ASSERT_EQ(published.code, 0) << published.err;
  }
  static Outcome Tarn(std::vector<std::string> arguments) {
    return RunProgram(cli::Run, std::move(arguments));
  }

  static std::vector<std::string> Lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  static json Resolved(const std::string& name) { return json::parse(Tarn({"resolve", name, "--json"}).out); }
  static std::string IdOf(const std::string& path) {
    return json::parse(Tarn({"stat", "--json", path}).out)["archive_id"];
  }

  static support::Scratch* scratch_;
};
support::Scratch* GenerationCommands::scratch_ = nullptr;

TEST_F(GenerationCommands, ResolveGivesTheImmutableName) {
  EXPECT_EQ(Tarn({"resolve", "set"}).out, "set@2\n");
  EXPECT_EQ(Tarn({"resolve", "set@1"}).out, "set@1\n");
  const json facts = Resolved("set");
  EXPECT_EQ(facts["path"], "set@2");
  EXPECT_EQ(facts["generation"], 2);
  const std::string digest = facts["digest"];
  EXPECT_EQ(digest.size(), 32U);
  EXPECT_EQ(Tarn({"resolve", "set", "--digest"}).out, "set@2 " + digest + "\n");
  EXPECT_EQ(Tarn({"resolve", "set@" + digest}).out, "set@2\n");
  EXPECT_NE(Resolved("set@1")["digest"], digest);
}

TEST_F(GenerationCommands, ResolveNamesWhatIsNotThere) {
  const Outcome unknown = Tarn({"resolve", "sat"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("set"));
  EXPECT_EQ(Tarn({"resolve", "set@7"}).code, 3);
}

// ---- describe

json Listed(const std::string& json_lines, int generation) {
  std::istringstream in(json_lines);
  for (std::string line; std::getline(in, line);) {
    if (json parsed = json::parse(line); parsed["generation"] == generation) return parsed;
  }
  return {};
}

// What `tarn datasets --json` and a description both have.
void ExpectSameNumbers(const json& described, const json& listed) {
  for (const char* name : {"dataset", "generation", "digest", "archives", "loose_files", "quarantined",
                           "members", "bytes", "published"}) {
    ASSERT_TRUE(listed.contains(name)) << name;
    EXPECT_EQ(described[name], listed[name]) << name;
  }
}

TEST_F(GenerationCommands, DescribeForMlflowHasTheFieldsOfADatasetInput) {
  const json listed = Listed(Tarn({"datasets", "set", "--json"}).out, 2);
  const Outcome outcome = Tarn({"describe", "set", "--format", "mlflow"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json record = json::parse(outcome.out);
  EXPECT_EQ(record.size(), 6U) << record;
  EXPECT_EQ(record["name"], "set@2");
  EXPECT_EQ(record["digest"], listed["digest"]);
  EXPECT_LE(record["digest"].get<std::string>().size(), 36U);  // what MLflow's tracking server takes
  EXPECT_EQ(record["source_type"], "tarn");
  EXPECT_EQ(json::parse(record["source"].get<std::string>()), json({{"uri", "tarn://set@2"}}));
  EXPECT_TRUE(record["schema"].is_null());
  ExpectSameNumbers(json::parse(record["profile"].get<std::string>()), listed);
}

TEST_F(GenerationCommands, DescribeForKfpIsADatasetArtifact) {
  const json listed = Listed(Tarn({"datasets", "set", "--all", "--json"}).out, 1);
  const Outcome outcome = Tarn({"describe", "set@1", "--format", "kfp"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json record = json::parse(outcome.out);
  EXPECT_EQ(record["name"], "set@1");
  EXPECT_EQ(record["uri"], "tarn://set@1");
  EXPECT_EQ(record["type"]["schemaTitle"], "system.Dataset");
  ASSERT_TRUE(record["metadata"].is_object());
  ExpectSameNumbers(record["metadata"], listed);
}

TEST_F(GenerationCommands, DescribeAsCroissantHasAFileSetAndNoHashThatWasNotComputed) {
  const json listed = Listed(Tarn({"datasets", "set", "--json"}).out, 2);
  const Outcome outcome = Tarn({"describe", "set", "--format", "croissant"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json record = json::parse(outcome.out);
  EXPECT_EQ(record["@context"]["cr"], "http://mlcommons.org/croissant/");
  EXPECT_EQ(record["@context"]["includes"], "cr:includes");
  EXPECT_EQ(record["@type"], "sc:Dataset");
  EXPECT_EQ(record["conformsTo"], "http://mlcommons.org/croissant/1.0");
  EXPECT_EQ(record["name"], "set");
  EXPECT_EQ(record["version"], 2);
  EXPECT_EQ(record["url"], "tarn://set@2");
  EXPECT_EQ(record["datePublished"], listed["published"]);
  EXPECT_EQ(record["identifier"]["propertyID"], "xxh3-128");
  EXPECT_EQ(record["identifier"]["value"], listed["digest"]);
  EXPECT_EQ(record["description"], "set@2: " + listed["archives"].dump() + " archives, " +
                                       listed["loose_files"].dump() + " loose files, " +
                                       listed["members"].dump() + " members, " + listed["bytes"].dump() +
                                       " bytes");
  ASSERT_EQ(record["distribution"].size(), 1U);
  const json files = record["distribution"][0];
  EXPECT_EQ(files["@type"], "cr:FileSet");
  EXPECT_EQ(files["includes"], "**");
  for (const char* name : {"@id", "name", "encodingFormat"}) EXPECT_TRUE(files[name].is_string()) << name;
  EXPECT_THAT(outcome.out, Not(AnyOf(HasSubstr("sha256"), HasSubstr("FileObject\""))));
}

TEST_F(GenerationCommands, DescribeListsEachArchiveWhenAsked) {
  const Outcome outcome = Tarn({"describe", "set", "--format", "croissant", "--archives"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::map<std::string, json> sets;
  const json record = json::parse(outcome.out);
  for (const json& set : record["distribution"]) sets[set["name"]] = set;
  ASSERT_EQ(sets.size(), 5U) << outcome.out;  // the files as a whole, and four archives; labels.csv is none
  const json moved = sets["sub/moved.tar"];
  EXPECT_EQ(moved["includes"], "sub/moved/**");
  EXPECT_THAT(moved["description"], HasSubstr(IdOf("set:sub/moved")));
  EXPECT_THAT(IdOf("set:sub/moved"), HasSubstr(moved["identifier"]["value"].get<std::string>()));
}

TEST_F(GenerationCommands, DescribeTellsWhereTheDataIsSeen) {
  const auto described = [](const char* format, const char* option, const char* value) {
    const Outcome outcome = Tarn({"describe", "set@1", "--format", format, option, value});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  };
  const auto source = [](const json& record) {
    return json::parse(record["source"].get<std::string>())["uri"];
  };
  const json mounted = described("mlflow", "--mount", "/mnt/a b");
  EXPECT_EQ(mounted["source_type"], "local");
  EXPECT_EQ(source(mounted), "/mnt/a b/set@1");
  const json stored = described("mlflow", "--uri", "S3://bucket/set");
  EXPECT_EQ(stored["source_type"], "s3");
  EXPECT_EQ(source(stored), "S3://bucket/set");
  EXPECT_EQ(described("mlflow", "--uri", "file:///x")["source_type"], "local");
  EXPECT_EQ(described("kfp", "--mount", "/mnt")["uri"], "/mnt/set@1");
  EXPECT_EQ(described("croissant", "--mount", "/mnt/a b")["url"], "file:///mnt/a%20b/set@1");
}

TEST_F(GenerationCommands, DescribeRefusesWhatCannotBeRight) {
  const Outcome format = Tarn({"describe", "set", "--format", "csv"});
  EXPECT_EQ(format.code, 2);
  EXPECT_THAT(format.err, AllOf(HasSubstr("csv"), HasSubstr("mlflow"), HasSubstr("croissant")));
  EXPECT_EQ(Tarn({"describe", "set"}).code, 2);
  for (const auto& [option, value] : std::map<std::string, std::string>{
           {"--mount", "relative"}, {"--uri", "no-scheme"}, {"--uri=\xff:", ""}, {"--mount=/\xff", ""}}) {
    std::vector<std::string> arguments = {"describe", "set", "--format", "kfp", option};
    if (!value.empty()) arguments.push_back(value);
    const Outcome place = Tarn(arguments);
    EXPECT_EQ(place.code, 2) << option;
    EXPECT_THAT(place.err, HasSubstr(option.substr(0, 5))) << option;
    EXPECT_EQ(place.out, "");
  }
  EXPECT_EQ(Tarn({"describe", "set", "--format", "kfp", "--uri", "a:b", "--mount", "/c"}).code, 2);
  EXPECT_EQ(Tarn({"describe", "set", "--format", "mlflow", "--archives"}).code, 2);
  const Outcome long_uri =
      Tarn({"describe", "set", "--format", "mlflow", "--uri", "a:" + std::string(66'000, 'b')});
  EXPECT_EQ(long_uri.code, 2);
  EXPECT_THAT(long_uri.err, HasSubstr("65535"));
  const Outcome nearly = Tarn({"describe", "sett", "--format", "kfp"});
  EXPECT_EQ(nearly.code, 3);
  EXPECT_THAT(nearly.err, HasSubstr("did you mean 'set'?"));
  EXPECT_EQ(Tarn({"describe", "set@9", "--format", "kfp"}).code, 3);
}

TEST_F(GenerationCommands, DescribeWritesPatternsThatMeanTheArchiveAlone) {
  const std::string odd = "o[d]*d\xff.tar";
  WriteArchive("../odd/" + odd, {{"m", "1"}});
  const Outcome published = RunProgram(
      indexer::Run, {"publish", *scratch_ / "data/odd", "--name", "odd", "--settle", "0", "--quiet"});
  ASSERT_EQ(published.code, 0) << published.err;
  const Outcome outcome = Tarn({"describe", "odd", "--format", "croissant", "--archives"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json set = json::parse(outcome.out)["distribution"][1];
  EXPECT_EQ(set["name"], "o[d]*d\\xff.tar");
  EXPECT_EQ(set["includes"], "o[[]d][*]d?/**");
}

TEST_F(GenerationCommands, DiffTellsAddedRemovedChangedAndMoved) {
  const Outcome diff = Tarn({"diff", "set@1", "set@2"});
  EXPECT_EQ(diff.code, 1) << diff.err;
  EXPECT_THAT(Lines(diff.out),
              ElementsAre("added    file    added.tar", "changed  file    changed.tar",
                          "added    member  changed/dir/more", "removed  member  changed/gone",
                          "changed  member  changed/longer  size", "added    member  changed/new",
                          "changed  file    labels.csv", "moved    file    sub/moved.tar  from moves.tar",
                          "removed  file    removed.tar"));
}

TEST_F(GenerationCommands, DiffOfAGenerationWithItselfIsNothing) {
  const Outcome diff = Tarn({"diff", "set@2", "set"});
  EXPECT_EQ(diff.code, 0) << diff.err;
  EXPECT_EQ(diff.out, "");
}

TEST_F(GenerationCommands, DiffBackwardsTellsTheOpposite) {
  const Outcome diff = Tarn({"diff", "set@2", "set@1", "--files-only"});
  EXPECT_EQ(diff.code, 1);
  EXPECT_THAT(Lines(diff.out), ElementsAre("changed  file    changed.tar", "changed  file    labels.csv",
                                           "moved    file    moves.tar  from sub/moved.tar",
                                           "added    file    removed.tar", "removed  file    added.tar"));
}

TEST_F(GenerationCommands, DiffAsJsonHasBothArchiveIds) {
  for (const std::string& line : Lines(Tarn({"diff", "set@1", "set@2", "--json"}).out)) {
    const json change = json::parse(line);
    if (change["path"] != "changed.tar") continue;
    EXPECT_EQ(change["was_archive_id"], IdOf("set@1:changed"));
    EXPECT_EQ(change["archive_id"], IdOf("set@2:changed"));
    return;
  }
  FAIL() << "changed.tar is not reported";
}

TEST_F(GenerationCommands, WhereFindsEveryGenerationAndPath) {
  const std::string id = IdOf("set@1:moves");
  EXPECT_THAT(Lines(Tarn({"where", id}).out), UnorderedElementsAre("set@1:moves.tar", "set@2:sub/moved.tar"));
  const std::string digest = id.substr(id.find('-') + 1);
  EXPECT_EQ(Tarn({"where", digest}).out, Tarn({"where", id}).out);
  const json line = json::parse(Lines(Tarn({"where", id, "--json"}).out).front());
  EXPECT_EQ(line["archive_id"], id);
  EXPECT_EQ(line["kind"], "archive");
  EXPECT_EQ(line["retired"], false);
}

TEST_F(GenerationCommands, WhereFindsNothingAndSaysSo) {
  const Outcome none = Tarn({"where", "5-00000000000000000000000000000001"});
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("no generation"));
  const Outcome wrong = Tarn({"where", "train.tar"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("'train.tar' is no ArchiveId"));
}

TEST_F(GenerationCommands, VerifyOfWhatIsThereIsSound) {
  for (const char* const full : {"--json", "--full"}) {
    const Outcome sound = Tarn({"verify", "set", "--source", *scratch_ / "data", full});
    EXPECT_EQ(sound.code, 0) << sound.out << sound.err;
  }
  const Outcome sound = Tarn({"verify", "set", "--full", "--source", *scratch_ / "data/set"});
  EXPECT_THAT(Lines(sound.out), ElementsAre("set@2: 5 files, every byte read", "  as published  5"));
}

TEST_F(GenerationCommands, VerifyNamesWhatIsNoLongerWhatWasPublished) {
  const Outcome found = Tarn({"verify", "set@1", "--source", *scratch_ / "data", "--jobs", "3"});
  EXPECT_EQ(found.code, 1);
  const std::string at = *scratch_ / "data/set/";
  EXPECT_THAT(
      Lines(found.out),
      ElementsAre("set@1:changed.tar: changed: expected " + IdOf("set@1:changed") + ", '" + at +
                      "changed.tar' is " + IdOf("set@2:changed"),
                  AllOf(StartsWith("set@1:labels.csv: kept: expected " + IdOf("set@1:labels.csv") + ", '" +
                                   at + "labels.csv' has 8 bytes; its copy '"),
                        HasSubstr("/kept/")),
                  "set@1:moves.tar: missing: expected " + IdOf("set@1:moves") + ", it is at no source",
                  "set@1:removed.tar: missing: expected " + IdOf("set@1:removed") + ", it is at no source",
                  "set@1: 5 files", "  as published  1", "  kept          1", "  changed       1",
                  "  missing       2"));
}

TEST_F(GenerationCommands, VerifyReadsWhatWasTouchedAndItIsSound) {
  const fs::path stays = *scratch_ / "data/set/stays.tar";
  const auto published = fs::last_write_time(stays);
  fs::last_write_time(stays, published + std::chrono::hours(1));
  const Outcome sound = Tarn({"verify", "set", "--source", *scratch_ / "data"});
  fs::last_write_time(stays, published);
  EXPECT_EQ(sound.code, 0) << sound.out << sound.err;
  EXPECT_THAT(sound.out, HasSubstr("stays.tar' has another modification time and the same bytes"));
  EXPECT_THAT(sound.out, HasSubstr("  touched       1"));
}

TEST_F(GenerationCommands, VerifyInFullGivesTheStateOfEachFile) {
  const Outcome found = Tarn({"verify", "set@1", "--full", "--json", "--source", *scratch_ / "data"});
  EXPECT_EQ(found.code, 1);
  std::map<std::string, std::string> states;
  for (const std::string& line : Lines(found.out)) {
    const json file = json::parse(line);
    EXPECT_EQ(file["generation"], "set@1");
    states[file["path"]] = file["state"];
  }
  EXPECT_EQ(states, (std::map<std::string, std::string>{{"changed.tar", "changed"},
                                                        {"labels.csv", "kept"},
                                                        {"moves.tar", "missing"},
                                                        {"removed.tar", "missing"},
                                                        {"stays.tar", "as published"}}));
  EXPECT_THAT(found.out, HasSubstr("changed.tar' is " + IdOf("set@2:changed")));
}

TEST_F(GenerationCommands, ASourceIsOneArgumentAndWhatFollowsIsADataset) {
  const Outcome both = Tarn({"verify", "--source", *scratch_ / "data", "set", "set@1"});
  EXPECT_EQ(both.code, 1);
  EXPECT_THAT(both.out, AllOf(HasSubstr("set@2: 5 files"), HasSubstr("set@1: 5 files")));
}

TEST_F(GenerationCommands, OutputThatCannotBeWrittenIsAFailure) {
  std::ofstream full("/dev/full");
  if (!full) GTEST_SKIP() << "no /dev/full here";
  std::istringstream in;
  std::ostringstream err;
  const int code =
      cli::Run({.arguments = {"resolve", "set"},
                .in = &in,
                .out = &full,
                .err = &err,
                .environment = {{"TARN_CONFIG", "/dev/null"}, {"TARN_INDEX", *scratch_ / "index"}}});
  EXPECT_EQ(code, 3);
  EXPECT_THAT(err.str(), HasSubstr("cannot write to the standard output"));
}

TEST_F(GenerationCommands, VerifyNeedsASourceAndADataset) {
  EXPECT_EQ(Tarn({"verify", "set"}).code, 2);
  const Outcome no_dataset = Tarn({"verify", *scratch_ / "data/set/stays.tar", "--source", "/"});
  EXPECT_EQ(no_dataset.code, 2);
  EXPECT_THAT(no_dataset.err, HasSubstr("--reference"));
  EXPECT_EQ(Tarn({"verify", "set@9", "--source", *scratch_ / "data"}).code, 3);
}

}  // namespace
}  // namespace tarn::cli

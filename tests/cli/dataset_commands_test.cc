// tarn ls, stat, cat and datasets, run in-process on what tarn-index published from archives of GNU tar.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/program.h"
#include "indexer/program.h"
#include "tarn/base/bytes.h"
#include "tarn/index/index_root.h"
#include "tests/support/pseudo_random.h"
#include "tests/support/scratch.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome RunProgram(int (*run)(const Program&), std::vector<std::string> arguments,
                   std::map<std::string, std::string> environment) {
  environment.emplace("TARN_CONFIG", "/dev/null");
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Outcome outcome;
  outcome.code = run({.arguments = std::move(arguments),
                      .in = &in,
                      .out = &out,
                      .err = &err,
                      .environment = std::move(environment)});
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

void Shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

std::set<std::string> Lines(const std::string& text, char end = '\n') {
  std::set<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line, end);) lines.insert(line);
  return lines;
}

// One dataset for the suite: publishing takes its time.
//
//     labels.csv, train/gnu.tar, train/pax.tar, deep/er/ustar.tar: the same files, in three dialects
class DatasetCommands : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new support::Scratch;
    support::PseudoRandom random(7);
    scratch_->Write("files/a.txt", "first\n");
    scratch_->Write("files/empty", "");
    scratch_->Write("files/large", random.Bytes(3'000'001));
    scratch_->Write("files/dir/b\xff\n.bin", random.Bytes(777));
    scratch_->Write("files/dir/sub/c", "third");
    const std::string files = *scratch_ / "files";
    fs::create_symlink("dir/sub/c", files + "/link");
    fs::create_symlink("../a.txt", files + "/dir/up");
    fs::create_symlink("/etc/passwd", files + "/out");
    fs::create_symlink("circle", files + "/circle");
    fs::create_hard_link(files + "/a.txt", files + "/hard");
    fs::permissions(files + "/a.txt", fs::perms(0640));
    const std::string data = scratch_->Write("data/set/labels.csv", "1,2,3\n");
    for (const auto& [format, name] : {std::pair("gnu", "train/gnu.tar"), std::pair("pax", "train/pax.tar"),
                                       std::pair("ustar", "deep/er/ustar.tar")}) {
      const std::string archive = *scratch_ / ("data/set/" + std::string(name));
      fs::create_directories(fs::path(archive).parent_path());
      Shell("tar --create --format=" + std::string(format) + " --sort=name --mtime=@1700000000 -C '" + files +
            "' --file '" + archive + "' .");
      const std::string extracted =
          *scratch_ / ("extracted/" + std::string(name).substr(0, std::strlen(name) - 4));
      fs::create_directories(extracted);
      Shell("tar --extract --file '" + archive + "' -C '" + extracted + "'");
    }
    fs::copy_file(data, *scratch_ / "extracted/labels.csv");
    const Outcome published = RunProgram(indexer::Run,
                                         {"publish", *scratch_ / "data/set", "--name", "set", "--index",
                                          *scratch_ / "index", "--settle", "0", "--quiet"},
                                         {});
    ASSERT_EQ(published.code, 0) << published.err;
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  // With index and source from the environment.
  static Outcome Tarn(std::vector<std::string> arguments,
                      std::map<std::string, std::string> environment = {}) {
    environment.emplace("TARN_INDEX", *scratch_ / "index");
    environment.emplace("TARN_SOURCE", *scratch_ / "data");
    return RunProgram(cli::Run, std::move(arguments), std::move(environment));
  }
  static std::string Read(const std::string& path) { return support::Scratch::Read(path); }

  static support::Scratch* scratch_;
};
support::Scratch* DatasetCommands::scratch_ = nullptr;

TEST_F(DatasetCommands, LsListsExactlyWhatTarExtracts) {
  std::set<std::string> extracted;
  const fs::path top = *scratch_ / "extracted";
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    extracted.insert(entry.path().lexically_relative(top).string());
  }
  const Outcome raw = Tarn({"ls", "-R", "--null", "set:"});
  EXPECT_EQ(raw.code, 0) << raw.err;
  EXPECT_EQ(Lines(raw.out, '\0'), extracted);
  std::set<std::string> escaped;
  for (const std::string& name : extracted) escaped.insert(EscapeName(name));
  EXPECT_EQ(Lines(Tarn({"ls", "-R", "set:"}).out), escaped);
}

TEST_F(DatasetCommands, CatGivesTheBytesThatTarExtracts) {
  const fs::path top = *scratch_ / "extracted";
  int compared = 0;
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    if (entry.is_symlink() || !entry.is_regular_file()) continue;
    const Outcome cat = Tarn({"cat", "set:" + entry.path().lexically_relative(top).string()});
    ASSERT_EQ(cat.code, 0) << cat.err;
    EXPECT_TRUE(cat.out == Read(entry.path().string())) << entry.path();
    ++compared;
  }
  EXPECT_EQ(compared, 3 * 6 + 1);
}

TEST_F(DatasetCommands, LsOfADirectoryGivesNamesInOrder) {
  EXPECT_EQ(Tarn({"ls", "set:"}).out, "deep\nlabels.csv\ntrain\n");
  EXPECT_EQ(Tarn({"ls", "set"}).out, "deep\nlabels.csv\ntrain\n") << "a dataset's name alone is its root";
  EXPECT_EQ(Tarn({"ls", "set:/train/"}).out, "gnu\npax\n");
  EXPECT_EQ(Tarn({"ls", "set:labels.csv"}).out, "set:labels.csv\n");
}

TEST_F(DatasetCommands, LsLongShowsTypeModeLinksSizeAndTarget) {
  const std::string out = Tarn({"ls", "-l", "set:train/gnu"}).out;
  EXPECT_THAT(out, HasSubstr("-r--r-----   2 "));  // a.txt, 0640, hard linked, without its write bit
  EXPECT_THAT(out, HasSubstr("2023-11-14 22:13:20 a.txt\n"));
  EXPECT_THAT(out, HasSubstr("     3000001 2023-11-14 22:13:20 large\n"));
  EXPECT_THAT(out, HasSubstr(" link -> dir/sub/c\n"));
}

TEST_F(DatasetCommands, LsJsonHasOneObjectALine) {
  std::map<std::string, json> found;
  std::istringstream in(Tarn({"ls", "--json", "set:train/pax"}).out);
  for (std::string line; std::getline(in, line);) {
    const json object = json::parse(line);
    found[object["name"]] = object;
  }
  EXPECT_EQ(found.size(), 8U);
  EXPECT_EQ(found["large"]["size"], 3'000'001);
  EXPECT_EQ(found["large"]["type"], "reg");
  EXPECT_EQ(found["large"]["path"], "train/pax/large");
  EXPECT_EQ(found["link"]["link"], "dir/sub/c");
  EXPECT_EQ(found["hard"]["node"], found["a.txt"]["node"]);
  EXPECT_EQ(found["dir"]["type"], "dir");
}

TEST_F(DatasetCommands, SeveralPathsAreToldApartAndOneThatFailsStopsNone) {
  EXPECT_EQ(Tarn({"ls", "set:train", "set:deep"}).out, "set:train:\ngnu\npax\nset:deep:\ner\n");
  const Outcome ls = Tarn({"ls", "set:nothing", "set:train"});
  EXPECT_EQ(ls.code, 3);
  EXPECT_THAT(ls.out, HasSubstr("gnu\npax\n"));
  const Outcome cat = Tarn({"cat", "set:labels.csv", "set:nothing", "set:train/gnu/a.txt"});
  EXPECT_EQ(cat.code, 3);
  EXPECT_EQ(cat.out, "1,2,3\nfirst\n");
}

TEST_F(DatasetCommands, LinksAreFollowedInsideTheDatasetAndNeverOutOfIt) {
  EXPECT_EQ(Tarn({"cat", "set:train/gnu/link"}).out, "third");
  EXPECT_EQ(Tarn({"cat", "set:train/gnu/dir/up"}).out, "first\n");
  EXPECT_EQ(Tarn({"cat", "set:train/gnu/dir/../a.txt"}).out, "first\n");
  const Outcome out = Tarn({"cat", "set:train/gnu/out"});
  EXPECT_EQ(out.code, 3);
  EXPECT_THAT(out.err, HasSubstr("'train/gnu/out' -> '/etc/passwd' leads out of the dataset"));
  EXPECT_THAT(Tarn({"cat", "set:train/gnu/circle"}).err, HasSubstr("too many symbolic links"));
  EXPECT_EQ(json::parse(Tarn({"stat", "--json", "set:train/gnu/out"}).out)["type"], "sym");
}

TEST_F(DatasetCommands, StatTellsWhereTheBytesLie) {
  for (const char* archive : {"train/gnu", "train/pax", "deep/er/ustar"}) {
    const json facts = json::parse(Tarn({"stat", "--json", "set:" + std::string(archive) + "/large"}).out);
    const std::string bytes = Read(*scratch_ / ("data/set/" + std::string(archive) + ".tar"));
    const std::string large = Read(*scratch_ / "files/large");
    EXPECT_EQ(facts["archive"], std::string(archive) + ".tar");
    EXPECT_EQ(facts["size"], large.size());
    EXPECT_EQ(facts["stored_size"], large.size());
    EXPECT_TRUE(bytes.substr(facts["data_offset"], large.size()) == large);
    EXPECT_EQ(facts["extents"], json::array({{facts["data_offset"], large.size()}}));
    EXPECT_EQ(facts["xattrs"]["user.tarn.archive_id"], facts["archive_id"]);
    EXPECT_THAT(facts["archive_id"].get<std::string>(), StartsWith(std::to_string(bytes.size()) + "-"));
    EXPECT_EQ(facts["file"], *scratch_ / ("data/set/" + std::string(archive) + ".tar"));
    EXPECT_EQ(facts["file_state"], "as published");
    EXPECT_EQ(facts["dataset"], "set");
    EXPECT_EQ(facts["generation"], 1);
  }
}

TEST_F(DatasetCommands, StatKnowsModesOrdinalsDirectoriesAndLooseFiles) {
  const json file = json::parse(Tarn({"stat", "--json", "set:train/gnu/a.txt"}).out);
  EXPECT_EQ(file["mode"], 0440);
  EXPECT_EQ(file["stored_mode"], 0640);
  EXPECT_EQ(file["links"], 2);
  EXPECT_EQ(file["ordinal"], 1) << "behind ./";
  const json directory = json::parse(Tarn({"stat", "--json", "set:train/gnu/dir"}).out);
  EXPECT_EQ(directory["type"], "dir");
  EXPECT_EQ(directory["archive"], "train/gnu.tar");
  EXPECT_EQ(directory["xattrs"]["user.tarn.generation"], "set@1");
  const json loose = json::parse(Tarn({"stat", "--json", "set:labels.csv"}).out);
  EXPECT_EQ(loose["archive"], "labels.csv");
  EXPECT_EQ(loose["data_offset"], 0);
  EXPECT_FALSE(loose.contains("ordinal"));
  const json root = json::parse(Tarn({"stat", "--json", "set:"}).out);
  EXPECT_EQ(root["xattrs"]["user.tarn.digest"].get<std::string>().size(), 32U);
  EXPECT_THAT(Tarn({"stat", "set:train/gnu/a.txt"}).out,
              AllOf(HasSubstr("mode:          0440\n"), HasSubstr("stored_mode:   0640\n"),
                    HasSubstr("xattr:         user.tarn.size=6\n")));
}

TEST_F(DatasetCommands, FactsNeedNoSourceAndBytesSaySo) {
  std::map<std::string, std::string> none = {{"TARN_SOURCE", ""}};
  EXPECT_EQ(Tarn({"ls", "set:train"}, none).code, 0);
  EXPECT_FALSE(json::parse(Tarn({"stat", "--json", "set:train/gnu/a.txt"}, none).out).contains("file"));
  const Outcome cat = Tarn({"cat", "set:labels.csv"}, none);
  EXPECT_EQ(cat.code, 2);
  EXPECT_THAT(cat.err, AllOf(HasSubstr("no source is named"), HasSubstr("TARN_SOURCE")));
  none = {{"TARN_SOURCE", "/nowhere/at/all"}};
  EXPECT_EQ(Tarn({"ls", "set:train"}, none).code, 0) << "not needed, so not missed";
  const Outcome gone = Tarn({"cat", "set:labels.csv"}, none);
  EXPECT_EQ(gone.code, 3);
  EXPECT_THAT(gone.err, HasSubstr("'/nowhere/at/all' from TARN_SOURCE"));
  EXPECT_EQ(Tarn({"ls", "set:train", "--source", "/nowhere/at/all"}).code, 3)
      << "named, so it has to be there";
}

TEST_F(DatasetCommands, TheDatasetsOwnDirectoryIsASourceToo) {
  EXPECT_EQ(Tarn({"cat", "set:labels.csv", "--source", *scratch_ / "data/set"}).out, "1,2,3\n");
}

TEST_F(DatasetCommands, AGenerationIsNamedByNumberOrDigest) {
  const json listed = json::parse(Tarn({"datasets", "--json"}).out);
  const std::string digest = listed["digest"];
  EXPECT_EQ(Tarn({"ls", "set@1:train"}).out, "gnu\npax\n");
  EXPECT_EQ(Tarn({"ls", "set@" + digest + ":train"}).out, "gnu\npax\n");
  EXPECT_EQ(Tarn({"ls", "set@2:train"}).code, 3);
  EXPECT_EQ(Tarn({"ls", "set@x:train"}).code, 2);
}

TEST_F(DatasetCommands, DatasetsListsGenerationsWithTheirFacts) {
  const json listed = json::parse(Tarn({"datasets", "--json"}).out);
  EXPECT_EQ(listed["dataset"], "set");
  EXPECT_EQ(listed["generation"], 1);
  EXPECT_EQ(listed["latest"], true);
  EXPECT_EQ(listed["archives"], 3);
  EXPECT_EQ(listed["loose_files"], 1);
  EXPECT_EQ(listed["members"], 3 * 13);
  EXPECT_EQ(listed["source_path"], "set");
  const std::string text = Tarn({"datasets"}).out;
  EXPECT_THAT(text, HasSubstr("DATASET"));
  EXPECT_THAT(text, HasSubstr("set@1"));
  EXPECT_THAT(text, HasSubstr(listed["digest"].get<std::string>()));
  EXPECT_EQ(Tarn({"datasets", "set"}).out, text);
  const Outcome missing = Tarn({"datasets", "sett"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("did you mean 'set'?"));
}

TEST_F(DatasetCommands, DatasetsListsEveryGenerationWhenAsked) {
  const support::Scratch other;
  const std::string index = other / "index";
  for (const char* contents : {"1", "2", "3"}) {
    other.Write("data/set/file", contents);
    ASSERT_EQ(RunProgram(indexer::Run,
                         {"publish", other / "data/set", "--name", "many", "--index", index, "--settle", "0",
                          "--quiet"},
                         {})
                  .code,
              0);
  }
  std::vector<int> generations;
  std::istringstream in(Tarn({"datasets", "--all", "--json", "--index", index}).out);
  for (std::string line; std::getline(in, line);) generations.push_back(json::parse(line)["generation"]);
  EXPECT_THAT(generations, ElementsAre(3, 2, 1));
  const json newest = json::parse(Tarn({"datasets", "--json", "--index", index}).out);
  EXPECT_EQ(newest["generation"], 3);
  EXPECT_EQ(newest["generations"], 3);
  const Outcome kept = Tarn({"cat", "many@1:file", "--index", index, "--source", other / "data"});
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_EQ(kept.out, "1") << "the index root keeps small loose files";
  fs::remove_all(fs::path(index) / "kept");
  EXPECT_EQ(Tarn({"cat", "many@1:file", "--index", index, "--source", other / "data"}).code, 3)
      << "generation 1's bytes are no longer there";
}

TEST_F(DatasetCommands, AChangedArchiveIsNeverPrinted) {
  const support::Scratch other;
  other.Write("data/set/file", "published");
  ASSERT_EQ(RunProgram(indexer::Run,
                       {"publish", other / "data/set", "--name", "set", "--index", other / "index",
                        "--settle", "0", "--quiet", "--no-keep"},
                       {})
                .code,
            0);
  other.Write("data/set/file", "different");
  fs::last_write_time(other / "data/set/file", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const Outcome cat = Tarn({"cat", "set:file", "--index", other / "index", "--source", other / "data"});
  EXPECT_EQ(cat.code, 3);
  EXPECT_EQ(cat.out, "");
  EXPECT_THAT(cat.err, AllOf(HasSubstr("was changed"), HasSubstr(other / "data/set/file")));
  EXPECT_EQ(std::count(cat.err.begin(), cat.err.end(), '\n'), 2)
      << "the error and what helps, once: " << cat.err;
  const json facts = json::parse(
      Tarn({"stat", "--json", "set:file", "--index", other / "index", "--source", other / "data"}).out);
  EXPECT_EQ(facts["file_state"], "other mtime");
}

TEST_F(DatasetCommands, MistypedNamesGetTheNearestOne) {
  EXPECT_THAT(Tarn({"cat", "set:train/gnu/a.tx"}).err, HasSubstr("did you mean 'train/gnu/a.txt'?"));
  const Outcome dataset = Tarn({"ls", "sett:"});
  EXPECT_EQ(dataset.code, 3);
  EXPECT_THAT(dataset.err, AllOf(HasSubstr("no dataset 'sett'"), HasSubstr("did you mean 'set'?"),
                                 HasSubstr("tarn datasets")));
  const Outcome command = Tarn({"dataset"});
  EXPECT_EQ(command.code, 2);
  EXPECT_THAT(command.err, HasSubstr("did you mean 'datasets'?"));
  EXPECT_THAT(Tarn({"ls", "--recursiv", "set:"}).err, HasSubstr("did you mean '--recursive'?"));
}

TEST_F(DatasetCommands, WhatCannotBeReadSaysWhatItIs) {
  const Outcome directory = Tarn({"cat", "set:train"});
  EXPECT_EQ(directory.code, 2);
  EXPECT_THAT(directory.err, AllOf(HasSubstr("'set:train' is a directory"), HasSubstr("tarn ls")));
  const Outcome below = Tarn({"ls", "set:labels.csv/x"});
  EXPECT_EQ(below.code, 3);
  EXPECT_THAT(below.err, HasSubstr("'labels.csv' is no directory"));
}

TEST_F(DatasetCommands, TheIndexRootThatIsWrongIsNamedWithItsOrigin) {
  const Outcome missing = Tarn({"ls", "set:"}, {{"TARN_INDEX", "/nowhere/index"}});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("'/nowhere/index' from TARN_INDEX"), HasSubstr("help:")));
  const support::Scratch other;
  const std::string config = other.Write("tarn.conf", "index = " + other.path() + "\n");
  const Outcome foreign = Tarn({"datasets"}, {{"TARN_INDEX", ""}, {"TARN_CONFIG", config}});
  EXPECT_EQ(foreign.code, 2) << "a directory of something else";
  EXPECT_THAT(foreign.err, HasSubstr("from " + config + ":1"));
  const Outcome nobody = Tarn({"datasets"}, {{"TARN_INDEX", ""}});
  EXPECT_EQ(nobody.code, 2);
  EXPECT_THAT(nobody.err,
              AllOf(HasSubstr("no index root is named"), HasSubstr("--index"), HasSubstr("TARN_INDEX")));
}

TEST_F(DatasetCommands, AnIndexOfANewerFormatIsRefusedWithBothVersions) {
  const support::Scratch other;
  fs::copy(*scratch_ / "index", other / "index", fs::copy_options::recursive);
  std::string format = Read(other / "index/format");
  const size_t one = format.find('1');
  ASSERT_NE(one, std::string::npos);
  format.replace(one, 1, "999");
  other.Write("index/format", format);
  const Outcome newer = Tarn({"ls", "set:", "--index", other / "index"});
  EXPECT_EQ(newer.code, 3) << format;
  EXPECT_THAT(newer.err, AllOf(HasSubstr("999"), HasSubstr("--index"), HasSubstr("help:")));
  EXPECT_EQ(Read(other / "index/format"), format);
}

// What a mount shows is told by attributes alone, so a directory that has them stands in for one.
TEST_F(DatasetCommands, PathsBelowAMountAreTakenAsTheyAre) {
  const support::Scratch mount;
  const auto set = [](const std::string& path, const char* name, const std::string& value) {
    return ::setxattr(path.c_str(), name, value.data(), value.size(), 0) == 0;
  };
  const std::string file = mount.Write("n01/x.JPEG", "pixels");
  if (!set(mount / "n01", "user.tarn.generation", "set@4")) {
    GTEST_SKIP() << "no user attributes in " << mount.path() << ": " << std::strerror(errno);
  }
  ASSERT_TRUE(set(mount / "n01", "user.tarn.archive", "train/n01.tar"));
  ASSERT_TRUE(set(file, "user.tarn.archive_id", "6-00"));
  ASSERT_TRUE(set(file, "user.tarn.data_offset", "512"));
  EXPECT_EQ(Tarn({"ls", mount / "n01"}).out, "x.JPEG\n");
  EXPECT_EQ(Tarn({"cat", file}).out, "pixels");
  const json facts = json::parse(Tarn({"stat", "--json", file}).out);
  EXPECT_EQ(facts["path"], file);
  EXPECT_EQ(facts["dataset"], "set");
  EXPECT_EQ(facts["generation"], 4);
  EXPECT_EQ(facts["archive"], "train/n01.tar");
  EXPECT_EQ(facts["archive_id"], "6-00");
  EXPECT_EQ(facts["data_offset"], 512);
  EXPECT_EQ(facts["size"], 6);
}

TEST_F(DatasetCommands, APathThatIsNeitherIsRefusedWithWhatWouldDo) {
  const Outcome outside = Tarn({"ls", "/proc"});
  EXPECT_EQ(outside.code, 2);
  EXPECT_THAT(outside.err,
              AllOf(HasSubstr("'/proc' is not below a mount of Tarn"), HasSubstr("NAME[@GENERATION]:PATH")));
  const Outcome missing = Tarn({"ls", "/nowhere/at/all"});
  EXPECT_EQ(missing.code, 3);
}

TEST_F(DatasetCommands, HelpAndVersionAreThereForEveryCommand) {
  EXPECT_THAT(Tarn({"--version"}).out, StartsWith("tarn "));
  const Outcome help = Tarn({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"ls", "stat", "cat", "datasets", "walk", "verify"}) {
    EXPECT_THAT(help.out, HasSubstr(std::string("  ") + command + " "));
    const Outcome own = Tarn({command, "--help"});
    EXPECT_EQ(own.code, 0) << command;
    EXPECT_THAT(own.out, HasSubstr("Usage:")) << command;
    EXPECT_EQ(Tarn({command, "--no-such-option"}).code, 2) << command;
  }
  const Outcome nothing = Tarn({});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("Usage:"));
}

// The programs beside it are run by replacing the process, so by the binary that was built.
TEST_F(DatasetCommands, OtherProgramsAreRunFromTheSameDirectory) {
  const std::string out = *scratch_ / "version";
  Shell(std::string(TARN_BINARY_DIRECTORY) + "/tarn index --version >'" + out + "'");
  EXPECT_THAT(Read(out), StartsWith("tarn-index "));
  const support::Scratch alone;
  fs::copy_file(std::string(TARN_BINARY_DIRECTORY) + "/tarn", alone / "tarn");
  EXPECT_NE(std::system(("'" + (alone / "tarn") + "' index --version 2>'" + out + "'").c_str()), 0);
  EXPECT_THAT(Read(out), AllOf(HasSubstr("cannot run '" + (alone / "tarn-index") + "'"), HasSubstr("help:")));
}

}  // namespace
}  // namespace tarn::cli

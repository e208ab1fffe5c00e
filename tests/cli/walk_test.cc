// tarn walk and tarn verify --reference, in-process: what they print, their exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.h"
#include "tests/support/scratch.h"
#include "tests/support/tar_writer.h"

namespace tarn::cli {
namespace {

using support::Scratch;
using support::TarHeader;
using support::TarWriter;
using testing::HasSubstr;
using testing::IsEmpty;

struct Ran {
  int code;
  std::string out;
  std::string err;

  std::vector<nlohmann::json> Lines() const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(out);
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
};

Ran RunTarn(std::vector<std::string> arguments) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Program program{.arguments = std::move(arguments), .in = &in, .out = &out, .err = &err, .environment = {}};
  const int code = Run(program);
  return {code, out.str(), err.str()};
}

class WalkTest : public testing::Test {
 protected:
  std::string Sound() {
    TarWriter writer;
    writer.AddDirectory("d/");
    writer.AddFile("d/caf\xe9\\\"", "hello");
    writer.AddLink("s", '2', "d/x");
    return scratch_.Write("sound.tar", writer.Finish());
  }
  std::string Damaged() {
    TarWriter writer;
    writer.AddFile("a", "x");
    TarHeader bad;
    bad.after_checksum = {{0, "?"}};
    writer.Add(bad);
    return scratch_.Write("damaged.tar", writer.Finish());
  }
  const Scratch scratch_;
};

TEST_F(WalkTest, JsonHasALineAMemberAFindingAndTheArchive) {
  const Ran ran = RunTarn({"walk", Sound(), "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::vector<nlohmann::json> lines = ran.Lines();
  ASSERT_EQ(lines.size(), 4U);
  const nlohmann::json& file = lines[1].at("member");
  EXPECT_EQ(file.at("ordinal"), 1);
  EXPECT_EQ(file.at("name"), "d/caf\\xe9\\x5c\"");
  EXPECT_EQ(file.at("type"), "reg");
  EXPECT_EQ(file.at("logical_size"), 5);
  EXPECT_EQ(file.at("header_offset"), 512);
  EXPECT_EQ(file.at("data_offset"), 1024);
  EXPECT_EQ(file.at("extents"), nlohmann::json::parse("[[1024, 5]]"));
  EXPECT_EQ(lines[0].at("member").at("name"), "d") << "the slash is said by the type";
  EXPECT_EQ(lines[2].at("member").at("link"), "d/x");
  EXPECT_EQ(lines[3].at("archive").at("members"), 3);
  EXPECT_EQ(lines[3].at("archive").at("clean"), true);
}

TEST_F(WalkTest, AnErrorFindingGivesOneAWarningZero) {
  const Ran damaged = RunTarn({"walk", Damaged(), "--json"});
  EXPECT_EQ(damaged.code, 1);
  const nlohmann::json finding = damaged.Lines().at(1).at("finding");
  EXPECT_EQ(finding.at("code"), "BAD_CHECKSUM");
  EXPECT_EQ(finding.at("severity"), "error");
  EXPECT_EQ(finding.at("offset"), 1024);
  EXPECT_EQ(finding.at("member"), "a");
  TarWriter writer;
  writer.AddFile("a", "x");
  const Ran warned = RunTarn({"walk", scratch_.Write("cut.tar", writer.bytes())});
  EXPECT_EQ(warned.code, 0);
  EXPECT_THAT(warned.out, HasSubstr("warning: MISSING_EOF at 1024 ('a')"));
}

TEST_F(WalkTest, FindingsOfTheTreeAreReportedToo) {
  TarWriter writer;
  writer.AddFile("../escape", "x");
  const Ran ran = RunTarn({"walk", scratch_.Write("escape.tar", writer.Finish())});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("../escape\n"));
  EXPECT_THAT(ran.out, HasSubstr("warning: ESCAPES_ROOT at 0"));
}

TEST_F(WalkTest, PeopleGetAListingWithOffsets) {
  const Ran ran = RunTarn({"walk", Sound()});
  EXPECT_THAT(ran.out,
              HasSubstr("512         1024 -rw-r--r-- user/group                   5 2023-11-14 22:13:20 "
                        "d/caf\\xe9\\x5c\""));
  EXPECT_THAT(ran.out, HasSubstr(" s -> d/x\n"));
  EXPECT_THAT(ran.out, HasSubstr("3 members, 0 errors, 0 warnings, 3072 bytes\n"));
}

TEST_F(WalkTest, IgnoreZerosReadsOn) {
  TarWriter writer;
  writer.AddFile("a", "x");
  writer.Finish();
  writer.AddFile("b", "y");
  const std::string path = scratch_.Write("joined.tar", writer.Finish());
  EXPECT_THAT(RunTarn({"walk", path}).out, HasSubstr("--ignore-zeros"));
  EXPECT_THAT(RunTarn({"walk", path, "--ignore-zeros"}).out, HasSubstr("2 members, 0 errors, 0 warnings"));
}

TEST_F(WalkTest, AWrongCommandLineGivesTwoAMissingFileThree) {
  EXPECT_EQ(RunTarn({"walk"}).code, 2);
  EXPECT_EQ(RunTarn({"walk", "--jsno", "x"}).code, 2);
  const Ran missing = RunTarn({"walk", scratch_ / "nowhere.tar"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_THAT(missing.err, HasSubstr("nowhere.tar"));
  EXPECT_THAT(missing.out, IsEmpty());
}

TEST_F(WalkTest, VerifyHoldsAnArchiveOrADirectoryAgainstLibarchive) {
  Sound();
  const Ran one = RunTarn({"verify", "--reference", scratch_ / "sound.tar"});
  EXPECT_EQ(one.code, 0) << one.out << one.err;
  EXPECT_THAT(one.out, HasSubstr("3 members, 3 of libarchive"));
  EXPECT_THAT(one.out, HasSubstr("0 differences explained, 0 unexplained"));
  Damaged();
  const Ran all = RunTarn({"verify", "--reference", "--json", scratch_.path()});
  EXPECT_EQ(all.code, 0) << all.out;
  EXPECT_EQ(all.Lines().back().at("archive").at("members"), 3);
}

TEST_F(WalkTest, VerifyNeedsSomethingToVerify) {
  EXPECT_EQ(RunTarn({"verify", scratch_ / "x.tar"}).code, 2) << "--reference is what it is for";
  const Ran empty = RunTarn({"verify", "--reference", scratch_.path()});
  EXPECT_EQ(empty.code, 3);
  EXPECT_THAT(empty.err, HasSubstr("no file named *.tar"));
  EXPECT_EQ(RunTarn({"verify", "--reference", scratch_ / "nowhere.tar"}).code, 3);
}

TEST_F(WalkTest, VerifyFailsForWhatNobodyExplained) {
  TarWriter writer;
  TarHeader header;
  header.patches = {
      {108, std::string(7, '\xff') + "\xfe"}};  // -2: nobody's 32-bit id here, a large number there
  writer.AddFile(header, "x");
  const Ran ran = RunTarn({"verify", "--reference", scratch_.Write("odd.tar", writer.Finish())});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("'f' at 0: uid: tarn has '4294967294', libarchive"));
  EXPECT_THAT(ran.out, HasSubstr("unexplained"));
}

}  // namespace
}  // namespace tarn::cli

#include "tarn/base/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>

namespace tarn {
namespace {

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = testing::TempDir() + "/config_" + test->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  ~ConfigTest() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }

  static Program With(std::map<std::string, std::string> environment) {
    return Program{.arguments = {},
                   .in = &std::cin,
                   .out = &std::cout,
                   .err = &std::cerr,
                   .environment = std::move(environment)};
  }

  std::string directory_;
};

TEST_F(ConfigTest, CommandLineBeatsEnvironmentBeatsFile) {
  const std::string file = Write("tarn.conf", "index = /from/file\n");
  const Config all(With({{"TARN_CONFIG", file}, {"TARN_INDEX", "/from/environment"}}));
  EXPECT_EQ(all.Index("/from/option").value(), (Setting{"/from/option", "--index"}));
  EXPECT_EQ(all.Index(std::nullopt).value(), (Setting{"/from/environment", "TARN_INDEX"}));
  const Config only_file(With({{"TARN_CONFIG", file}, {"TARN_INDEX", ""}}));
  EXPECT_EQ(only_file.Index(std::nullopt).value(), (Setting{"/from/file", file + ":1"}));
}

TEST_F(ConfigTest, SourcesKeepTheirOrderAndAPlaceReplacesAllOfTheNext) {
  const std::string file =
      Write("tarn.conf", "# sources\n\nsource=/a\n  source =  /b c  \nsource = nfs://h/d\n");
  const Config config(With({{"TARN_CONFIG", file}}));
  EXPECT_EQ(config.Sources({}).value(),
            (std::vector<Setting>{{"/a", file + ":3"}, {"/b c", file + ":4"}, {"nfs://h/d", file + ":5"}}));
  EXPECT_EQ(config.Sources({"x", "y"}).value(), (std::vector<Setting>{{"x", "--source"}, {"y", "--source"}}));
  const Config environment(With({{"TARN_CONFIG", file}, {"TARN_SOURCE", "/e:f"}}));
  EXPECT_EQ(environment.Sources({}).value(), (std::vector<Setting>{{"/e:f", "TARN_SOURCE"}}));
}

TEST_F(ConfigTest, TheFirstFileThatExistsIsTheOnlyOneRead) {
  const std::string home_file = Write("home/.config/tarn/config", "index = /from/home\n");
  const std::string xdg_file = Write("xdg/tarn/config", "source = /from/xdg\n");
  const Config home(With({{"HOME", directory_ + "/home"}}));
  EXPECT_EQ(home.Index(std::nullopt).value(), (Setting{"/from/home", home_file + ":1"}));
  const Config xdg(With({{"HOME", directory_ + "/home"}, {"XDG_CONFIG_HOME", directory_ + "/xdg"}}));
  EXPECT_EQ(xdg.path(), xdg_file);
  EXPECT_EQ(xdg.Index(std::nullopt).code(), ErrorCode::kInvalidArgument);
}

TEST_F(ConfigTest, WhenNobodySaysTheErrorNamesAllThreePlaces) {
  const Config config(With({{"TARN_CONFIG", "/dev/null"}}));
  const Status index = config.Index(std::nullopt).status();
  EXPECT_EQ(index.code(), ErrorCode::kInvalidArgument);
  for (const char* word : {"--index", "TARN_INDEX", "/dev/null"}) {
    EXPECT_NE(index.hint().find(word), std::string::npos) << index.ToString();
  }
  const Status sources = config.Sources({}).status();
  EXPECT_EQ(sources.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(sources.hint().find("TARN_SOURCE"), std::string::npos);
}

TEST_F(ConfigTest, AFileNamedByTheEnvironmentHasToExist) {
  const Config config(With({{"TARN_CONFIG", directory_ + "/none"}}));
  const Status status = config.Index(std::nullopt).status();
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_NE(status.message().find(directory_ + "/none"), std::string::npos);
  // A directory opens and does not read.
  const Config directory(With({{"TARN_CONFIG", directory_}}));
  EXPECT_FALSE(directory.Index(std::nullopt).ok());
}

TEST_F(ConfigTest, ABadFileFailsOnlyTheSettingsThatWouldComeFromIt) {
  const Config config(With({{"TARN_CONFIG", Write("tarn.conf", "nonsense\n")}, {"TARN_INDEX", "/i"}}));
  EXPECT_TRUE(config.Index("/o").ok());
  EXPECT_TRUE(config.Index(std::nullopt).ok());
  EXPECT_TRUE(config.Sources({"/s"}).ok());
  EXPECT_EQ(config.Sources({}).code(), ErrorCode::kInvalidArgument);
}

TEST_F(ConfigTest, BadLinesAreNamedByFileLineAndWhatWasFound) {
  const struct {
    const char* text;
    const char* says;
  } kCases[] = {{"index /x\n", "expected 'key = value', found 'index /x'"},
                {"index = /x\ninde = /y\n", ":2: unknown key 'inde', did you mean 'index'?"},
                {"source = relative\n", "expected an absolute path for source, found 'relative'"},
                {"index =\n", "expected an absolute path for index, found ''"},
                {"index = /x\nindex = /y\n", ":2: index is named a second time; first at "}};
  for (const auto& test : kCases) {
    const Config config(With({{"TARN_CONFIG", Write("tarn.conf", test.text)}}));
    const Status status = config.Index(std::nullopt).status();
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument) << test.text;
    EXPECT_NE(status.message().find(test.says), std::string::npos) << status.message();
    EXPECT_FALSE(status.hint().empty());
  }
}

TEST_F(ConfigTest, ASettingExplainsWhereAWrongValueCameFrom) {
  const Setting setting{"/none", "TARN_INDEX"};
  EXPECT_TRUE(setting.Explain(Status::Ok()).ok());
  EXPECT_EQ(setting.Explain(Status(ErrorCode::kNotFound, "not there")).message(),
            "'/none' from TARN_INDEX: not there");
  EXPECT_EQ(setting.Describe(), "'/none' (from TARN_INDEX)");
}

}  // namespace
}  // namespace tarn

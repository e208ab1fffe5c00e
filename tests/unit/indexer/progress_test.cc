#include "indexer/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace tarn::indexer {
namespace {

using ::testing::HasSubstr;

TEST(ProgressTest, OnATerminalALineIsDrawnOverAndErased) {
  std::ostringstream err;
  {
    Progress progress(&err, ProgressStyle::kTerminal);
    progress.SetPhase("reading");
    progress.SetTotals(3, 2048);
    progress.AddBytes(1024);
    progress.AddMembers(7);
    progress.AddFile();
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    progress.Say("left out: x");
  }
  const std::string text = err.str();
  EXPECT_THAT(text, HasSubstr("\r[####....] 50% of 2.0 KiB, 1/3 files"));
  EXPECT_THAT(text, HasSubstr("7 members"));
  EXPECT_THAT(text, HasSubstr("\rleft out: x\n"));
  // No line is wider than a terminal, and nothing is left standing.
  size_t start = 0;
  for (size_t end = text.find_first_of("\r\n"); end != std::string::npos;
       end = text.find_first_of("\r\n", start)) {
    EXPECT_LE(end - start, 79U);
    start = end + 1;
  }
  EXPECT_EQ(text.find_first_not_of(" \r", start), std::string::npos);
}

TEST(ProgressTest, WithJsonEachPhaseIsAnObjectOnALineOfItsOwn) {
  std::ostringstream err;
  {
    Progress progress(&err, ProgressStyle::kJson);
    progress.SetPhase("scanning");
    progress.SetPhase("reading");
    progress.Say("left out: x");
  }
  std::istringstream lines(err.str());
  std::string line;
  std::vector<std::string> phases;
  while (std::getline(lines, line)) {
    const nlohmann::json object = nlohmann::json::parse(line);
    EXPECT_EQ(object["event"], "progress");
    phases.push_back(object["phase"]);
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"scanning", "reading"}));
}

TEST(ProgressTest, JsonLinesSayHowFastItGoesAndWhatIsLeft) {
  std::ostringstream err;
  {
    Progress progress(&err, ProgressStyle::kJson);
    progress.SetPhase("reading");
    progress.AddBytes(1000);
    progress.AddMembers(7);
    progress.AddFile();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    progress.SetTotals(4, 3000);
  }
  std::istringstream lines(err.str());
  std::string line;
  nlohmann::json last;
  while (std::getline(lines, line)) last = nlohmann::json::parse(line);
  EXPECT_EQ(last["bytes"], 1000);
  EXPECT_EQ(last["bytes_total"], 3000);
  EXPECT_EQ(last["files"], 1);
  EXPECT_EQ(last["files_total"], 4);
  EXPECT_EQ(last["members"], 7);
  const double rate = last["bytes_per_second"];
  EXPECT_GT(rate, 0);
  EXPECT_NEAR(last["seconds_left"].get<double>() * rate, 2000, 200);
}

TEST(ProgressTest, QuietIsQuiet) {
  std::ostringstream err;
  {
    Progress progress(&err, ProgressStyle::kNone);
    progress.SetPhase("reading");
    progress.Say("left out: x");
  }
  EXPECT_EQ(err.str(), "");
}

TEST(ProgressTest, ElsewhereNoticesAreLines) {
  std::ostringstream err;
  {
    Progress progress(&err, ProgressStyle::kLines);
    progress.SetPhase("reading");
    progress.Say("left out: x");
  }
  EXPECT_EQ(err.str(), "left out: x\n");
}

}  // namespace
}  // namespace tarn::indexer

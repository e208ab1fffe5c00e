#include "tarn/base/log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tarn {
namespace {

// What a block writes to standard error.
template <typename Block>
std::string Written(Block block) {
  testing::internal::CaptureStderr();
  block();
  return testing::internal::GetCapturedStderr();
}

TEST(LogTest, LinesBelowTheLevelAreDropped) {
  ConfigureLog({.level = LogLevel::kWarning, .program = "test"});
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
  EXPECT_TRUE(LogEnabled(LogLevel::kError));
  const std::string text = Written([] {
    Log(LogLevel::kInfo, "quiet");
    Log(LogLevel::kError, "loud");
  });
  EXPECT_EQ(text.find("quiet"), std::string::npos);
  EXPECT_NE(text.find("loud"), std::string::npos);
  EXPECT_NE(text.find("test["), std::string::npos);
}

TEST(LogTest, WhatGoesToTheSystemLogDoesNotGoToStandardError) {
  ConfigureLog({.level = LogLevel::kWarning, .target = LogTarget::kSystemLog, .program = "test"});
  EXPECT_EQ(Written([] { Log(LogLevel::kError, "for the system log"); }), "");
  ConfigureLog({.level = LogLevel::kWarning, .program = "test"});
  EXPECT_NE(Written([] { Log(LogLevel::kError, "here again"); }), "");
}

TEST(LogTest, AJsonLineIsOneObjectWhateverTheMessageHolds) {
  ConfigureLog({.level = LogLevel::kInfo, .format = LogFormat::kJson, .program = "test"});
  const std::string message = "a \"quoted\" \\ path\nwith {braces} and %v";
  const std::string text = Written([&message] { Log(LogLevel::kInfo, message); });
  const nlohmann::json line = nlohmann::json::parse(text);
  EXPECT_EQ(line["message"], message);
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["program"], "test");
}

}  // namespace
}  // namespace tarn

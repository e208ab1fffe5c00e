#include "tarn/dataset/archive_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "tests/support/scratch.h"

namespace tarn::dataset {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ArchiveStatesTest : public testing::Test {
 protected:
  ArchiveStatesTest() { std::filesystem::create_directories(scratch_ / "datasets/img"); }

  static DatasetStates Full() {
    DatasetStates states;
    states.dataset = "img";
    states.root_uuid = "0b7e2a9c-0000-4000-8000-000000000001";
    states.looked_at = 1'800'000'000;
    states.scrub = {.round_started = 1'799'000'000,
                    .files = 3,
                    .bytes = 3000,
                    .total_files = 7,
                    .total_bytes = UINT64_MAX,
                    .done_path = "n01.tar",
                    .done_id = {1000, {7, 8}}};
    const std::array kStates = {ArchiveVerdict::State::kVerified, ArchiveVerdict::State::kChanged,
                                ArchiveVerdict::State::kMissing, ArchiveVerdict::State::kUnreadable};
    for (const ArchiveVerdict::State state : kStates) {
      states.verdicts.push_back({.path = std::string(VerdictName(state)) + ".tar",
                                 .id = {1000, {1, 2}},
                                 .state = state,
                                 .found_at = "img/x.tar",
                                 .identity = {1000, -5, 1'700'000'000'123'456'789, UINT64_MAX},
                                 .since = 1'799'999'999,
                                 .message = "expected this, found that"});
    }
    states.unpublished = UnpublishedArchives{.count = 2, .oldest_mtime = -1, .names = {"a.tar", "b.tar"}};
    return states;
  }
  void WriteText(std::string_view text) { scratch_.Write(StatesPath("img"), text); }
  std::string Text() { return support::Scratch::Read(scratch_ / StatesPath("img")); }
  Result<DatasetStates> Read() { return ReadStates(scratch_.path(), "img"); }

  const support::Scratch scratch_;
};

TEST_F(ArchiveStatesTest, WhatIsWrittenIsRead) {
  ASSERT_TRUE(WriteStates(scratch_.path(), Full()).ok());
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, Full());
}

TEST_F(ArchiveStatesTest, NothingSeenYetIsWrittenAndRead) {
  DatasetStates empty;
  empty.dataset = "img";
  ASSERT_TRUE(WriteStates(scratch_.path(), empty).ok());
  EXPECT_EQ(*Read(), empty);
}

TEST_F(ArchiveStatesTest, NamesAreBytes) {
  DatasetStates states = Full();
  states.verdicts[0].path = std::string("\xff\xfe/\\x41\0\n\"\xc3.tar", 13);
  states.verdicts[0].found_at = "\xe4.tar";
  states.verdicts[0].message = "nothing at '\xff'";
  states.unpublished->names = {"\x80"};
  states.scrub.done_path = "\xff";
  ASSERT_TRUE(WriteStates(scratch_.path(), states).ok());
  const auto read = Read();
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, states);
}

TEST_F(ArchiveStatesTest, ReplacesTheFileAndLeavesNothingBeside) {
  ASSERT_TRUE(WriteStates(scratch_.path(), Full()).ok());
  DatasetStates next = Full();
  next.verdicts.clear();
  ASSERT_TRUE(WriteStates(scratch_.path(), next).ok());
  EXPECT_EQ(*Read(), next);
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(scratch_ / "datasets/img")) {
    names.push_back(item.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("STATES"));
}

TEST_F(ArchiveStatesTest, NobodyWatchesIsNotFound) {
  EXPECT_EQ(Read().code(), ErrorCode::kNotFound);
  DatasetStates other;
  other.dataset = "nowhere";
  EXPECT_EQ(WriteStates(scratch_.path(), other).code(), ErrorCode::kNotFound);
}

TEST_F(ArchiveStatesTest, ANewerSchemaIsRefusedWithBothVersions) {
  WriteText(R"({"schema_version": 2, "something": "else"})");
  const Status status = Read().status();
  EXPECT_EQ(status.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("version 2"), HasSubstr("reads 1"), HasSubstr("STATES")));
}

TEST_F(ArchiveStatesTest, DamageIsNamedWithItsOffset) {
  WriteText("{\"schema_version\": 1, !");
  const Status status = Read().status();
  EXPECT_EQ(status.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("STATES"), HasSubstr("offset 22 of 23 bytes")));
  EXPECT_THAT(status.hint(), HasSubstr("remove the file"));
}

TEST_F(ArchiveStatesTest, CutAnywhereItIsCorrupt) {
  ASSERT_TRUE(WriteStates(scratch_.path(), Full()).ok());
  const std::string whole = Text();
  for (size_t length = 0; length + 1 < whole.size(); ++length) {
    WriteText(whole.substr(0, length));
    EXPECT_EQ(Read().code(), ErrorCode::kCorrupt) << length;
  }
}

TEST_F(ArchiveStatesTest, AFieldOfAnotherKindIsNamed) {
  ASSERT_TRUE(WriteStates(scratch_.path(), Full()).ok());
  const std::string whole = Text();
  const std::pair<const char*, const char*> kDamages[] = {
      {"\"changed\"", "\"fine\""},
      {"\"inode\": 18446744073709551615", "\"inode\": -1"},
      {"\"looked_at\": 1800000000", "\"looked_at\": 1.5"},
      {"\"a.tar\"", "7"},
      {"\"a.tar\"", "\"\\\\x4\""},
      {"\"dataset\": \"img\"", "\"dataset\": \"other\""},
      {"\"verdicts\"", "\"vredicts\""}};
  for (const auto& [from, to] : kDamages) {
    std::string text = whole;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    WriteText(text.replace(at, std::string_view(from).size(), to));
    const Status status = Read().status();
    EXPECT_EQ(status.code(), ErrorCode::kCorrupt) << to;
    EXPECT_THAT(status.message(), HasSubstr("expected")) << to;
  }
}

TEST_F(ArchiveStatesTest, UnknownFieldsOfTheSameSchemaAreNoDamage) {
  ASSERT_TRUE(WriteStates(scratch_.path(), Full()).ok());
  std::string text = Text();
  WriteText(text.insert(1, "\"later\": [1, 2], "));
  EXPECT_EQ(*Read(), Full());
}

}  // namespace
}  // namespace tarn::dataset

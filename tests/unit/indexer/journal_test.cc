#include "indexer/journal.h"

#include <gtest/gtest.h>

#include "tests/support/scratch.h"

namespace tarn::indexer {
namespace {

JournalLine Line(const std::string& path, uint64_t size = 10) {
  return JournalLine{
      .path = path,
      .hint = {.size = size, .mtime_ns = -5, .ctime_ns = 1'700'000'000'123'456'789, .inode = 77},
      .id = {.size = size, .digest = {1, size}}};
}

class JournalTest : public ::testing::Test {
 protected:
  std::unique_ptr<Journal> Open(const std::string& name) {
    Result<std::unique_ptr<Journal>> journal = Journal::Open(directory_, name);
    EXPECT_TRUE(journal.ok()) << journal.status().ToString();
    return journal.ok() ? *std::move(journal) : nullptr;
  }
  std::vector<std::string> Files() { return *io::ListDirectory(directory_); }

  const support::Scratch scratch_;
  const std::string directory_ = scratch_ / "journals/img";
};

TEST_F(JournalTest, ALineComesBackWhateverThePathHolds) {
  for (const std::string path : {"a.tar", "x y/ z.tar", "new\nline\\x", "\xff\xfe/caf\xc3\xa9.tar", " "}) {
    const std::string text = RenderJournalLine(Line(path));
    ASSERT_EQ(text.find('\n'), text.size() - 1);
    EXPECT_EQ(ParseJournalLine(text.substr(0, text.size() - 1)), Line(path));
  }
}

TEST_F(JournalTest, ALineThatWasCutOrChangedIsNoLine) {
  const std::string text = RenderJournalLine(Line("dir/a.tar"));
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_EQ(ParseJournalLine(text.substr(0, length)), std::nullopt) << length;
  }
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    std::string changed = text.substr(0, text.size() - 1);
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_EQ(ParseJournalLine(changed), std::nullopt) << at;
  }
}

TEST_F(JournalTest, TheNextPublishFindsWhatADeadOneWrote) {
  {
    const auto dead = Open("dead");
    ASSERT_TRUE(dead->Add(Line("a.tar", 1)).ok());
    ASSERT_TRUE(dead->Add(Line("a.tar", 2)).ok());
    ASSERT_TRUE(dead->Add(Line("b.tar")).ok());
  }
  const auto next = Open("next");
  ASSERT_NE(next->Find("a.tar"), nullptr);
  EXPECT_EQ(*next->Find("a.tar"), Line("a.tar", 2));
  EXPECT_NE(next->Find("b.tar"), nullptr);
  EXPECT_EQ(next->Find("c.tar"), nullptr);
}

TEST_F(JournalTest, ATornLastLineLosesThatLineAlone) {
  {
    const auto dead = Open("dead");
    ASSERT_TRUE(dead->Add(Line("a.tar")).ok());
  }
  const std::string file = directory_ + "/dead.journal";
  const std::string torn = RenderJournalLine(Line("b.tar"));
  scratch_.Write("journals/img/dead.journal", support::Scratch::Read(file) + torn.substr(0, torn.size() / 2));
  const auto next = Open("next");
  EXPECT_NE(next->Find("a.tar"), nullptr);
  EXPECT_EQ(next->Find("b.tar"), nullptr);
}

TEST_F(JournalTest, GarbageBetweenLinesIsPassedOver) {
  scratch_.Write("journals/img/dead.journal",
                 RenderJournalLine(Line("a.tar")) + "garbage\n\n" + RenderJournalLine(Line("b.tar")));
  const auto next = Open("next");
  EXPECT_NE(next->Find("a.tar"), nullptr);
  EXPECT_NE(next->Find("b.tar"), nullptr);
}

TEST_F(JournalTest, LinesAreVisibleToOthersAtOnce) {
  const auto first = Open("first");
  ASSERT_TRUE(first->Add(Line("a.tar")).ok());
  const auto second = Open("second");
  EXPECT_NE(second->Find("a.tar"), nullptr);
}

TEST_F(JournalTest, CompactingToNothingRemovesTheDeadAndLeavesTheLiving) {
  { ASSERT_TRUE(Open("dead")->Add(Line("a.tar")).ok()); }
  const auto living = Open("living");
  ASSERT_TRUE(living->Add(Line("b.tar")).ok());
  const auto own = Open("own");
  ASSERT_TRUE(own->Compact({}).ok());
  EXPECT_EQ(Files(), std::vector<std::string>{"living.journal"});
}

TEST_F(JournalTest, CompactingKeepsTheLinesThatAreStillOfUse) {
  { ASSERT_TRUE(Open("dead")->Add(Line("a.tar")).ok()); }
  {
    const auto own = Open("own");
    ASSERT_TRUE(own->Compact({Line("a.tar"), Line("b.tar")}).ok());
  }
  EXPECT_EQ(Files(), std::vector<std::string>{"own.journal"});
  const auto next = Open("next");
  EXPECT_NE(next->Find("a.tar"), nullptr);
  EXPECT_NE(next->Find("b.tar"), nullptr);
}

}  // namespace
}  // namespace tarn::indexer

// The tree's rules (docs/tar-dialects.md, "Tree"): what a reader sees of many members.
#include "tarn/tar/tree_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/scratch.h"

namespace tarn::tar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Collects a tree as paths, checking the order it comes in.
class Collector final : public TreeVisitor {
 public:
  struct Shown {
    MemberType type;
    uint32_t own;
    uint32_t target;
  };

  Status OnDentry(const Dentry& dentry) override {
    const std::pair<uint32_t, std::string> key(dentry.directory, dentry.name);
    EXPECT_TRUE(dentries_.empty() || dentries_.back().first < key) << "dentries must rise";
    EXPECT_NE(dentry.type, MemberType::kHardLink);
    EXPECT_EQ(dentry.child_directory == kNoDirectory, dentry.type != MemberType::kDirectory);
    dentries_.emplace_back(key, dentry);
    dentries_.back().second.name = {};
    return Status::Ok();
  }
  Status OnFate(const MemberFate& fate) override {
    EXPECT_TRUE(fates.empty() || fates.rbegin()->first < fate.ordinal) << "fates must rise";
    EXPECT_NE(fate.links, 1U);
    fates[fate.ordinal] = fate.links;
    return Status::Ok();
  }
  Status OnDirectory(const DirectoryFacts& facts) override {
    EXPECT_EQ(facts.number, directories.size()) << "every directory, in order";
    directories.push_back(facts);
    names_.emplace_back(facts.name);
    return Status::Ok();
  }

  std::map<std::string, Shown> Paths() const {
    std::map<std::string, Shown> paths;
    for (const auto& [key, dentry] : dentries_) {
      std::string path = key.second;
      for (uint32_t d = key.first; d != kRootDirectory; d = directories[d].parent)
        path = names_[d] + "/" + path;
      paths[path] = {dentry.type, dentry.own_ordinal, dentry.target_ordinal};
    }
    return paths;
  }

  std::map<uint32_t, uint32_t> fates;
  std::vector<DirectoryFacts> directories;

 private:
  std::vector<std::pair<std::pair<uint32_t, std::string>, Dentry>> dentries_;
  std::vector<std::string> names_;
};

class TreeTest : public testing::Test {
 protected:
  Placement Add(const std::string& name, MemberType type = MemberType::kRegular,
                const std::string& link = "") {
    Member member;
    member.ordinal = next_;
    member.header_offset = uint64_t{512} * next_++;
    member.name = name;
    member.type = type;
    member.link = link;
    Placement placement;
    const Status status = builder_.Add(member, &placement);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return placement;
  }
  Placement AddDir(const std::string& name) { return Add(name, MemberType::kDirectory); }
  Placement AddLink(const std::string& name, const std::string& target) {
    return Add(name, MemberType::kHardLink, target);
  }
  // "path" for what is shown, as name=ordinal, directories as name/.
  std::vector<std::string> Tree() {
    const Status status = builder_.Finish(&seen_);
    EXPECT_TRUE(status.ok()) << status.ToString();
    std::vector<std::string> lines;
    for (const auto& [path, shown] : seen_.Paths()) {
      std::string line = path + (shown.type == MemberType::kDirectory ? "/" : "");
      if (shown.target != kNoOrdinal) line += "=" + std::to_string(shown.target);
      lines.push_back(line);
    }
    EXPECT_EQ(builder_.counts().dentries, lines.size());
    return lines;
  }
  std::vector<std::string> Codes() const {
    std::vector<std::string> codes;
    for (const Finding& finding : findings_.kept()) {
      codes.push_back(std::string(FindingCodeName(finding.code)) + "@" +
                      std::to_string(finding.offset / 512));
    }
    return codes;
  }

  FindingList findings_;
  TreeBuilder builder_{TreeOptions{}, &findings_};
  Collector seen_;
  uint32_t next_ = 0;
};

TEST_F(TreeTest, SlashesAndDotsVanish) {
  Add("./a//b/./c");
  Add("/abs");
  AddDir("d/");
  AddDir("./");
  EXPECT_THAT(Tree(), ElementsAre("a/", "a/b/", "a/b/c=0", "abs=1", "d/=2"));
  EXPECT_THAT(Codes(), IsEmpty());
  EXPECT_EQ(seen_.directories[0].ordinal, 3U) << "./ is the root";
}

TEST_F(TreeTest, MissingParentsAreMadeUpAndNumberedAtFirstMention) {
  const Placement first = Add("x/y/f");
  EXPECT_EQ(first.directory, 2U);
  EXPECT_EQ(first.name, "f");
  AddDir("w");
  Tree();
  ASSERT_EQ(seen_.directories.size(), 4U);
  EXPECT_EQ(seen_.directories[1].parent, 0U);
  EXPECT_EQ(seen_.directories[2].parent, 1U);
  EXPECT_EQ(seen_.directories[1].ordinal, kNoOrdinal);
  EXPECT_EQ(seen_.directories[3].ordinal, 1U);
  EXPECT_EQ(seen_.directories[0].entries, 2U);
  EXPECT_EQ(seen_.directories[0].subdirectories, 2U);
}

TEST_F(TreeTest, TheLastOfOneNameWinsHoweverItIsSpelt) {
  Add("./a");
  Add("b");
  Add(".//a");
  EXPECT_THAT(Tree(), ElementsAre("a=2", "b=1"));
  EXPECT_EQ(seen_.fates, (std::map<uint32_t, uint32_t>{{0, 0}}));
  EXPECT_EQ(builder_.counts().replaced, 1U);
  EXPECT_THAT(Codes(), IsEmpty());
}

TEST_F(TreeTest, TheLastWinsAcrossTypes) {
  Add("a");
  Add("a", MemberType::kSymlink, "b");
  EXPECT_THAT(Tree(), ElementsAre("a=1"));
}

TEST_F(TreeTest, ADirectoryReplacesAFileBeforeIt) {
  Add("x");
  AddDir("x");
  Add("x/f");
  EXPECT_THAT(Tree(), ElementsAre("x/=1", "x/f=2"));
  EXPECT_THAT(Codes(), IsEmpty());
}

TEST_F(TreeTest, AFileReplacesAnEmptyDirectory) {
  AddDir("x");
  Add("x");
  EXPECT_THAT(Tree(), ElementsAre("x=1"));
  EXPECT_THAT(Codes(), IsEmpty());
  EXPECT_EQ(seen_.directories.size(), 2U) << "its number stays taken";
  EXPECT_EQ(seen_.directories[0].subdirectories, 0U);
  EXPECT_EQ(seen_.fates, (std::map<uint32_t, uint32_t>{{0, 0}}));
}

TEST_F(TreeTest, ADirectoryThatHoldsSomethingIsNeverReplaced) {
  AddDir("x");
  Add("x/f");
  Add("x");
  EXPECT_THAT(Tree(), ElementsAre("x/=0", "x/f=1"));
  EXPECT_THAT(Codes(), ElementsAre("NAME_CONFLICT@2"));
  EXPECT_EQ(findings_.kept()[0].member, "x");
  EXPECT_EQ(findings_.errors(), 0U);
}

TEST_F(TreeTest, ASymlinkWithMembersBehindItBecomesADirectory) {
  Add("d", MemberType::kSymlink, "/tmp");
  Add("d/f");
  EXPECT_THAT(Tree(), ElementsAre("d/", "d/f=1"));
  EXPECT_THAT(Codes(), ElementsAre("NAME_CONFLICT@0"));
}

TEST_F(TreeTest, TheLastMemberThatNamesADirectoryGivesItsAttributes) {
  AddDir("d");
  Add("d/f");
  AddDir("d/");
  EXPECT_THAT(Tree(), ElementsAre("d/=2", "d/f=1"));
  EXPECT_EQ(seen_.fates, (std::map<uint32_t, uint32_t>{{0, 0}}));
}

TEST_F(TreeTest, NamesThatCannotBeShownAreReportedNotLost) {
  EXPECT_EQ(Add("../../etc/shadow").directory, kNoDirectory);
  Add("a/../b");
  Add("d/..");
  Add("..");
  Add("");
  Add(".");
  Add(std::string("evil\0hidden", 11));
  Add("s", MemberType::kSymlink, "");
  Add("ok");
  EXPECT_THAT(Tree(), ElementsAre("ok=8"));
  EXPECT_THAT(Codes(), ElementsAre("ESCAPES_ROOT@0", "ESCAPES_ROOT@1", "BAD_NAME@2", "ESCAPES_ROOT@3",
                                   "BAD_NAME@4", "BAD_NAME@5", "BAD_NAME@6", "BAD_NAME@7"));
  EXPECT_EQ(findings_.errors(), 1U) << "a NUL in a name is an error: readers disagree where it ends";
  EXPECT_EQ(builder_.counts().unshown, 8U);
  EXPECT_EQ(seen_.fates.size(), 8U);
}

TEST_F(TreeTest, NamesAboveNameMaxAndPathsAbovePathMaxAreNotShown) {
  Add(std::string(255, 'n'));
  Add(std::string(256, 'n'));
  std::string path;
  while (path.size() < 4095) path += "abc/";
  Add(path + "toolong");
  Add("s", MemberType::kSymlink, std::string(4096, 't'));
  EXPECT_THAT(Tree(), ElementsAre(std::string(255, 'n') + "=0"));
  EXPECT_THAT(Codes(), ElementsAre("NAME_TOO_LONG@1", "NAME_TOO_LONG@2", "NAME_TOO_LONG@3"));
}

TEST_F(TreeTest, NamesThatHoldNoUtf8AreBytes) {
  Add("\xff\xfe");
  Add("caf\xe9");
  Add("\xc3\xa9");
  Add("e\xcc\x81");
  EXPECT_EQ(Tree().size(), 4U);
}

TEST_F(TreeTest, AHardLinkShowsItsTargetAndIsCounted) {
  Add("./a");
  AddLink("./b", "a");
  AddLink("c", "/a");
  EXPECT_THAT(Tree(), ElementsAre("a=0", "b=0", "c=0"));
  EXPECT_EQ(seen_.fates, (std::map<uint32_t, uint32_t>{{0, 3}}));
}

TEST_F(TreeTest, AHardLinkShowsWhatItsTargetWasWhenItWasWritten) {
  Add("a");
  AddLink("b", "a");
  Add("a");
  AddLink("c", "a");
  EXPECT_THAT(Tree(), ElementsAre("a=2", "b=0", "c=2"));
  EXPECT_EQ(seen_.fates, (std::map<uint32_t, uint32_t>{{2, 2}})) << "member 0 is still shown once, by b";
  EXPECT_EQ(builder_.counts().replaced, 1U);
}

TEST_F(TreeTest, AForwardHardLinkShowsTheFirstMemberBehindIt) {
  AddLink("b", "a");
  Add("a");
  Add("a");
  EXPECT_THAT(Tree(), ElementsAre("a=2", "b=1"));
  EXPECT_THAT(Codes(), IsEmpty());
}

TEST_F(TreeTest, ChainsOfHardLinksAreFollowedWithoutRecursion) {
  Add("f0");
  for (int i = 1; i < 5000; ++i) AddLink("f" + std::to_string(i), "f" + std::to_string(i - 1));
  Tree();
  for (const auto& [path, shown] : seen_.Paths()) EXPECT_EQ(shown.target, 0U) << path;
  EXPECT_EQ(seen_.fates, (std::map<uint32_t, uint32_t>{{0, 5000}}));
}

TEST_F(TreeTest, CyclesOfHardLinksAreReported) {
  AddLink("a", "b");
  AddLink("b", "a");
  Add("c");
  AddLink("self", "self");
  EXPECT_THAT(Tree(), ElementsAre("c=2"));
  EXPECT_THAT(Codes(), ElementsAre("HARDLINK_CYCLE@0", "HARDLINK_CYCLE@1", "HARDLINK_CYCLE@3"));
  EXPECT_EQ(builder_.counts().unshown, 3U);
}

TEST_F(TreeTest, ALinkToItselfKeepsTheEarlierFile) {
  Add("a");
  AddLink("a", "a");
  AddLink("a", "./a");
  EXPECT_THAT(Tree(), ElementsAre("a=0"));
  EXPECT_THAT(Codes(), IsEmpty());
}

TEST_F(TreeTest, ALinkToNothingHidesOnlyItself) {
  AddLink("b", "nowhere");
  AddLink("e", "");
  AddLink("x", "no/such/directory");
  AddLink("up", "../a");
  Add("c");
  Add("kept");
  AddLink("kept", "nowhere");
  EXPECT_THAT(Tree(), ElementsAre("c=4", "kept=5"));
  EXPECT_THAT(Codes(), ElementsAre("DANGLING_HARDLINK@0", "DANGLING_HARDLINK@1", "DANGLING_HARDLINK@2",
                                   "DANGLING_HARDLINK@3", "DANGLING_HARDLINK@6"));
  EXPECT_EQ(findings_.errors(), 0U);
}

TEST_F(TreeTest, ALinkThatShowsNothingLeavesItsNameToTheMemberBeforeItForLinksToo) {
  Add("f");
  AddLink("f", "nowhere");
  AddLink("f", "no/where");
  AddLink("g", "f");
  AddLink("x", "y");
  AddLink("y", "f");
  EXPECT_THAT(Tree(), ElementsAre("f=0", "g=0", "x=0", "y=0"));
  EXPECT_THAT(Codes(), ElementsAre("DANGLING_HARDLINK@1", "DANGLING_HARDLINK@2"));
}

TEST_F(TreeTest, ManyLinksOfOneNameToNothingCostNoMoreThanTheyAre) {
  for (int i = 0; i < 50'000; ++i) AddLink("f", "nowhere");
  for (int i = 0; i < 50'000; ++i) AddLink("g" + std::to_string(i), "f");
  EXPECT_THAT(Tree(), IsEmpty());
  EXPECT_EQ(findings_.warnings(), 100'000U);
}

TEST_F(TreeTest, ALinkToADirectoryIsDangling) {
  AddDir("d");
  AddLink("l", "d");
  Add("m/f");
  AddLink("n", "m");
  EXPECT_THAT(Tree(), ElementsAre("d/=0", "m/", "m/f=2"));
  EXPECT_THAT(Codes(), ElementsAre("DANGLING_HARDLINK@1", "DANGLING_HARDLINK@3"));
}

TEST_F(TreeTest, ALinkToASymlinkShowsTheSymlink) {
  Add("s", MemberType::kSymlink, "t");
  AddLink("l", "s");
  Tree();
  EXPECT_EQ(seen_.Paths().at("l").type, MemberType::kSymlink);
}

TEST_F(TreeTest, APath2000LevelsDeepWorks) {
  std::string path;
  for (int i = 0; i < 2000; ++i) path += "d/";
  Add(path + "f");
  EXPECT_EQ(Tree().size(), 2001U);
  EXPECT_THAT(Codes(), IsEmpty());
}

TEST_F(TreeTest, ADirectoryOf200000NamesWorks) {
  for (int i = 0; i < 200'000; ++i) Add("flat/" + std::to_string(i));
  EXPECT_TRUE(builder_.Finish(&seen_).ok());
  EXPECT_EQ(builder_.counts().dentries, 200'001U);
  EXPECT_EQ(seen_.directories[1].entries, 200'000U);
}

TEST(TreeLimits, MoreDirectoriesThanTheLimitAreReported) {
  FindingList findings;
  TreeOptions options;
  options.directories = 3;
  TreeBuilder builder(options, &findings);
  Member member;
  Placement placement;
  for (const char* name : {"a/f", "b/f", "c/f", "d/", "a/g"}) {
    member.name = name;
    member.type = member.name.back() == '/' ? MemberType::kDirectory : MemberType::kRegular;
    ASSERT_TRUE(builder.Add(member, &placement).ok());
    ++member.ordinal;
  }
  EXPECT_EQ(findings.errors(), 2U);
  EXPECT_EQ(findings.kept().at(0).code, FindingCode::kLimitReached);
  Collector seen;
  ASSERT_TRUE(builder.Finish(&seen).ok());
  EXPECT_EQ(seen.Paths().count("a/g"), 1U);
}

TEST(TreeMemory, NamesBeyondTheBudgetGoToTheScratchDirectoryAndComeBackTheSame) {
  const support::Scratch scratch;
  std::vector<std::map<std::string, uint32_t>> trees;
  for (const size_t memory : {size_t{64} << 20, size_t{256} << 10}) {
    FindingList findings;
    TreeOptions options;
    options.scratch_directory = scratch.path();
    options.memory_bytes = memory;
    TreeBuilder builder(options, &findings);
    Member member;
    Placement placement;
    for (uint32_t i = 0; i < 30'000; ++i) {
      member.ordinal = i;
      member.name = "dir" + std::to_string(i % 7) + "/name" + std::to_string(i * 7919 % 20'000);
      member.type = i % 10 == 9 ? MemberType::kHardLink : MemberType::kRegular;
      member.link = "dir" + std::to_string(i % 5) + "/name" + std::to_string(i * 31 % 20'000);
      ASSERT_TRUE(builder.Add(member, &placement).ok());
    }
    Collector seen;
    ASSERT_TRUE(builder.Finish(&seen).ok());
    trees.emplace_back();
    for (const auto& [path, shown] : seen.Paths()) trees.back()[path] = shown.target;
  }
  EXPECT_GT(trees[0].size(), 10'000U);
  EXPECT_EQ(trees[0], trees[1]);
}

}  // namespace
}  // namespace tarn::tar

#include "indexer/glob.h"

#include <gtest/gtest.h>

namespace tarn::indexer {
namespace {

struct Case {
  const char* pattern;
  const char* path;
  bool matches;
};

class GlobTest : public ::testing::TestWithParam<Case> {};

TEST_P(GlobTest, Matches) {
  EXPECT_EQ(GlobMatches(GetParam().pattern, GetParam().path), GetParam().matches)
      << GetParam().pattern << " against " << GetParam().path;
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, GlobTest,
    ::testing::Values(
        // Without '/': the last component.
        Case{"*.tar", "a.tar", true}, Case{"*.tar", "x/y/a.tar", true}, Case{"*.tar", "a.tar.gz", false},
        Case{"a", "a/b", false}, Case{"", "a", false}, Case{"*", "x/a", true}, Case{"a*b*c", "aXbYbZc", true},
        Case{"a*b*c", "aXcYb", false}, Case{"?.tar", "a.tar", true}, Case{"?.tar", "ab.tar", false},
        // With '/': the whole path; '*' and '?' stop at it, '**' does not.
        Case{"train/*.tar", "train/a.tar", true}, Case{"train/*.tar", "train/x/a.tar", false},
        Case{"train/*.tar", "x/train/a.tar", false}, Case{"train/**", "train/x/y/a.tar", true},
        Case{"train/**/a.tar", "train/a.tar", true}, Case{"train/**/a.tar", "train/x/y/a.tar", true},
        Case{"**/a.tar", "a.tar", true}, Case{"**/a.tar", "x/a.tar", true},
        Case{"**/a.tar", "x/ba.tar", false}, Case{"/a.tar", "a.tar", true}, Case{"/a.tar", "x/a.tar", false},
        Case{"a?b/c", "a/b/c", false}, Case{"*/x", "a/b/x", false}, Case{"*a/x", "bab/a/x", false},
        // Sets and escapes.
        Case{"[a-c].tar", "b.tar", true}, Case{"[a-c].tar", "d.tar", false},
        Case{"[!a-c].tar", "d.tar", true}, Case{"[!a-c].tar", "b.tar", false}, Case{"[]x]", "]", true},
        Case{"[a-]", "-", true}, Case{"[", "[", true}, Case{"a[", "a[", true}, Case{"\\*", "*", true},
        Case{"\\*", "a", false}, Case{"\\", "\\", true}, Case{"x[!a]y/z", "x/y/z", false},
        Case{"[\xc3]*", "\xc3\xa9", true}));

TEST(GlobTimeTest, ManyStarsEnd) {
  const std::string text(2000, 'a');
  EXPECT_FALSE(GlobMatches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

TEST(SelectionTest, EverythingTakesPartUnlessToldOtherwise) {
  const Selection all;
  EXPECT_TRUE(all.Selects("x/a.bin"));
  EXPECT_TRUE(all.Enters("x"));
  EXPECT_TRUE(all.NamesArchive("x/a.tar"));
  EXPECT_FALSE(all.NamesArchive("x/a.bin"));
}

TEST(SelectionTest, ExcludeBeatsInclude) {
  const Selection some{.include = {"*.tar"}, .exclude = {"old/**", "tmp"}, .archive_glob = {"*.shard"}};
  EXPECT_TRUE(some.Selects("x/a.tar"));
  EXPECT_FALSE(some.Selects("x/labels.csv"));
  EXPECT_FALSE(some.Selects("old/a.tar"));
  EXPECT_FALSE(some.Enters("x/tmp"));
  EXPECT_TRUE(some.Enters("x/temp"));
  EXPECT_TRUE(some.NamesArchive("b.shard"));
  EXPECT_TRUE(some.NamesArchive("b.tar"));
}

}  // namespace
}  // namespace tarn::indexer

#include "tar/sparse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace tarn::tar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

std::vector<Extent> Build(const std::vector<SparseEntry>& entries, uint64_t real_size, uint64_t stored) {
  std::vector<Extent> extents;
  const SparseTrouble trouble = BuildSparseExtents(entries, real_size, 1024, stored, &extents);
  EXPECT_FALSE(trouble) << trouble.text;
  return extents;
}
FindingCode Refused(const std::vector<SparseEntry>& entries, uint64_t real_size, uint64_t stored) {
  std::vector<Extent> extents;
  const SparseTrouble trouble = BuildSparseExtents(entries, real_size, 1024, stored, &extents);
  EXPECT_TRUE(trouble);
  return trouble.code;
}

TEST(SparseExtents, HolesStandBetweenBeforeAndBehindSegments) {
  EXPECT_THAT(Build({{10, 5}, {20, 5}}, 30, 10),
              ElementsAre(Extent{Extent::kHole, 10}, Extent{1024, 5}, Extent{Extent::kHole, 5},
                          Extent{1029, 5}, Extent{Extent::kHole, 5}));
}
TEST(SparseExtents, SegmentsThatTouchAreOneExtent) {
  EXPECT_THAT(Build({{0, 1}, {1, 1}, {2, 1}}, 3, 3), ElementsAre(Extent{1024, 3}));
}
TEST(SparseExtents, AFileMayBeOneHoleOrEmpty) {
  EXPECT_THAT(Build({}, 100, 0), ElementsAre(Extent{Extent::kHole, 100}));
  EXPECT_THAT(Build({{100, 0}}, 100, 0), ElementsAre(Extent{Extent::kHole, 100}));
  EXPECT_THAT(Build({}, 0, 0), IsEmpty());
}
TEST(SparseExtents, OverlapsAndDisorderAreRefused) {
  EXPECT_EQ(Refused({{0, 10}, {5, 10}}, 20, 20), FindingCode::kBadSparseMap);
  EXPECT_EQ(Refused({{10, 5}, {0, 5}}, 20, 10), FindingCode::kBadSparseMap);
}
TEST(SparseExtents, SegmentsBeyondTheRealSizeAreRefused) {
  EXPECT_EQ(Refused({{10, 11}}, 20, 11), FindingCode::kBadSparseMap);
  EXPECT_EQ(Refused({{kMax - 1, 2}}, 20, 2), FindingCode::kBadSparseMap);
  EXPECT_EQ(Refused({{1, kMax}}, 20, 2), FindingCode::kBadSparseMap);
  EXPECT_EQ(Refused({}, kMax, 0), FindingCode::kBadSparseMap);
}
TEST(SparseExtents, SegmentsMustHoldWhatIsStored) {
  EXPECT_EQ(Refused({{0, 5}}, 20, 6), FindingCode::kBadSparseMap);
  EXPECT_EQ(Refused({{0, 5}}, 20, 4), FindingCode::kBadSparseMap);
}

std::string FeedAll(PaxSparseText* text, std::string_view bytes, std::vector<SparseEntry>* entries) {
  // One byte at a time: lines may be cut anywhere.
  for (const char byte : bytes) {
    if (SparseTrouble trouble = text->Feed({&byte, 1}, entries); trouble) return trouble.text;
  }
  return {};
}

TEST(PaxSparseText, IsReadAcrossCutsAndComments) {
  PaxSparseText text(512, 10);
  std::vector<SparseEntry> entries;
  EXPECT_EQ(
      FeedAll(&text, "#!gnu-sparse-format " + std::string(200, 'x') + "\n2\n0\n5\n10\n20\nrest", &entries),
      "");
  EXPECT_TRUE(text.complete());
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[1].offset, 10U);
  EXPECT_EQ(entries[1].length, 20U);
}
TEST(PaxSparseText, NoSegmentsIsComplete) {
  PaxSparseText text(512, 10);
  std::vector<SparseEntry> entries;
  EXPECT_EQ(FeedAll(&text, "0\n", &entries), "");
  EXPECT_TRUE(text.complete());
}
TEST(PaxSparseText, MoreSegmentsThanTheDataCanHoldAreRefusedBeforeAnyIsKept) {
  PaxSparseText text(512, 1 << 20);
  std::vector<SparseEntry> entries;
  EXPECT_EQ(text.Feed("129\n", &entries).code, FindingCode::kBadSparseMap);
  PaxSparseText limited(1 << 20, 100);
  EXPECT_EQ(limited.Feed("101\n", &entries).code, FindingCode::kLimitReached);
  EXPECT_TRUE(entries.empty());
}
TEST(PaxSparseText, OtherThanNumbersIsRefused) {
  for (const std::string bad : {"x\n", "\n", "1\n-1\n", "1\n99999999999999999999999\n"}) {
    PaxSparseText text(512, 10);
    std::vector<SparseEntry> entries;
    EXPECT_NE(FeedAll(&text, bad, &entries), "") << bad;
  }
  PaxSparseText text(512, 10);
  std::vector<SparseEntry> entries;
  EXPECT_NE(FeedAll(&text, std::string(100, '1'), &entries), "") << "no newline";
}

}  // namespace
}  // namespace tarn::tar

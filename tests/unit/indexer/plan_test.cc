// Plans and what workers found: balance, bytes, damage.
#include "indexer/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tarn::indexer {
namespace {

std::vector<PlannedFile> Files(const std::vector<uint64_t>& sizes) {
  std::vector<PlannedFile> files;
  for (size_t i = 0; i < sizes.size(); ++i) {
    files.push_back({"f" + std::to_string(i) + ".tar", {.size = sizes[i], .mtime_ns = 5, .inode = i}, 0});
  }
  return files;
}

std::map<uint32_t, uint64_t> Loads(const std::vector<PlannedFile>& files) {
  std::map<uint32_t, uint64_t> loads;
  for (const PlannedFile& file : files) loads[file.share] += file.identity.size;
  return loads;
}

Plan SomePlan() {
  Plan plan{.dataset = "img",
            .root_uuid = "0b7c",
            .base = "/mnt/data",
            .source_path = std::string("a\xff\0b", 4),
            .selection = {.include = {"*.tar"}, .exclude = {"x/**", "y"}, .archive_glob = {"*.bundle"}},
            .identity = IdentityMode::kFull,
            .shares = 3,
            .known = {1, 2},
            .files = Files({10, 20, 30, 40})};
  plan.files[2].identity.mtime_ns = -7;
  Balance(plan.shares, &plan.files);
  return plan;
}

ShareResult SomeShare() {
  ShareResult result{.plan = "0123456789abcdef",
                     .share = 2,
                     .files = {},
                     .left_out = {{"gone.tar", Status(ErrorCode::kNotFound, "gone").WithHint("look")}},
                     .bytes_read = 1 << 20,
                     .files_read = 2,
                     .files_unchanged = 1,
                     .bundles_reused = 1,
                     .seconds = 1.5};
  result.files.push_back(
      {"a.tar", {.size = 9, .mtime_ns = -1, .ctime_ns = 3, .inode = 4}, false, {9, {1, 2}}, true, {}});
  result.files.push_back({"b.gz",
                          {.size = 8, .mtime_ns = 1, .ctime_ns = 2, .inode = 3},
                          true,
                          {8, {3, 4}},
                          false,
                          {{tar::FindingCode::kCompressed, tar::Severity::kWarning, 0, "m", "d"}}});
  return result;
}

TEST(PlanTest, SharesAreBalancedByBytesTheLargestFirst) {
  constexpr uint64_t kGigabyte = uint64_t{1} << 30;
  std::vector<PlannedFile> files =
      Files({kGigabyte, 7 * kGigabyte, 2 * kGigabyte, 6 * kGigabyte, 5 * kGigabyte, 3 * kGigabyte});
  Balance(3, &files);
  EXPECT_EQ(Loads(files),
            (std::map<uint32_t, uint64_t>{{1, 8 * kGigabyte}, {2, 8 * kGigabyte}, {3, 8 * kGigabyte}}));
}

TEST(PlanTest, SmallFilesAreSpreadByNumber) {
  std::vector<PlannedFile> files = Files(std::vector<uint64_t>(1000, 1));
  files.push_back({"large.tar", {.size = 250 * kBytesPerFile}, 0});
  Balance(4, &files);
  std::map<uint32_t, int> counts;
  for (const PlannedFile& file : files) ++counts[file.share];
  EXPECT_NEAR(counts[1], 63, 2);  // the large one counts as 251 small ones
  for (const uint32_t share : {2, 3, 4}) EXPECT_NEAR(counts[share], 312, 2);
}

TEST(PlanTest, SharesDoNotDependOnTheOrderOfFiles) {
  std::vector<PlannedFile> files = Files({5, 5, 5, 9, 1, 1, 7});
  std::vector<PlannedFile> reversed(files.rbegin(), files.rend());
  Balance(3, &files);
  Balance(3, &reversed);
  std::reverse(reversed.begin(), reversed.end());
  EXPECT_EQ(files, reversed);
}

TEST(PlanTest, MoreSharesThanFilesLeaveSomeEmpty) {
  std::vector<PlannedFile> files = Files({5, 4});
  Balance(10, &files);
  EXPECT_EQ(files[0].share, 1U);
  EXPECT_EQ(files[1].share, 2U);
}

TEST(PlanTest, WhatIsEncodedComesBack) {
  const Plan plan = SomePlan();
  const Result<Plan> back = DecodePlan(EncodePlan(plan), "plan");
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(EncodePlan(*back), EncodePlan(plan));
  EXPECT_EQ(back->source_path, plan.source_path);
  EXPECT_EQ(back->selection.exclude, plan.selection.exclude);
  EXPECT_EQ(back->files, plan.files);
  EXPECT_EQ(back->identity, IdentityMode::kFull);

  const ShareResult share = SomeShare();
  const Result<ShareResult> share_back = DecodeShare(EncodeShare(share), "share-2");
  ASSERT_TRUE(share_back.ok()) << share_back.status().ToString();
  EXPECT_EQ(EncodeShare(*share_back), EncodeShare(share));
  EXPECT_EQ(share_back->files[0].id, share.files[0].id);
  EXPECT_FALSE(share_back->files[0].trusted);
  EXPECT_EQ(share_back->files[1].findings, share.files[1].findings);
  EXPECT_EQ(share_back->left_out[0].reason.code(), ErrorCode::kNotFound);
  EXPECT_EQ(share_back->left_out[0].reason.hint(), "look");
  EXPECT_DOUBLE_EQ(share_back->seconds, 1.5);
}

TEST(PlanTest, TheIdChangesWithAnythingInThePlan) {
  const std::string id = PlanId(EncodePlan(SomePlan()));
  EXPECT_EQ(id.size(), 16U);
  EXPECT_EQ(id, PlanId(EncodePlan(SomePlan())));
  Plan touched = SomePlan();
  ++touched.files[1].identity.ctime_ns;
  EXPECT_NE(PlanId(EncodePlan(touched)), id);
  Plan known = SomePlan();
  ++known.known.low;
  EXPECT_NE(PlanId(EncodePlan(known)), id);
}

TEST(PlanTest, EveryCutAndEveryFlippedByteIsNoticed) {
  for (const std::string& whole : {EncodePlan(SomePlan()), EncodeShare(SomeShare())}) {
    const bool is_plan = whole.starts_with("tarn-plan");
    const auto code = [&](const std::string& bytes) {
      return is_plan ? DecodePlan(bytes, "it").code() : DecodeShare(bytes, "it").code();
    };
    ASSERT_EQ(code(whole), ErrorCode::kOk);
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(code(whole.substr(0, i)), ErrorCode::kCorrupt) << "cut at " << i;
      std::string flipped = whole;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
      EXPECT_EQ(code(flipped), ErrorCode::kCorrupt) << "flipped at " << i;
    }
  }
}

}  // namespace
}  // namespace tarn::indexer

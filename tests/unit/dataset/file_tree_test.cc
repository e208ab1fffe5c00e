#include "tarn/dataset/file_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "tests/unit/dataset/tree_fixture.h"

namespace tarn::dataset {
namespace {

using testing::HasSubstr;

using FileTreeTest = TreeTest;

TEST_F(FileTreeTest, AnArchiveIsADirectoryOfTheTree) {
  const Attributes archive = At("train/n01");
  EXPECT_TRUE(S_ISDIR(archive.mode));
  EXPECT_TRUE(archive.node.IsDirectory());
  EXPECT_EQ(At("train/n01/made/up/a.JPEG").size, 13U);
  EXPECT_EQ(At("labels.csv").size, sizeof kLabels - 1);
}

TEST_F(FileTreeTest, NodeIdsAreComputedFromNumbersAlone) {
  EXPECT_EQ(root_, NodeId::Directory(kDataset, kGeneration, 0));
  // Numbers follow paths: deep/empty.bin 1, labels.csv 2, train/n01.tar 3.
  EXPECT_EQ(At("labels.csv").node, NodeId::File(kDataset, 2, 0));
  EXPECT_EQ(At("train/n01/made/up/a.JPEG").node, NodeId::File(kDataset, 3, 0));
  EXPECT_EQ(At("train/n01/named/b.JPEG").node, NodeId::File(kDataset, 3, 2));
  // Directories: "", deep, train, then the archive's: its root, made, made/up, named.
  EXPECT_EQ(At("train").node, NodeId::Directory(kDataset, kGeneration, 2));
  EXPECT_EQ(At("train/n01").node, NodeId::Directory(kDataset, kGeneration, 3));
  EXPECT_EQ(At("train/n01/named").node, NodeId::Directory(kDataset, kGeneration, 6));
}

TEST_F(FileTreeTest, TheSameMemberOfTwoGenerationsIsOneNode) {
  const NodeId member = At("train/n01/made/up/a.JPEG").node;
  const NodeId directory = At("train/n01/made").node;
  const auto next = MakeGeneration(kGeneration + 1, generation_.get());
  const auto next_root = tree_->Attach(next);
  ASSERT_TRUE(next_root.ok());
  root_ = *next_root;
  EXPECT_EQ(At("train/n01/made/up/a.JPEG").node, member);
  EXPECT_NE(At("train/n01/made").node, directory);
  EXPECT_EQ(ReadAll(member), kContents);
}

TEST_F(FileTreeTest, ANameThatIsNotThereIsAnAnswer) {
  for (const NodeId parent : {root_, At("train").node, At("train/n01").node, At("train/n01/named").node}) {
    const auto child = tree_->Lookup(parent, "nothing");
    ASSERT_TRUE(child.ok());
    EXPECT_FALSE(child->has_value());
  }
}

TEST_F(FileTreeTest, NodesThatAreNoneAreNotFound) {
  const NodeId kNone[] = {NodeId(0),
                          NodeId(1),
                          NodeId(uint64_t{1} << 63),
                          NodeId::Directory(kDataset, kGeneration + 1, 0),
                          NodeId::Directory(kDataset + 1, kGeneration, 0),
                          NodeId::Directory(kDataset, kGeneration, 7),
                          NodeId::File(kDataset, 99, 0),
                          NodeId::File(kDataset, 2, 1),    // a loose file has one
                          NodeId::File(kDataset, 3, 999),  // no such member
                          NodeId::File(kDataset, 3, 1),    // a directory has a node of its own
                          NodeId::File(kDataset, 3, 4)};   // a hard link is its target
  std::byte out[4];
  for (const NodeId node : kNone) {
    EXPECT_EQ(tree_->GetAttributes(node).code(), ErrorCode::kNotFound) << node.value();
    EXPECT_EQ(tree_->Lookup(node, "x").code(), ErrorCode::kNotFound) << node.value();
    EXPECT_EQ(tree_->Read(node, 0, out).code(), ErrorCode::kNotFound) << node.value();
    EXPECT_EQ(tree_->ListXattrs(node).code(), ErrorCode::kNotFound) << node.value();
  }
}

TEST_F(FileTreeTest, HardLinksAreOneNodeWithATrueLinkCount) {
  const Attributes target = At("train/n01/made/up/a.JPEG");
  const Attributes link = At("train/n01/hard");
  EXPECT_EQ(link.node, target.node);
  EXPECT_EQ(link.links, 2U);
  EXPECT_EQ(target.links, 2U);
  EXPECT_EQ(At("train/n01/named/b.JPEG").links, 1U);
}

TEST_F(FileTreeTest, ParentsLeadBackToTheRootWhichIsItsOwn) {
  EXPECT_EQ(*tree_->Parent(At("train/n01/made/up").node), At("train/n01/made").node);
  EXPECT_EQ(*tree_->Parent(At("train/n01/made").node), At("train/n01").node);
  EXPECT_EQ(*tree_->Parent(At("train/n01").node), At("train").node);
  EXPECT_EQ(*tree_->Parent(At("train").node), root_);
  EXPECT_EQ(*tree_->Parent(root_), root_);
}

TEST_F(FileTreeTest, LinksAreReadAndNothingElseIs) {
  EXPECT_EQ(*tree_->ReadLink(At("train/n01/link").node), "made/up/a.JPEG");
  EXPECT_EQ(tree_->ReadLink(At("train/n01/empty").node).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(tree_->ReadLink(At("labels.csv").node).code(), ErrorCode::kInvalidArgument);
}

TEST_F(FileTreeTest, BytesOfMembersAndLooseFilesAreTheirs) {
  EXPECT_EQ(ReadAll(At("train/n01/made/up/a.JPEG").node), kContents);
  EXPECT_EQ(ReadAll(At("train/n01/named/b.JPEG").node), "second");
  EXPECT_EQ(ReadAll(At("labels.csv").node), kLabels);
  EXPECT_EQ(ReadAll(At("train/n01/empty").node), "");
  EXPECT_EQ(ReadAll(At("deep/empty.bin").node), "");
  EXPECT_EQ(ReadAll(NodeId::File(kDataset, 3, kArchiveItself), 4096), archive_.bytes) << "the archive itself";
}

TEST_F(FileTreeTest, ReadsStopAtTheEndOfTheFileNotOfTheArchive) {
  const NodeId node = At("train/n01/named/b.JPEG").node;
  std::byte out[100];
  EXPECT_EQ(*tree_->Read(node, 0, out), 6U);
  EXPECT_EQ(*tree_->Read(node, 5, out), 1U);
  EXPECT_EQ(*tree_->Read(node, 6, out), 0U);
  EXPECT_EQ(*tree_->Read(node, UINT64_MAX, out), 0U);
}

TEST_F(FileTreeTest, HolesAreZerosInPiecesOfAnySize) {
  const NodeId node = At("train/n01/sparse").node;
  for (const size_t piece : {1, 7, 999, 1000, 1001, 4096}) EXPECT_EQ(ReadAll(node, piece), sparse_) << piece;
  EXPECT_EQ(ReadAll(At("train/n01/holes").node, 100), std::string(4096, '\0'));
}

TEST_F(FileTreeTest, AReadAfterALookupDecodesNoRow) {
  const NodeId node = At("train/n01/made/up/a.JPEG").node;
  const int rows = generation_->member_rows;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ReadAll(node), kContents);
  EXPECT_EQ(generation_->member_rows, rows);
}

TEST_F(FileTreeTest, AReadAfterAListingWithAttributesDecodesNoRow) {
  NodeId node;
  ASSERT_TRUE(tree_
                  ->List(At("train/n01/named").node, 0, true,
                         [&](const ListedEntry& entry) {
                           node = entry.attributes.node;
                           return true;
                         })
                  .ok());
  const int rows = generation_->member_rows;
  EXPECT_EQ(ReadAll(node), "second");
  EXPECT_EQ(generation_->member_rows, rows);
}

TEST_F(FileTreeTest, ASparseMapIsDecodedOnce) {
  const NodeId node = At("train/n01/sparse").node;
  const int rows = generation_->member_rows;
  EXPECT_EQ(ReadAll(node, 3), sparse_);
  EXPECT_EQ(generation_->member_rows, rows + 1);
}

TEST_F(FileTreeTest, ATinyExtentCacheCostsRowsAndNeverBytes) {
  FileTreeOptions options;
  options.extent_cache_bytes = 1;
  Use(options);
  const NodeId first = At("train/n01/made/up/a.JPEG").node;
  const NodeId second = At("train/n01/named/b.JPEG").node;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ReadAll(first), kContents);
    EXPECT_EQ(ReadAll(second), "second");
  }
}

TEST_F(FileTreeTest, OnlyRegularFilesAreRead) {
  std::byte out[4];
  for (const char* path : {"train/n01/link", "train/n01/device", "train/n01/fifo"}) {
    EXPECT_EQ(tree_->Read(At(path).node, 0, out).code(), ErrorCode::kInvalidArgument) << path;
  }
}

TEST_F(FileTreeTest, DataAndHolesAreFoundByTheirExtents) {
  const NodeId sparse = At("train/n01/sparse").node;
  const auto data = [&](uint64_t offset) { return *tree_->SeekDataOrHole(sparse, offset, false); };
  const auto hole = [&](uint64_t offset) { return *tree_->SeekDataOrHole(sparse, offset, true); };
  EXPECT_EQ(data(0), 1000U);
  EXPECT_EQ(data(1005), 1005U);
  EXPECT_EQ(data(1010), 3010U);
  EXPECT_EQ(hole(0), 0U);
  EXPECT_EQ(hole(1003), 1010U);
  EXPECT_EQ(hole(3012), 3015U) << "the end counts as a hole";
  EXPECT_EQ(tree_->SeekDataOrHole(sparse, 3015, true).code(), ErrorCode::kNotFound);
  EXPECT_EQ(tree_->SeekDataOrHole(At("train/n01/holes").node, 0, false).code(), ErrorCode::kNotFound);
  const NodeId plain = At("train/n01/named/b.JPEG").node;
  EXPECT_EQ(*tree_->SeekDataOrHole(plain, 2, false), 2U);
  EXPECT_EQ(*tree_->SeekDataOrHole(plain, 2, true), 6U);
  EXPECT_EQ(tree_->SeekDataOrHole(plain, 6, false).code(), ErrorCode::kNotFound);
  EXPECT_EQ(*tree_->SeekDataOrHole(At("labels.csv").node, 0, true), sizeof kLabels - 1);
}

TEST_F(FileTreeTest, AMissingArchiveFailsReadsAndNothingElse) {
  source_->Remove("data/imagenet/train/n01.tar");
  const Attributes member = At("train/n01/named/b.JPEG");
  EXPECT_EQ(member.size, 6U);
  std::byte out[4];
  EXPECT_EQ(tree_->Read(member.node, 0, out).code(), ErrorCode::kNotFound);
}

TEST_F(FileTreeTest, ARowThatIsLackingIsCorruptAndSaysWhichAndWhatHelps) {
  generation_->LoseMember(archive_.id, 2);
  const auto child = tree_->Lookup(At("train/n01/named").node, "b.JPEG");
  EXPECT_EQ(child.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(child.status().message(), HasSubstr("imagenet@7"));
  EXPECT_THAT(child.status().message(), HasSubstr("member 2 of archive " + archive_.id.ToString()));
  EXPECT_FALSE(child.status().hint().empty());
}

TEST_F(FileTreeTest, AttachingReadsNothingOfArchives) {
  const auto fresh = MakeGeneration(kGeneration, nullptr);
  Use({});
  fresh->manifest_rows = 0;
  FileTree tree({}, std::make_shared<ArchiveBytes>(ArchiveBytesOptions{}));
  ASSERT_TRUE(tree.Attach(fresh).ok());
  EXPECT_TRUE(tree.Attach(fresh).ok()) << "again is fine";
  EXPECT_EQ(fresh->manifest_rows, 0);
}

TEST_F(FileTreeTest, LookupsInOneArchiveSeekItsRangeOnce) {
  const NodeId named = At("train/n01/named").node;
  ASSERT_TRUE(tree_->Lookup(named, "b.JPEG").ok());
  const int seeks = generation_->range_seeks;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(tree_->Lookup(named, "b.JPEG").ok());
  EXPECT_EQ(generation_->range_seeks, seeks);
}

TEST_F(FileTreeTest, GenerationsThatCannotBeShownAreRefused) {
  index::GenerationRows rows;
  rows.facts.dataset = "odd";
  rows.facts.dataset_number = 1;
  rows.facts.generation = 1;
  rows.facts.view = "by-class";
  EXPECT_EQ(tree_->Attach(std::make_shared<testing_support::FakeGeneration>(rows)).code(),
            ErrorCode::kUnsupported);
  rows.facts.view.clear();
  rows.facts.dataset_number = kMaxDataset + 1;
  EXPECT_EQ(tree_->Attach(std::make_shared<testing_support::FakeGeneration>(rows)).code(),
            ErrorCode::kCorrupt);
}

TEST_F(FileTreeTest, TotalsAreThoseOfTheGeneration) {
  for (const NodeId node : {root_, At("train/n01").node, At("labels.csv").node}) {
    EXPECT_EQ(tree_->Totals(node).bytes, archive_.bytes.size() + sizeof kLabels - 1);
    EXPECT_EQ(tree_->Totals(node).files, archive_.facts.members + 2);
  }
  EXPECT_EQ(tree_->Totals(NodeId(1)).files, 0U);
}

TEST_F(FileTreeTest, ManyThreadsGetTheSameAnswersWhileGenerationsAreAttached) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  const NodeId root = root_;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&] {
      std::byte out[16];
      while (!stop) {
        const auto train = tree_->Lookup(root, "train");
        const auto archive = tree_->Lookup((*train)->node, "n01");
        const auto hard = tree_->Lookup((*archive)->node, "hard");
        if (!hard.ok() || (*hard)->node != NodeId::File(kDataset, 3, 0)) wrong++;
        const auto got = tree_->Read((*hard)->node, 0, out);
        if (!got.ok() || *got != 13 || std::memcmp(out, kContents, 13) != 0) wrong++;
      }
    });
  }
  std::shared_ptr<index::GenerationReader> previous = generation_;
  for (uint32_t i = 1; i <= 20; ++i) {
    auto next = MakeGeneration(kGeneration + i, previous.get());
    EXPECT_TRUE(tree_->Attach(next).ok());
    previous = next;
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tarn::dataset

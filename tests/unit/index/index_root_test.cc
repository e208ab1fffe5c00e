#include "tarn/index/index_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "tarn/io/filesystem.h"
#include "tests/support/scratch.h"

namespace tarn::index {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class IndexRootTest : public testing::Test {
 protected:
  std::unique_ptr<IndexRoot> Create() {
    auto root = IndexRoot::OpenOrCreate(path_);
    EXPECT_TRUE(root.ok()) << root.status().ToString();
    return root.ok() ? std::move(*root) : nullptr;
  }

  void WriteFormat(const std::string& text) {
    std::filesystem::create_directories(path_);
    ASSERT_TRUE(io::WriteFileAtomically(path_ + "/format", text).ok());
  }

  // Publishes an empty directory as the given generation: what is in it is nothing of the root's business.
  Status PublishEmpty(IndexRoot* root, const std::string& dataset, uint32_t generation) {
    auto staged = root->MakeStagingDirectory("test");
    EXPECT_TRUE(staged.ok()) << staged.status().ToString();
    EXPECT_TRUE(io::WriteFileAtomically(*staged + "/CURRENT", "").ok());
    return root->PublishGeneration(dataset, generation, *staged);
  }

  std::set<std::string> Listing() {
    std::set<std::string> names;
    for (const auto& item : std::filesystem::recursive_directory_iterator(path_)) names.insert(item.path());
    return names;
  }

  support::Scratch scratch_;
  const std::string path_ = scratch_ / "root";
};

// ---- Opening

TEST_F(IndexRootTest, OpeningAMissingRootSaysThatItDoesNotExist) {
  const auto root = IndexRoot::Open(path_);
  EXPECT_EQ(root.code(), ErrorCode::kNotFound);
  EXPECT_THAT(root.status().message(), HasSubstr(path_));
  EXPECT_THAT(root.status().hint(), HasSubstr("tarn-index publish"));
  EXPECT_FALSE(io::Exists(path_));
}

TEST_F(IndexRootTest, OpeningAnEmptyDirectoryAsksWhetherTheVolumeIsMounted) {
  ASSERT_TRUE(io::MakeDirectory(path_).ok());
  const auto root = IndexRoot::Open(path_);
  EXPECT_EQ(root.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(root.status().hint(), HasSubstr("mounted"));
}

TEST_F(IndexRootTest, OpeningAFileSaysThatItIsNoDirectory) {
  ASSERT_TRUE(io::WriteFileAtomically(path_, "x").ok());
  const auto root = IndexRoot::Open(path_);
  EXPECT_EQ(root.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(root.status().message(), HasSubstr("no directory"));
}

TEST_F(IndexRootTest, ADirectoryOfAnotherProgramIsNeverMadeARoot) {
  ASSERT_TRUE(io::MakeDirectory(path_).ok());
  ASSERT_TRUE(io::WriteFileAtomically(path_ + "/train.tar", "x").ok());
  const auto before = Listing();
  const auto root = IndexRoot::OpenOrCreate(path_);
  EXPECT_EQ(root.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(root.status().message(), HasSubstr("train.tar"));
  EXPECT_EQ(Listing(), before);
}

TEST_F(IndexRootTest, AFormatFileOfAnotherProgramIsNotOurs) {
  WriteFormat("{\"version\": 1}\n");
  for (const auto& root : {IndexRoot::Open(path_).status(), IndexRoot::OpenOrCreate(path_).status()}) {
    EXPECT_EQ(root.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(root.message(), HasSubstr("another program"));
  }
}

TEST_F(IndexRootTest, ANewerFormatIsRefusedWithBothVersionsAndNothingIsChanged) {
  // The rest of the file may mean anything.
  WriteFormat("tarn-index-root\nformat 7\nshards 12\n");
  const auto before = Listing();
  for (const auto& root : {IndexRoot::Open(path_).status(), IndexRoot::OpenOrCreate(path_).status()}) {
    EXPECT_EQ(root.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(root.message(), HasSubstr("format 7"));
    EXPECT_THAT(root.message(), HasSubstr("up to 1"));
    EXPECT_THAT(root.hint(), HasSubstr("newer Tarn"));
  }
  EXPECT_EQ(Listing(), before);
}

TEST_F(IndexRootTest, AnUnknownFeatureIsRefusedByNumberAndNothingIsChanged) {
  WriteFormat("tarn-index-root\nformat 1\nfeatures 40\nuuid 0f8fad5b-d9cd-469f-a165-70867728950e\n");
  const auto before = Listing();
  for (const auto& root : {IndexRoot::Open(path_).status(), IndexRoot::OpenOrCreate(path_).status()}) {
    EXPECT_EQ(root.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(root.message(), HasSubstr("0x40"));
  }
  EXPECT_EQ(Listing(), before);
}

TEST_F(IndexRootTest, LinesOfTheFormatFileThatNeedNotBeKnownArePassedOver) {
  WriteFormat(
      "tarn-index-root\nformat 1\nfeatures 0\nmade-by somebody\nuuid 0f8fad5b-d9cd-469f-a165-70867728950e\n");
  const auto root = IndexRoot::Open(path_);
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_EQ((*root)->uuid(), "0f8fad5b-d9cd-469f-a165-70867728950e");
}

TEST_F(IndexRootTest, EveryCutOfTheFormatFileIsRefused) {
  const std::string text =
      "tarn-index-root\nformat 1\nfeatures 0\nuuid 0f8fad5b-d9cd-469f-a165-70867728950e\n";
  for (size_t length = 0; length < text.size(); ++length) {
    WriteFormat(text.substr(0, length));
    EXPECT_FALSE(IndexRoot::Open(path_).ok()) << length;
  }
  WriteFormat("tarn-index-root\nformat 0\nfeatures 0\nuuid 0f8fad5b-d9cd-469f-a165-70867728950e\n");
  EXPECT_EQ(IndexRoot::Open(path_).code(), ErrorCode::kCorrupt);
}

TEST_F(IndexRootTest, ARootKeepsItsUuidAndARebuiltOneHasAnother) {
  const std::string uuid = Create()->uuid();
  EXPECT_EQ(uuid.size(), 36U);
  EXPECT_EQ(Create()->uuid(), uuid);
  EXPECT_EQ((*IndexRoot::Open(path_))->uuid(), uuid);
  std::filesystem::remove_all(path_);
  EXPECT_NE(Create()->uuid(), uuid);
}

TEST_F(IndexRootTest, AFreshVolumeIsEmptyAlsoWithWhatItsFileSystemPutThere) {
  std::filesystem::create_directories(path_ + "/lost+found");
  ASSERT_TRUE(io::WriteFileAtomically(path_ + "/.format.00.new", "of a creator that died").ok());
  EXPECT_NE(Create(), nullptr);
}

TEST_F(IndexRootTest, ManyCreatorsAgreeOnOneUuid) {
  std::vector<std::string> uuids(8);
  std::vector<std::thread> creators;
  for (std::string& uuid : uuids) {
    creators.emplace_back([this, &uuid] {
      auto root = IndexRoot::OpenOrCreate(path_);
      uuid = root.ok() ? (*root)->uuid() : root.status().ToString();
    });
  }
  for (std::thread& creator : creators) creator.join();
  EXPECT_EQ(std::set<std::string>(uuids.begin(), uuids.end()).size(), 1U) << uuids.front() << uuids.back();
  EXPECT_EQ(uuids.front().size(), 36U);
}

// ---- Bundles

TEST_F(IndexRootTest, ABundleIsThereOnceWhoeverBringsIt) {
  auto root = Create();
  const ArchiveId id{512, Digest{0x3f00000000000000, 1}};
  EXPECT_FALSE(root->HasBundle(id));
  EXPECT_EQ(root->BundlePath(id), path_ + "/bundles/3f/512-3f000000000000000000000000000001.sst");
  for (const char* const contents : {"first", "second"}) {
    const std::string staged = *root->MakeStagingDirectory("bundle") + "/b.sst";
    ASSERT_TRUE(io::WriteFileAtomically(staged, contents).ok());
    const Status status = root->AddBundle(id, staged);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_FALSE(io::Exists(staged));
    EXPECT_TRUE(root->HasBundle(id));
  }
  EXPECT_EQ(*io::ReadFile(root->BundlePath(id)), "first");
}

// ---- Datasets

TEST_F(IndexRootTest, DatasetNamesAreThoseOfTheDesign) {
  for (const char* const name : {"a", "imagenet", "A-b_c.d", "0"}) EXPECT_TRUE(IsDatasetName(name)) << name;
  for (const char* const name : {"", ".", "..", ".a", "-a", "_a", "a/b", "a b", "a@1", "\xc3\xa4", "a\n"}) {
    EXPECT_FALSE(IsDatasetName(name)) << name;
  }
  EXPECT_TRUE(IsDatasetName(std::string(255, 'a')));
  EXPECT_FALSE(IsDatasetName(std::string(256, 'a')));
}

TEST_F(IndexRootTest, ReferencesParseToWhatTheyPrint) {
  for (const char* const text :
       {"imagenet", "imagenet@7", "imagenet@4294967295", "imagenet@0123456789abcdef0123456789abcdef",
        "x@00000000000000000000000000000007"}) {
    const auto reference = DatasetReference::Parse(text);
    ASSERT_TRUE(reference.ok()) << reference.status().ToString();
    EXPECT_EQ(reference->ToString(), text);
  }
  EXPECT_EQ(DatasetReference::Parse("imagenet@7")->generation, 7U);
  EXPECT_TRUE(DatasetReference::Parse("x@00000000000000000000000000000007")->digest.has_value());
  for (const char* const text :
       {"", "@7", "a@", "a@0", "a@07", "a@-1", "a@7x", "a@4294967296", "a@b", "a/b@1"}) {
    EXPECT_EQ(DatasetReference::Parse(text).code(), ErrorCode::kInvalidArgument) << text;
  }
}

TEST_F(IndexRootTest, AMistypedDatasetGetsTheNearestName) {
  auto root = Create();
  EXPECT_THAT(root->Latest("imagenet").status().hint(), HasSubstr("no dataset yet"));
  ASSERT_TRUE(root->DatasetNumberOrCreate("imagenet").ok());
  ASSERT_TRUE(root->DatasetNumberOrCreate("coco").ok());
  const auto latest = root->Latest("imagnet");
  EXPECT_EQ(latest.code(), ErrorCode::kNotFound);
  EXPECT_THAT(latest.status().hint(), HasSubstr("did you mean 'imagenet'?"));
  EXPECT_THAT(root->Latest("imagenet").status().message(), HasSubstr("no generation yet"));
  EXPECT_THAT(*root->Datasets(), ElementsAre("coco", "imagenet"));
}

TEST_F(IndexRootTest, DatasetsOfNoNameAreNotOpened) {
  auto root = Create();
  EXPECT_EQ(root->DatasetNumberOrCreate("../x").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(root->Latest("..").code(), ErrorCode::kNotFound);
  EXPECT_EQ(root->Generations("").code(), ErrorCode::kNotFound);
}

TEST_F(IndexRootTest, DatasetNumbersAreNeverUsedTwice) {
  auto root = Create();
  EXPECT_EQ(root->DatasetNumber("a").code(), ErrorCode::kNotFound);
  EXPECT_EQ(*root->DatasetNumberOrCreate("a"), 1U);
  EXPECT_EQ(*root->DatasetNumberOrCreate("b"), 2U);
  EXPECT_EQ(*root->DatasetNumberOrCreate("a"), 1U);
  EXPECT_EQ(*root->DatasetNumber("b"), 2U);
  // A publisher that died behind its mkdir, and a dataset that was taken away.
  ASSERT_TRUE(io::MakeDirectory(path_ + "/numbers/3").ok());
  std::filesystem::remove_all(path_ + "/datasets/b");
  EXPECT_EQ(*root->DatasetNumberOrCreate("b"), 4U);
}

TEST_F(IndexRootTest, ADatasetWithoutItsNumberIsDamagedAndGetsNoNewOne) {
  auto root = Create();
  ASSERT_TRUE(root->DatasetNumberOrCreate("a").ok());
  std::filesystem::remove(path_ + "/datasets/a/number");
  EXPECT_EQ(root->DatasetNumberOrCreate("a").code(), ErrorCode::kCorrupt);
  ASSERT_TRUE(io::WriteFileAtomically(path_ + "/datasets/a/number", "one\n").ok());
  EXPECT_EQ(root->DatasetNumber("a").code(), ErrorCode::kCorrupt);
}

TEST_F(IndexRootTest, PublishersOfOneNewDatasetAgreeOnItsNumberAndOthersGetTheirOwn) {
  Create();
  std::vector<uint32_t> same(4), own(4);
  std::vector<std::thread> publishers;
  for (size_t i = 0; i < 4; ++i) {
    publishers.emplace_back(
        [&, i] { same[i] = (*IndexRoot::Open(path_))->DatasetNumberOrCreate("same").value(); });
    publishers.emplace_back([&, i] {
      own[i] = (*IndexRoot::Open(path_))->DatasetNumberOrCreate("own" + std::to_string(i)).value();
    });
  }
  for (std::thread& publisher : publishers) publisher.join();
  EXPECT_EQ(std::set<uint32_t>(same.begin(), same.end()).size(), 1U);
  own.push_back(same[0]);
  EXPECT_EQ(std::set<uint32_t>(own.begin(), own.end()).size(), 5U);
}

// ---- Generations

TEST_F(IndexRootTest, PublishingMovesLatestOn) {
  auto root = Create();
  ASSERT_TRUE(root->DatasetNumberOrCreate("a").ok());
  EXPECT_THAT(*root->Generations("a"), ElementsAre());
  for (const uint32_t generation : {1U, 2U, 10U}) {
    ASSERT_TRUE(PublishEmpty(root.get(), "a", generation).ok());
    EXPECT_EQ(*root->Latest("a"), generation);
  }
  EXPECT_THAT(*root->Generations("a"), ElementsAre(1, 2, 10));
  EXPECT_EQ(*io::ReadFile(path_ + "/datasets/a/LATEST"), "10\n");
  EXPECT_EQ(*root->Resolve(*DatasetReference::Parse("a")), 10U);
  EXPECT_EQ(*root->Resolve(*DatasetReference::Parse("a@2")), 2U);
  const auto missing = root->Resolve(*DatasetReference::Parse("a@3"));
  EXPECT_EQ(missing.code(), ErrorCode::kNotFound);
  EXPECT_THAT(missing.status().hint(), HasSubstr("a@10"));
}

TEST_F(IndexRootTest, AGenerationIsNeverReplaced) {
  auto root = Create();
  ASSERT_TRUE(root->DatasetNumberOrCreate("a").ok());
  ASSERT_TRUE(PublishEmpty(root.get(), "a", 1).ok());
  EXPECT_EQ(PublishEmpty(root.get(), "a", 1).code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(PublishEmpty(root.get(), "b", 1).code(), ErrorCode::kNotFound);
}

TEST_F(IndexRootTest, LatestIsRepairedAfterAPublisherDiedBeforeThePointer) {
  auto root = Create();
  ASSERT_TRUE(root->DatasetNumberOrCreate("a").ok());
  ASSERT_TRUE(PublishEmpty(root.get(), "a", 1).ok());
  std::filesystem::create_directory(path_ + "/datasets/a/2");
  EXPECT_EQ(*root->Latest("a"), 1U);
  ASSERT_TRUE(root->RepairLatest("a").ok());
  EXPECT_EQ(*root->Latest("a"), 2U);

  std::filesystem::remove(path_ + "/datasets/a/LATEST");
  EXPECT_EQ(*root->Latest("a"), 2U);
  ASSERT_TRUE(io::WriteFileAtomically(path_ + "/datasets/a/LATEST", "two").ok());
  EXPECT_EQ(root->Latest("a").code(), ErrorCode::kCorrupt);
  ASSERT_TRUE(root->RepairLatest("a").ok());
  EXPECT_EQ(*root->Latest("a"), 2U);
}

TEST_F(IndexRootTest, OfTwoPublishersOfOneNumberOneWinsAndLatestIsTheNewest) {
  Create();
  ASSERT_TRUE((*IndexRoot::Open(path_))->DatasetNumberOrCreate("a").ok());
  constexpr uint32_t kGenerations = 20;
  std::atomic<unsigned> published = 0;
  std::vector<std::thread> publishers;
  for (int i = 0; i < 3; ++i) {
    publishers.emplace_back([&] {
      auto root = std::move(*IndexRoot::Open(path_));
      for (uint32_t generation = 1; generation <= kGenerations; ++generation) {
        const Status status = PublishEmpty(root.get(), "a", generation);
        if (status.ok()) ++published;
        EXPECT_TRUE(status.ok() || status.code() == ErrorCode::kAlreadyExists) << status.ToString();
      }
    });
  }
  for (std::thread& publisher : publishers) publisher.join();
  EXPECT_EQ(published, kGenerations);
  EXPECT_EQ(*io::ReadFile(path_ + "/datasets/a/LATEST"), "20\n");
}

// ---- Staging

TEST_F(IndexRootTest, StagingOfTheLivingIsLeftAloneAndOfTheDeadRemoved) {
  auto cleaner = Create();
  auto owner = Create();
  const std::string directory = *owner->MakeStagingDirectory("publish-a");
  ASSERT_TRUE(io::WriteFileAtomically(directory + "/work", "x").ok());
  EXPECT_THAT(directory, HasSubstr(path_ + "/staging/publish-a-"));
  ASSERT_TRUE(cleaner->CleanStaging().ok());
  EXPECT_TRUE(io::Exists(directory + "/work"));
  owner.reset();
  ASSERT_TRUE(cleaner->CleanStaging().ok());
  EXPECT_THAT(*io::ListDirectory(cleaner->staging_path()), ElementsAre());
}

TEST_F(IndexRootTest, StagingOfAKilledProcessIsRemoved) {
  auto cleaner = Create();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto root = IndexRoot::Open(path_);
    const bool made = root.ok() && (*root)->MakeStagingDirectory("publish").ok();
    const char byte = made ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  ASSERT_TRUE(cleaner->CleanStaging().ok());
  EXPECT_EQ(io::ListDirectory(cleaner->staging_path())->size(), 2U);  // the directory and its lock
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  ASSERT_TRUE(cleaner->CleanStaging().ok());
  EXPECT_THAT(*io::ListDirectory(cleaner->staging_path()), ElementsAre());
}

TEST_F(IndexRootTest, ErrorsOfTheFileSystemNameTheFile) {
  auto root = Create();
  std::filesystem::remove_all(path_ + "/staging");
  const auto staged = root->MakeStagingDirectory("publish");
  EXPECT_EQ(staged.code(), ErrorCode::kNotFound);
  EXPECT_THAT(staged.status().message(), HasSubstr(path_ + "/staging"));
}

}  // namespace
}  // namespace tarn::index

// GenerationWriter and GenerationReader: what is written reads back, and bundles stay what they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

#include "archives.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/generation_writer.h"
#include "tarn/io/filesystem.h"
#include "tests/support/scratch.h"

namespace tarn::index {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GenerationTest : public testing::Test {
 protected:
  void SetUp() override {
    auto root = IndexRoot::OpenOrCreate(scratch_ / "root");
    ASSERT_OK(root);
    root_ = std::move(*root);
  }

  static ArchiveId IdOf(uint32_t archive) {
    return {10'000 + archive * 512, Digest{archive * 0x9e3779b97f4a7c15ULL, archive}};
  }

  // An archive with `files` files in two directories, its bundle in the root and its row in the dataset.
  ArchiveFacts AddArchive(uint32_t archive, uint32_t files) {
    MadeUpArchive members;
    for (uint32_t file = 0; file < files; ++file) {
      members.File(fmt::format("d{}/{}-{}.jpg", file % 2, archive, file), 100 + file);
    }
    members.chunks.assign(600, archive);
    const std::string staged = scratch_ / "bundle.sst";
    const auto facts = members.Build(IdOf(archive), scratch_.path(), staged);
    EXPECT_OK(facts);
    EXPECT_OK(root_->AddBundle(IdOf(archive), staged));
    dataset_.AddArchive(fmt::format("archive{:05}", archive), IdOf(archive), *facts);
    return *facts;
  }

  std::shared_ptr<const GenerationReader> WriteAndOpen(const GenerationWriteOptions& options = {}) {
    EXPECT_OK(WriteGeneration(*root_, dataset_.rows, directory_, options));
    auto reader = GenerationReader::Open(directory_);
    EXPECT_OK(reader);
    return reader.ok() ? *reader : nullptr;
  }

  void ExpectArchiveReads(const GenerationReader& reader, uint32_t archive, uint32_t files) {
    const ArchiveId id = IdOf(archive);
    ArchiveFacts facts;
    ASSERT_TRUE(*reader.GetArchiveFacts(id, &facts)) << archive;
    EXPECT_EQ(facts.members, files);
    for (uint32_t file = 0; file < files; file += 1 + files / 5) {
      DentryRecord dentry;
      const std::string name = fmt::format("{}-{}.jpg", archive, file);
      DentryRecord parent;
      ASSERT_TRUE(*reader.GetDentry(id, 0, fmt::format("d{}", file % 2), &parent));
      ASSERT_TRUE(*reader.GetDentry(id, parent.child_directory, name, &dentry)) << name;
      MemberRecord member;
      ASSERT_TRUE(*reader.GetMember(id, facts.defaults, dentry.target_ordinal, &member));
      EXPECT_EQ(member.name, name);
      EXPECT_EQ(member.logical_size, 100 + file);
    }
  }

  size_t TableFiles() {
    const auto names = io::ListDirectory(directory_);
    EXPECT_OK(names);
    return static_cast<size_t>(
        std::count_if(names->begin(), names->end(), [](const auto& name) { return name.ends_with(".sst"); }));
  }

  // Everything below a directory: path, size, time of change.
  static std::map<std::string, std::pair<uintmax_t, std::filesystem::file_time_type>> Listing(
      const std::string& path) {
    std::map<std::string, std::pair<uintmax_t, std::filesystem::file_time_type>> listing;
    for (const auto& item : std::filesystem::recursive_directory_iterator(path)) {
      listing[item.path()] = {item.is_regular_file() ? item.file_size() : 0, item.last_write_time()};
    }
    return listing;
  }

  support::Scratch scratch_;
  std::unique_ptr<IndexRoot> root_;
  MadeUpDataset dataset_;
  const std::string directory_ = scratch_ / "generation";
};

TEST_F(GenerationTest, OneArchiveReadsBack) {
  AddArchive(1, 20);
  const auto reader = WriteAndOpen();
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->facts(), dataset_.rows.facts);
  ExpectArchiveReads(*reader, 1, 20);

  ManifestRow row;
  ASSERT_TRUE(*reader->GetManifestRow(1, &row));
  EXPECT_EQ(row, dataset_.rows.manifest[0]);
  EXPECT_FALSE(*reader->GetManifestRow(2, &row));
  TreeDentryRecord dentry;
  ASSERT_TRUE(*reader->GetTreeDentry(0, "archive00001", &dentry));
  EXPECT_EQ(dentry.kind, TreeDentryKind::kArchive);
  EXPECT_FALSE(*reader->GetTreeDentry(0, "archive00001.tar", &dentry));
  EXPECT_FALSE(*reader->GetTreeDentry(0, std::string(5000, 'x'), &dentry));
  TreeDirectoryRecord directory;
  ASSERT_TRUE(*reader->GetTreeDirectory(0, &directory));
  EXPECT_EQ(directory, dataset_.rows.directories[0]);
  DirectoryRecord inner;
  ASSERT_TRUE(*reader->GetDirectory(IdOf(1), 1, &inner));
  EXPECT_EQ(inner.name, "d0");
}

TEST_F(GenerationTest, ADatasetWithoutArchivesIsAGeneration) {
  const auto reader = WriteAndOpen();
  ASSERT_NE(reader, nullptr);
  EXPECT_OK(reader->CheckWhole());
  EXPECT_EQ(TableFiles(), 1U);
}

TEST_F(GenerationTest, BundlesUpToALimitAreLinkedAndKeepTheirBytesAndTimes) {
  for (uint32_t archive = 1; archive <= 3; ++archive) AddArchive(archive, 50);
  const auto before = Listing(root_->path() + "/bundles");
  const std::string bundle = root_->BundlePath(IdOf(2));
  const std::string bytes = support::Scratch::Read(bundle);
  WriteAndOpen();
  EXPECT_EQ(TableFiles(), 4U);
  EXPECT_EQ(Listing(root_->path() + "/bundles"), before);
  EXPECT_EQ(support::Scratch::Read(bundle), bytes);
  EXPECT_EQ(std::filesystem::hard_link_count(bundle), 2U);
}

TEST_F(GenerationTest, ThreeHundredArchivesArePackedAroundTheLargeOnes) {
  for (uint32_t archive = 1; archive <= 300; ++archive) AddArchive(archive, archive % 100 == 0 ? 4000 : 4);
  const auto before = Listing(root_->path() + "/bundles");
  const auto reader =
      WriteAndOpen({.pack_below_bytes = 32 << 10, .pack_bytes = 4 << 20, .pack_above_bundles = 10});
  ASSERT_NE(reader, nullptr);
  // Three large ones, the three runs of small ones between them, the generation's own rows.
  EXPECT_EQ(TableFiles(), 7U);
  EXPECT_EQ(std::filesystem::hard_link_count(root_->BundlePath(IdOf(200))), 2U);
  EXPECT_EQ(std::filesystem::hard_link_count(root_->BundlePath(IdOf(201))), 1U);
  EXPECT_EQ(Listing(root_->path() + "/bundles"), before);
  for (const uint32_t archive : {1U, 99U, 101U, 299U}) ExpectArchiveReads(*reader, archive, 4);
  for (const uint32_t archive : {100U, 200U, 300U}) ExpectArchiveReads(*reader, archive, 4000);
}

TEST_F(GenerationTest, PacksEndAtTheirSize) {
  for (uint32_t archive = 1; archive <= 40; ++archive) AddArchive(archive, 4);
  WriteAndOpen({.pack_bytes = 16 << 10, .pack_above_bundles = 0});
  EXPECT_GT(TableFiles(), 3U);
  EXPECT_LT(TableFiles(), 25U);
}

TEST_F(GenerationTest, TwoFilesWithTheSameBytesShareOneBundle) {
  const ArchiveFacts facts = AddArchive(1, 5);
  dataset_.AddArchive("copy", IdOf(1), facts);
  dataset_.AddQuarantined("damaged.tar", IdOf(1));
  const auto reader = WriteAndOpen();
  ASSERT_NE(reader, nullptr);
  uint32_t number = 0;
  ASSERT_TRUE(*reader->ArchiveOfDirectory(dataset_.rows.manifest[1].first_directory, &number));
  EXPECT_EQ(number, 2U);
}

TEST_F(GenerationTest, DirectoryNumbersBelongToTheirArchives) {
  AddArchive(1, 5);
  AddArchive(2, 5);
  const auto reader = WriteAndOpen();
  ASSERT_NE(reader, nullptr);
  uint32_t number = 0;
  EXPECT_FALSE(*reader->ArchiveOfDirectory(0, &number));
  const std::vector<uint32_t> owners = {1, 1, 1, 2, 2, 2};
  for (uint64_t directory = 1; directory <= 6; ++directory) {
    ASSERT_TRUE(*reader->ArchiveOfDirectory(directory, &number)) << directory;
    EXPECT_EQ(number, owners[directory - 1]);
  }
  EXPECT_FALSE(*reader->ArchiveOfDirectory(7, &number));
  EXPECT_FALSE(*reader->ArchiveOfDirectory(UINT64_MAX, &number));
}

TEST_F(GenerationTest, NameCursorsStayInTheirDirectory) {
  AddArchive(1, 20);
  AddArchive(2, 20);
  const auto reader = WriteAndOpen();
  ASSERT_NE(reader, nullptr);
  const auto names_after = [&](const char* after) {
    const auto cursor = reader->Dentries(IdOf(1), 1);
    EXPECT_OK(cursor->Seek(after));
    std::vector<std::string> names;
    std::string_view name;
    DentryRecord record;
    while (*cursor->Next(&name, &record)) names.emplace_back(name);
    EXPECT_FALSE(*cursor->Next(&name, &record));
    return names;
  };
  EXPECT_EQ(names_after("").size(), 10U);
  EXPECT_THAT(names_after("1-4.jpg"), ElementsAre("1-6.jpg", "1-8.jpg"));
  EXPECT_THAT(names_after("1-5"), ElementsAre("1-6.jpg", "1-8.jpg"));
  EXPECT_THAT(names_after("1-8.jpg"), ElementsAre());

  const auto tree = reader->TreeDentries(0);
  std::string_view name;
  TreeDentryRecord record;
  ASSERT_TRUE(*tree->Next(&name, &record));
  EXPECT_EQ(name, "archive00001");
}

TEST_F(GenerationTest, MemberCursorsStepAndJumpEitherWay) {
  AddArchive(1, 200);
  const auto reader = WriteAndOpen();
  ASSERT_NE(reader, nullptr);
  ArchiveFacts facts;
  ASSERT_TRUE(*reader->GetArchiveFacts(IdOf(1), &facts));
  const auto cursor = reader->Members(IdOf(1), facts.defaults);
  MemberRecord member;
  for (const uint32_t ordinal : {0U, 1U, 2U, 2U, 5U, 199U, 4U, 3U, 150U, 158U, 0U}) {
    ASSERT_TRUE(*cursor->Get(ordinal, &member)) << ordinal;
    EXPECT_EQ(member.logical_size, 100 + ordinal);
  }
  EXPECT_FALSE(*cursor->Get(200, &member));
  EXPECT_FALSE(*cursor->Get(UINT32_MAX, &member));
  EXPECT_TRUE(*cursor->Get(199, &member));
}

TEST_F(GenerationTest, ChunkChecksumsCrossRowsAndMissingOnesAreDamage) {
  AddArchive(9, 1);
  const auto reader = WriteAndOpen();
  ASSERT_NE(reader, nullptr);
  std::vector<uint64_t> checksums;
  ASSERT_OK(reader->GetChunkChecksums(IdOf(9), 500, 100, &checksums));
  EXPECT_EQ(checksums, std::vector<uint64_t>(100, 9));
  ASSERT_OK(reader->GetChunkChecksums(IdOf(9), 3, 0, &checksums));
  EXPECT_TRUE(checksums.empty());
  EXPECT_EQ(reader->GetChunkChecksums(IdOf(9), 599, 2, &checksums).code(), ErrorCode::kCorrupt);
  EXPECT_EQ(reader->GetChunkChecksums(IdOf(9), uint64_t{1} << 60, 1, &checksums).code(), ErrorCode::kCorrupt);
}

// ---- What must not be published

TEST_F(GenerationTest, AMissingBundleFailsByNameAndLeavesNothing) {
  AddArchive(1, 5);
  AddArchive(2, 5);
  std::filesystem::remove(root_->BundlePath(IdOf(2)));
  const Status status = WriteGeneration(*root_, dataset_.rows, directory_);
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(root_->BundlePath(IdOf(2))));
  EXPECT_FALSE(io::Exists(directory_));
}

TEST_F(GenerationTest, ABundleWithRowsOfAnotherArchiveIsRefusedLinkedOrPacked) {
  AddArchive(1, 5);
  AddArchive(2, 5);
  std::filesystem::copy_file(root_->BundlePath(IdOf(1)), root_->BundlePath(IdOf(2)),
                             std::filesystem::copy_options::overwrite_existing);
  for (const size_t pack_above : {size_t{0}, size_t{1000}}) {
    EXPECT_FALSE(WriteGeneration(*root_, dataset_.rows, directory_, {.pack_above_bundles = pack_above}).ok());
    EXPECT_FALSE(io::Exists(directory_));
  }
  EXPECT_EQ(std::filesystem::hard_link_count(root_->BundlePath(IdOf(1))), 1U);
}

TEST_F(GenerationTest, RowsThatContradictTheFactsAreRefused) {
  AddArchive(1, 5);
  const auto refused = [this](const char* what, const auto& change) {
    GenerationRows rows = dataset_.rows;
    change(rows);
    const Status status = WriteGeneration(*root_, rows, directory_);
    EXPECT_EQ(status.code(), ErrorCode::kCorrupt) << what << ' ' << status.ToString();
    EXPECT_FALSE(io::Exists(directory_));
  };
  refused("archives", [](GenerationRows& rows) { ++rows.facts.archives; });
  refused("next number", [](GenerationRows& rows) { rows.facts.next_number = 1; });
  refused("directories", [](GenerationRows& rows) { ++rows.manifest[0].directories; });
  refused("entries", [](GenerationRows& rows) { ++rows.directories[0].entries; });
  refused("tree directories", [](GenerationRows& rows) { ++rows.facts.tree_directories; });
  refused("number shown", [](GenerationRows& rows) { rows.dentries[0].record.number = 77; });
}

TEST_F(GenerationTest, AnExistingDirectoryIsLeftAlone) {
  scratch_.Write("generation/precious", "x");
  EXPECT_EQ(WriteGeneration(*root_, dataset_.rows, directory_).code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(io::Exists(directory_ + "/precious"));
}

TEST_F(GenerationTest, TheDirectoryHoldsWhatAReaderNeedsAndNothingOfTheWriter) {
  AddArchive(1, 5);
  WriteAndOpen();
  const auto names = io::ListDirectory(directory_);
  ASSERT_OK(names);
  for (const std::string& name : *names) {
    EXPECT_TRUE(name == "CURRENT" || name == "IDENTITY" || name.starts_with("MANIFEST-") ||
                name.ends_with(".sst"))
        << name;
  }
}

// ---- Opening

TEST_F(GenerationTest, OpeningAndReadingWritesNothing) {
  AddArchive(1, 5);
  WriteAndOpen();
  const auto before = Listing(directory_);
  const auto when = std::filesystem::last_write_time(directory_);
  ExpectArchiveReads(**GenerationReader::Open(directory_), 1, 5);
  EXPECT_EQ(Listing(directory_), before);
  EXPECT_EQ(std::filesystem::last_write_time(directory_), when);
}

// In a mount namespace of a thread's own, which goes away with the thread.
TEST_F(GenerationTest, AReadOnlyVolumeOpens) {
  AddArchive(1, 5);
  WriteAndOpen();
  std::string skipped;
  std::thread([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(directory_.c_str(), directory_.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        mount(nullptr, directory_.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      skipped = std::strerror(errno);
      return;
    }
    EXPECT_TRUE(*io::IsReadOnly(directory_));
    const auto reader = GenerationReader::Open(directory_);
    ASSERT_OK(reader);
    ExpectArchiveReads(**reader, 1, 5);
    EXPECT_OK((*reader)->CheckWhole());
  }).join();
  if (!skipped.empty()) GTEST_SKIP() << "cannot bind read-only in a namespace of my own: " << skipped;
}

TEST_F(GenerationTest, WhatIsNoGenerationIsSaidToBeNone) {
  EXPECT_EQ(GenerationReader::Open(directory_).code(), ErrorCode::kNotFound);
  scratch_.Write("generation/file", "x");
  const auto reader = GenerationReader::Open(directory_);
  EXPECT_EQ(reader.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(reader.status().message(), HasSubstr("CURRENT"));
}

TEST_F(GenerationTest, AMissingTableIsDamageAndNamed) {
  AddArchive(1, 5);
  WriteAndOpen();
  const auto names = io::ListDirectory(directory_);
  ASSERT_OK(names);
  for (const auto& name : *names) {
    if (name.ends_with(".sst")) std::filesystem::remove(directory_ + "/" + name);
  }
  const auto reader = GenerationReader::Open(directory_);
  EXPECT_EQ(reader.code(), ErrorCode::kCorrupt) << reader.status().ToString();
  EXPECT_THAT(reader.status().message(), HasSubstr(directory_));
}

// A store of one row: the facts of a generation that some other build wrote.
void WriteFactsOnly(const std::string& directory, const std::string& value) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, directory, &db).ok());
  ASSERT_TRUE(db->Put(rocksdb::WriteOptions(), Key(ArchiveId{}, RowKind::kGenerationFacts), value).ok());
  ASSERT_TRUE(db->Close().ok());
  delete db;
}

TEST_F(GenerationTest, ANewerFormatOrAnUnknownFeatureIsRefusedBeforeAnythingElseIsBelieved) {
  std::string newer;
  GenerationFacts facts = dataset_.rows.facts;
  facts.format_version = 2;
  Encode(facts, &newer);
  WriteFactsOnly(scratch_ / "newer", newer + "fields that this build does not know");
  const auto of_newer = GenerationReader::Open(scratch_ / "newer");
  EXPECT_EQ(of_newer.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(of_newer.status().message(), HasSubstr("format 2"));

  std::string feature;
  facts.format_version = 1;
  facts.incompatible_features = 0x20;
  Encode(facts, &feature);
  WriteFactsOnly(scratch_ / "feature", feature);
  const auto of_feature = GenerationReader::Open(scratch_ / "feature");
  EXPECT_EQ(of_feature.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(of_feature.status().message(), HasSubstr("0x20"));
}

TEST_F(GenerationTest, ADatasetDigestResolvesToItsGeneration) {
  AddArchive(1, 5);
  ASSERT_OK(root_->DatasetNumberOrCreate("made-up"));
  for (const uint32_t generation : {1U, 2U}) {
    dataset_.rows.facts.digest.low = generation;
    ASSERT_OK(WriteGeneration(*root_, dataset_.rows, directory_));
    ASSERT_OK(root_->PublishGeneration("made-up", generation, directory_));
  }
  DatasetReference reference{.name = "made-up", .generation = {}, .digest = dataset_.rows.facts.digest};
  reference.digest->low = 1;
  EXPECT_EQ(*root_->Resolve(reference), 1U);
  reference.digest->low = 3;
  EXPECT_EQ(root_->Resolve(reference).code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tarn::index

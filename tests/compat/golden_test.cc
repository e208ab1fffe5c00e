// Every build opens the roots that earlier ones wrote, and reads exactly the rows they wrote.
#include "tests/compat/golden_v1.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"
#include "tarn/io/filesystem.h"
#include "tests/support/scratch.h"

namespace tarn::index {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kV1 = std::string(TARN_GOLDEN_DIRECTORY) + "/v1";

std::string Generation(const std::string& root, uint32_t number) {
  return root + "/datasets/golden/" + std::to_string(number);
}

std::map<std::string, std::string> Contents(const std::string& path) {
  std::map<std::string, std::string> contents;
  for (const auto& item : std::filesystem::recursive_directory_iterator(path)) {
    contents[std::filesystem::relative(item.path(), path)] =
        item.is_regular_file() ? support::Scratch::Read(item.path()) : "";
  }
  return contents;
}

class GoldenV1Test : public testing::Test {
 protected:
  std::shared_ptr<const GenerationReader> OpenGeneration(uint32_t number) {
    auto reader = GenerationReader::Open(Generation(kV1 + "/root", number));
    EXPECT_TRUE(reader.ok()) << reader.status().ToString();
    return reader.ok() ? *reader : nullptr;
  }

  // A copy that may be changed.
  std::string Copy() {
    const std::string path = scratch_ / "copy";
    std::filesystem::copy(kV1 + "/root", path, std::filesystem::copy_options::recursive);
    return path;
  }

  support::Scratch scratch_;
};

TEST_F(GoldenV1Test, OpensAndListsItsGenerations) {
  const auto root = IndexRoot::Open(kV1 + "/root");
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_EQ((*root)->format_version(), 1U);
  EXPECT_EQ((*root)->uuid().size(), 36U);
  EXPECT_THAT(*(*root)->Datasets(), ElementsAre("golden"));
  EXPECT_THAT(*(*root)->Generations("golden"), ElementsAre(1, 2));
  EXPECT_EQ(*(*root)->Latest("golden"), 2U);
  EXPECT_EQ(*(*root)->DatasetNumber("golden"), 1U);
  EXPECT_EQ(*(*root)->Resolve(*DatasetReference::Parse("golden@aaaaaaaaaaaaaaaa5555555555555555")), 1U);
}

TEST_F(GoldenV1Test, RowsAreThoseThatWereWritten) {
  for (const uint32_t number : {1U, 2U}) {
    const auto rows = DumpRows(Generation(kV1 + "/root", number));
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    EXPECT_EQ(*rows, support::Scratch::Read(kV1 + "/rows-" + std::to_string(number) + ".txt"));
  }
}

TEST_F(GoldenV1Test, TheWriterOfTodayWritesTheSameRows) {
  const std::string path = scratch_ / "root";
  const Status status = WriteGoldenV1(path);
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (const uint32_t number : {1U, 2U}) {
    EXPECT_EQ(*DumpRows(Generation(path, number)),
              support::Scratch::Read(kV1 + "/rows-" + std::to_string(number) + ".txt"));
  }
}

TEST_F(GoldenV1Test, RecordsDecodeToWhatTheyMeant) {
  const auto reader = OpenGeneration(2);
  ASSERT_NE(reader, nullptr);
  EXPECT_TRUE(reader->CheckWhole().ok());
  EXPECT_EQ(reader->facts().dataset, "golden");
  EXPECT_EQ(reader->facts().writer, "tarn-index 0.1.0");
  ManifestRow row;
  ASSERT_TRUE(*reader->GetManifestRow(1, &row));
  EXPECT_EQ(row.path, "sub/mixed.tar");
  EXPECT_EQ(row.hint.mtime_ns, 1'700'000'000'000'000'001);
  EXPECT_EQ(row.hint.ctime_ns, -1);
  ArchiveFacts facts;
  ASSERT_TRUE(*reader->GetArchiveFacts(row.id, &facts));
  EXPECT_EQ(facts.members, 17U);
  EXPECT_EQ(facts.replaced, 1U);
  EXPECT_EQ(facts.unshown, 1U);

  const auto member_at = [&](uint32_t directory, std::string_view name) {
    DentryRecord dentry;
    MemberRecord member;
    EXPECT_TRUE(*reader->GetDentry(row.id, directory, name, &dentry)) << name;
    EXPECT_TRUE(*reader->GetMember(row.id, facts.defaults, dentry.target_ordinal, &member)) << name;
    return member;
  };
  DentryRecord train;
  ASSERT_TRUE(*reader->GetDentry(row.id, 0, "train", &train));
  EXPECT_EQ(member_at(train.child_directory, "hard").name, "a.jpg");
  EXPECT_EQ(member_at(train.child_directory, "hard").links, 2U);
  EXPECT_EQ(member_at(train.child_directory, "times.jpg").mtime, -1);
  EXPECT_EQ(member_at(train.child_directory, "times.jpg").mtime_ns, 123'456'789U);
  EXPECT_EQ(member_at(train.child_directory, "owner.jpg").uid, uint64_t{1} << 40);
  EXPECT_EQ(member_at(train.child_directory, "owner.jpg").group_name, "");
  EXPECT_EQ(member_at(train.child_directory, "link").link, "../elsewhere");
  EXPECT_EQ(member_at(0, "null").device_minor, 3U);
  EXPECT_EQ(member_at(0, "sparse").extents.size(), 5U);
  EXPECT_EQ(member_at(0, "sparse").extents[1].archive_offset, tar::Extent::kHole);
  EXPECT_EQ(member_at(0, "xattrs").xattrs.size(), 2U);
  EXPECT_EQ(member_at(0, "again").logical_size, 2U);
  EXPECT_EQ(member_at(0, "bytes-\xff\xfe\x01").type, tar::MemberType::kRegular);
  std::vector<uint64_t> checksums;
  ASSERT_TRUE(reader->GetChunkChecksums(row.id, 533, 2, &checksums).ok());
  EXPECT_THAT(checksums, ElementsAre(0x090a0b0c0d0e0f10 * 534ULL, 0x090a0b0c0d0e0f10 * 535ULL));
}

TEST_F(GoldenV1Test, OpeningAndReadingChangesNothing) {
  const std::string copy = Copy();
  const auto before = Contents(copy);
  ASSERT_TRUE(IndexRoot::Open(copy).ok());
  for (const uint32_t number : {1U, 2U}) {
    const auto reader = GenerationReader::Open(Generation(copy, number));
    ASSERT_TRUE(reader.ok()) << reader.status().ToString();
    EXPECT_TRUE((*reader)->CheckWhole().ok());
  }
  EXPECT_EQ(Contents(copy), before);
}

TEST_F(GoldenV1Test, TheRootGoesOnWithThisBuildAsItsWriter) {
  const auto root = IndexRoot::OpenOrCreate(Copy());
  ASSERT_TRUE(root.ok()) << root.status().ToString();
  EXPECT_EQ((*root)->format_version(), 1U);
  EXPECT_EQ(*(*root)->DatasetNumberOrCreate("golden"), 1U);
  EXPECT_EQ(*(*root)->DatasetNumberOrCreate("another"), 2U);
}

TEST_F(GoldenV1Test, OfANewerFormatOrAnUnknownFeatureNothingIsReadAndNothingChanged) {
  const std::string copy = Copy();
  const std::string format = support::Scratch::Read(copy + "/format");
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& said) {
    std::string changed = format;
    ASSERT_NE(changed.find(from), std::string::npos);
    changed.replace(changed.find(from), from.size(), to);
    scratch_.Write("copy/format", changed);
    const auto before = Contents(copy);
    for (const Status& status : {IndexRoot::Open(copy).status(), IndexRoot::OpenOrCreate(copy).status()}) {
      EXPECT_EQ(status.code(), ErrorCode::kUnsupported);
      EXPECT_THAT(status.message(), HasSubstr(said));
      EXPECT_FALSE(status.hint().empty());
    }
    EXPECT_EQ(Contents(copy), before);
  };
  refused("format 1\n", "format 2\n", "format 2");
  refused("features 0\n", "features 8000000000000000\n", "0x8000000000000000");
}

}  // namespace
}  // namespace tarn::index

#include "tarn/index/bundle_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "archives.h"
#include "index/sst.h"
#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"
#include "tests/support/scratch.h"

namespace tarn::index {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class BundleBuilderTest : public testing::Test {
 protected:
  // Every row of a bundle, in the order of the file.
  std::vector<std::pair<std::string, std::string>> Rows(const std::string& file) {
    std::vector<std::pair<std::string, std::string>> rows;
    auto scan = SstScan::Open(file);
    EXPECT_OK(scan);
    while (scan.ok()) {
      const auto found = (*scan)->Next();
      EXPECT_OK(found);
      if (!found.ok() || !*found) break;
      rows.emplace_back((*scan)->key(), (*scan)->value());
    }
    return rows;
  }

  // Rows of one kind: key behind the prefix, value.
  std::vector<std::pair<std::string, std::string>> Rows(RowKind kind) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (auto& [key, value] : Rows(file_)) {
      EXPECT_EQ(key.substr(0, 24), Key(id_, kind).substr(0, 24));
      if (key[24] == static_cast<char>(kind)) rows.emplace_back(key.substr(25), value);
    }
    return rows;
  }

  std::vector<MemberRecord> Members(const ArchiveFacts& facts) {
    std::vector<MemberRecord> members;
    for (const auto& [suffix, value] : Rows(RowKind::kMember)) {
      EXPECT_EQ(ReadBigEndian32(suffix.data()), members.size());
      members.emplace_back();
      EXPECT_OK(Decode(value, facts.defaults, &members.back()));
    }
    return members;
  }

  std::map<std::pair<uint32_t, std::string>, DentryRecord> Dentries() {
    std::map<std::pair<uint32_t, std::string>, DentryRecord> dentries;
    for (const auto& [suffix, value] : Rows(RowKind::kDentry)) {
      DentryRecord record;
      EXPECT_OK(Decode(value, &record));
      dentries[{ReadBigEndian32(suffix.data()), suffix.substr(4)}] = record;
    }
    return dentries;
  }

  std::vector<DirectoryRecord> Directories() {
    std::vector<DirectoryRecord> directories;
    for (const auto& [suffix, value] : Rows(RowKind::kDirectory)) {
      EXPECT_EQ(ReadBigEndian32(suffix.data()), directories.size());
      directories.emplace_back();
      EXPECT_OK(Decode(value, &directories.back()));
    }
    return directories;
  }

  ArchiveFacts Build() {
    auto facts = archive_.Build(id_, scratch_.path(), file_);
    EXPECT_OK(facts);
    return facts.ok() ? *facts : ArchiveFacts{};
  }

  support::Scratch scratch_;
  const std::string file_ = scratch_ / "bundle.sst";
  const ArchiveId id_{123456, Digest{0x1111111111111111, 0x2222222222222222}};
  MadeUpArchive archive_;
};

TEST_F(BundleBuilderTest, HoldsMembersNamesAndDirectoriesOfTheTree) {
  archive_.Directory("./train/");
  archive_.File("./train/a.jpg", 700);
  archive_.File("./train/deep/b.jpg", 800).mtime += 5;
  archive_.chunks = {7, 8, 9};
  const ArchiveFacts facts = Build();
  EXPECT_TRUE(facts.is_tar);
  EXPECT_EQ(facts.members, 3U);
  EXPECT_EQ(facts.dentries, 4U);
  EXPECT_EQ(facts.directories, 3U);
  EXPECT_EQ(facts.logical_bytes, 1500U);
  EXPECT_EQ(facts.end_offset, archive_.end + 1024);
  EXPECT_EQ(facts.defaults.mode, 0644U);
  EXPECT_EQ(facts.defaults.mtime, 1'700'000'000);

  const auto members = Members(facts);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0].type, tar::MemberType::kDirectory);
  EXPECT_EQ(members[0].mode, 0755U);
  EXPECT_EQ(members[1].name, "a.jpg");
  EXPECT_EQ(members[1].links, 1U);
  EXPECT_EQ(members[1].data_offset, archive_.members[1].data_offset);
  EXPECT_EQ(members[1].extents, archive_.members[1].extents);
  EXPECT_EQ(members[2].mtime, 1'700'000'005);
  EXPECT_EQ(members[2].user_name, "data");

  const auto dentries = Dentries();
  ASSERT_EQ(dentries.size(), 4U);
  const uint32_t train = dentries.at({0, "train"}).child_directory;
  const uint32_t deep = dentries.at({train, "deep"}).child_directory;
  EXPECT_EQ(dentries.at({train, "deep"}).own_ordinal, tar::kNoOrdinal);
  EXPECT_EQ(dentries.at({train, "a.jpg"}).target_ordinal, 1U);
  EXPECT_EQ(dentries.at({deep, "b.jpg"}).own_ordinal, 2U);

  const auto directories = Directories();
  ASSERT_EQ(directories.size(), 3U);
  EXPECT_EQ(directories[train].name, "train");
  EXPECT_EQ(directories[train].ordinal, 0U);
  EXPECT_EQ(directories[train].entries, 2U);
  EXPECT_EQ(directories[deep].parent, train);
  std::string chunks;
  EncodeChunkRow(archive_.chunks, &chunks);
  EXPECT_THAT(Rows(RowKind::kChunkChecksums), ElementsAre(Pair(std::string(4, '\0'), chunks)));
}

TEST_F(BundleBuilderTest, HardLinksCountAsNamesOfTheirTarget) {
  archive_.File("a");
  archive_.HardLink("b", "a");
  archive_.HardLink("c", "b");
  const ArchiveFacts facts = Build();
  const auto members = Members(facts);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0].links, 3U);
  const auto dentries = Dentries();
  for (const auto& [name, ordinal] : {std::pair("a", 0U), std::pair("b", 1U), std::pair("c", 2U)}) {
    EXPECT_EQ(dentries.at({0, name}).own_ordinal, ordinal);
    EXPECT_EQ(dentries.at({0, name}).target_ordinal, 0U);
    EXPECT_EQ(dentries.at({0, name}).type, tar::MemberType::kRegular);
  }
}

TEST_F(BundleBuilderTest, ReplacedAndUnshownMembersAreKeptWithoutLinks) {
  archive_.File("a", 100);
  archive_.File("../escapes", 100);
  archive_.File("a", 200);
  const ArchiveFacts facts = Build();
  EXPECT_EQ(facts.members, 3U);
  EXPECT_EQ(facts.dentries, 1U);
  EXPECT_EQ(facts.replaced, 1U);
  EXPECT_EQ(facts.unshown, 1U);
  EXPECT_GE(facts.warnings + facts.errors, 1U);
  const auto members = Members(facts);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0].links, 0U);
  EXPECT_EQ(members[1].links, 0U);
  EXPECT_EQ(members[1].directory, tar::kNoDirectory);
  EXPECT_EQ(members[1].name, "../escapes");
  EXPECT_EQ(members[2].links, 1U);
  EXPECT_EQ(Dentries().at({0, "a"}).own_ordinal, 2U);
  EXPECT_EQ(Rows(RowKind::kFinding).size(), facts.warnings + facts.errors);
}

TEST_F(BundleBuilderTest, FindingsOfWalkAndTreeAreStoredInTheirOrder) {
  tar::FindingList findings(2);
  findings.Add({tar::FindingCode::kBadChecksum, tar::Severity::kError, 512, "a", "first"});
  for (int i = 0; i < 3; ++i) {
    findings.Add({tar::FindingCode::kBadPaxValue, tar::Severity::kWarning, 1024, "b", std::to_string(i)});
  }
  BundleBuilder builder({.scratch_directory = scratch_.path()}, &findings);
  archive_.File("a");
  ASSERT_OK(builder.AddMember(archive_.members[0]));
  const auto facts = builder.Finish(id_, {}, 2048, file_);
  ASSERT_OK(facts);
  EXPECT_EQ(facts->errors, 1U);
  EXPECT_EQ(facts->warnings, 3U);  // counted, two of them kept
  std::vector<tar::Finding> stored;
  for (const auto& [suffix, value] : Rows(RowKind::kFinding)) {
    EXPECT_EQ(ReadBigEndian32(suffix.data()), stored.size());
    stored.emplace_back();
    ASSERT_OK(Decode(value, &stored.back()));
  }
  EXPECT_EQ(stored, findings.kept());
}

TEST_F(BundleBuilderTest, AnArchiveWithoutMembersHasFactsAndARoot) {
  const ArchiveFacts facts = Build();
  EXPECT_EQ(facts.members, 0U);
  EXPECT_EQ(facts.directories, 1U);
  EXPECT_EQ(Directories().size(), 1U);
  EXPECT_EQ(*ReadBundleFacts(file_, id_), facts);
}

TEST_F(BundleBuilderTest, MembersBeforeTheFirstFileReadAsTheyWere) {
  archive_.Directory("d").mode = 0700;
  archive_.Add(tar::MemberType::kSymlink, "s").link = "d";
  archive_.File("f").uid = 7;
  const ArchiveFacts facts = Build();
  EXPECT_EQ(facts.defaults.uid, 7U);
  const auto members = Members(facts);
  ASSERT_EQ(members.size(), 3U);
  EXPECT_EQ(members[0].mode, 0700U);
  EXPECT_EQ(members[0].uid, 1000U);
  EXPECT_EQ(members[1].link, "d");
  EXPECT_EQ(members[2].uid, 7U);
}

TEST_F(BundleBuilderTest, RowsDoNotDependOnTheMemoryBudget) {
  for (int i = 0; i < 6000; ++i) {
    archive_.File(fmt::format("class{:03}/image_{}.jpg", (i * 7919) % 200, i), 500 + i);
    if (i % 10 == 0) archive_.HardLink(fmt::format("links/{}", i), archive_.members.back().name);
    if (i % 50 == 0) archive_.File("class000/replaced", 1);
  }
  archive_.chunks.assign(1300, 42);
  const ArchiveFacts facts = Build();
  const auto rows = Rows(file_);
  ASSERT_GT(rows.size(), 13000U);
  for (const size_t memory : {size_t{128} << 10, size_t{1} << 20}) {
    const std::string small = scratch_ / fmt::format("small-{}.sst", memory);
    const auto other = archive_.Build(id_, scratch_.path(), small, memory);
    ASSERT_OK(other);
    EXPECT_EQ(*other, facts);
    EXPECT_TRUE(Rows(small) == rows) << memory;
  }
  EXPECT_THAT(*io::ListDirectory(scratch_.path()),
              ElementsAre("bundle.sst", "small-1048576.sst", "small-131072.sst"));
}

TEST_F(BundleBuilderTest, ALooseFileHasFactsAndChecksumsOnly) {
  const std::vector<uint64_t> chunks(600, 5);
  const auto facts = WriteLooseBundle(id_, chunks, file_);
  ASSERT_OK(facts);
  EXPECT_FALSE(facts->is_tar);
  EXPECT_EQ(*ReadBundleFacts(file_, id_), *facts);
  EXPECT_EQ(Rows(file_).size(), 3U);
}

TEST_F(BundleBuilderTest, AnExistingFileIsNotOverwritten) {
  scratch_.Write("bundle.sst", "precious");
  const auto facts = archive_.Build(id_, scratch_.path(), file_);
  EXPECT_EQ(facts.code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(support::Scratch::Read(file_), "precious");
}

TEST_F(BundleBuilderTest, AFailedBundleLeavesNothing) {
  archive_.File("a");
  const auto facts = archive_.Build(id_, scratch_.path(), scratch_ / "missing/bundle.sst");
  EXPECT_FALSE(facts.ok());
  EXPECT_THAT(facts.status().message(), HasSubstr("missing/bundle.sst"));
  EXPECT_THAT(*io::ListDirectory(scratch_.path()), ElementsAre());
}

TEST_F(BundleBuilderTest, MoreMembersThanANodeIdCanNumberAreRefused) {
  tar::FindingList findings;
  BundleBuilder builder({.scratch_directory = scratch_.path()}, &findings);
  tar::Member& member = archive_.File("a");
  member.ordinal = (uint64_t{1} << 30) - 1;
  const Status status = builder.AddMember(member);
  EXPECT_EQ(status.code(), ErrorCode::kUnsupported);
}

TEST_F(BundleBuilderTest, EveryDamagedByteOfABundleIsNoticedOrHarmless) {
  archive_.File("a", 100);
  archive_.File("b", 100);
  const ArchiveFacts facts = Build();
  const auto rows = Rows(file_);
  const std::string bytes = support::Scratch::Read(file_);
  for (size_t at = 0; at < bytes.size(); at += 7) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    const std::string path = scratch_.Write("damaged.sst", damaged);
    const auto read = ReadBundleFacts(path, id_);
    if (!read.ok()) {
      EXPECT_THAT(read.status().message(), HasSubstr("damaged.sst"));
      continue;
    }
    EXPECT_EQ(*read, facts) << at;
  }
  scratch_.Write("damaged.sst", bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(ReadBundleFacts(scratch_ / "damaged.sst", id_).code(), ErrorCode::kCorrupt);
  scratch_.Write("damaged.sst", "");
  EXPECT_EQ(ReadBundleFacts(scratch_ / "damaged.sst", id_).code(), ErrorCode::kCorrupt);
}

TEST_F(BundleBuilderTest, ABundleOfAnotherArchiveIsNotTakenForThisOne) {
  Build();
  ArchiveId other = id_;
  ++other.digest.low;
  EXPECT_EQ(ReadBundleFacts(file_, other).code(), ErrorCode::kCorrupt);
  EXPECT_EQ(ReadBundleFacts(scratch_ / "none.sst", id_).code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tarn::index

#include "tarn/dataset/generation_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tarn/base/bytes.h"
#include "tarn/dataset/node_id.h"
#include "tarn/digest/archive_digester.h"
#include "tests/support/fake_generation.h"

namespace tarn::dataset {
namespace {

using index::ManifestKind;
using index::ManifestRow;
using index::TreeDentryKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::FakeGeneration;

GenerationPlan Plan(uint32_t generation = 1) {
  GenerationPlan plan;
  plan.dataset = "imagenet";
  plan.dataset_number = 3;
  plan.generation = generation;
  plan.root_uuid = "uuid";
  plan.source_path = "data/imagenet";
  plan.writer = "test";
  plan.created = 1700000000;
  return plan;
}

PublishedFile Loose(const std::string& path, const std::string& contents) {
  PublishedFile file;
  file.path = path;
  file.kind = ManifestKind::kLooseFile;
  file.id = {contents.size(), digest::DigestOf(contents)};
  return file;
}

PublishedFile Archive(const std::string& path, const std::string& contents, uint32_t directories = 1) {
  PublishedFile file = Loose(path, contents);
  file.kind = ManifestKind::kArchive;
  file.facts.members = 10;
  file.facts.directories = directories;
  return file;
}

BuiltGeneration Build(std::vector<PublishedFile> files, const index::GenerationReader* previous = nullptr,
                      uint32_t generation = 1) {
  auto built = BuildGeneration(Plan(generation), std::move(files), previous);
  EXPECT_TRUE(built.ok()) << built.status().ToString();
  return std::move(built).value();
}

const ManifestRow& RowOf(const BuiltGeneration& built, const std::string& path) {
  const auto& rows = built.rows.manifest;
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const ManifestRow& candidate) { return candidate.path == path; });
  EXPECT_NE(row, rows.end()) << path;
  return *row;
}

std::string ShownName(const BuiltGeneration& built, const std::string& path) {
  return RowOf(built, path).shown_name;
}

TEST(GenerationBuilder, ArchivesLoseTheirSuffixAndLooseFilesKeepTheirNames) {
  const BuiltGeneration built =
      Build({Archive("train/n01.tar", "a"), Loose("labels.csv", "b"), Archive("odd.TAR", "c"),
             Archive(".tar", "d"), Archive("...tar", "e")});
  EXPECT_EQ(ShownName(built, "train/n01.tar"), "n01");
  EXPECT_EQ(ShownName(built, "labels.csv"), "labels.csv");
  EXPECT_EQ(ShownName(built, "odd.TAR"), "odd.TAR");
  EXPECT_EQ(ShownName(built, ".tar"), ".tar");
  EXPECT_EQ(ShownName(built, "...tar"), "...tar");
  EXPECT_THAT(built.notes, IsEmpty());
}

TEST(GenerationBuilder, AnArchiveWhoseNameIsTakenIsShownAsMembersWithANote) {
  const BuiltGeneration built =
      Build({Archive("a.tar", "1"), Loose("a/x", "2"), Archive("b.tar", "3"), Loose("b", "4")});
  EXPECT_EQ(ShownName(built, "a.tar"), "a.tar.members");
  EXPECT_EQ(ShownName(built, "b.tar"), "b.tar.members");
  EXPECT_THAT(built.notes, ElementsAre("a.tar is shown as a.tar.members: the name a is taken",
                                       "b.tar is shown as b.tar.members: the name b is taken"));
}

TEST(GenerationBuilder, AnArchiveWithoutSuffixKeepsItsNameBeforeOneThatLosesIt) {
  const BuiltGeneration built = Build({Archive("a.tar", "1"), Archive("a", "2")});
  EXPECT_EQ(ShownName(built, "a"), "a");
  EXPECT_EQ(ShownName(built, "a.tar"), "a.tar.members");
}

TEST(GenerationBuilder, MembersIsAppendedUntilTheNameIsFree) {
  const BuiltGeneration built = Build({Archive("a.tar", "1"), Loose("a", "2"), Loose("a.tar.members", "3"),
                                       Archive("a.tar.members.tar", "4")});
  EXPECT_EQ(ShownName(built, "a.tar"), "a.tar.members.members");
  EXPECT_EQ(ShownName(built, "a.tar.members.tar"), "a.tar.members.tar.members");
}

TEST(GenerationBuilder, ANameThatCannotBeShownRefusesThePublish) {
  const std::string stem(250, 'x');
  const auto built = BuildGeneration(Plan(), {Archive(stem + ".tar", "1"), Loose(stem, "2")}, nullptr);
  EXPECT_EQ(built.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(built.status().message(), HasSubstr(stem + ".tar"));
  EXPECT_THAT(built.status().hint(), HasSubstr("--exclude"));
}

TEST(GenerationBuilder, QuarantinedArchivesHaveARowAndNoPlaceInTheTree) {
  PublishedFile bad = Archive("only/bad.tar", "1", 7);
  bad.kind = ManifestKind::kQuarantined;
  bad.facts.errors = 2;
  const BuiltGeneration built = Build({bad, Loose("x", "2")});
  const ManifestRow& row = RowOf(built, "only/bad.tar");
  EXPECT_EQ(row.number, 1U);
  EXPECT_EQ(row.errors, 2U);
  EXPECT_EQ(row.directories, 0U);
  EXPECT_TRUE(row.shown_name.empty());
  EXPECT_EQ(built.rows.directories.size(), 1U) << "a directory that shows nothing is not there";
  EXPECT_EQ(built.rows.dentries.size(), 1U);
  EXPECT_EQ(built.rows.facts.quarantined, 1U);
  EXPECT_EQ(built.rows.facts.bytes, 1U);
}

TEST(GenerationBuilder, TheTreeHoldsEveryDirectoryAndCountsWhatIsInIt) {
  const BuiltGeneration built =
      Build({Archive("a/b/1.tar", "1"), Archive("a/2.tar", "2"), Loose("a/b/c/x", "3"), Loose("y", "4")});
  const auto& directories = built.rows.directories;
  ASSERT_EQ(directories.size(), 4U);  // "", a, a/b, a/b/c
  EXPECT_EQ(directories[1].name, "a");
  EXPECT_EQ(directories[2].name, "b");
  EXPECT_EQ(directories[2].parent, 1U);
  EXPECT_EQ(directories[3].parent, 2U);
  EXPECT_EQ(directories[0].entries, 2U);         // a, y
  EXPECT_EQ(directories[0].subdirectories, 1U);  // a
  EXPECT_EQ(directories[1].entries, 2U);         // 2, b
  EXPECT_EQ(directories[1].subdirectories, 2U) << "an archive is a directory";
  EXPECT_EQ(directories[2].entries, 2U);  // 1, c
  EXPECT_EQ(RowOf(built, "a/b/1.tar").tree_directory, 2U);
  EXPECT_EQ(built.rows.facts.tree_directories, 4U);
}

TEST(GenerationBuilder, DirectoriesOfArchivesFollowThoseOfTheTreeInOrderOfNumber) {
  const BuiltGeneration built =
      Build({Archive("b.tar", "1", 5), Archive("a.tar", "2", 3), Loose("c/x", "3")});
  EXPECT_EQ(RowOf(built, "a.tar").number, 1U);
  EXPECT_EQ(RowOf(built, "a.tar").first_directory, 2U);
  EXPECT_EQ(RowOf(built, "b.tar").first_directory, 5U);
  EXPECT_EQ(built.rows.facts.directories, 10U);
}

TEST(GenerationBuilder, TheResultDoesNotDependOnTheOrderOfFiles) {
  std::vector<PublishedFile> files = {Archive("z.tar", "1", 2), Loose("z", "2"), Archive("a/b.tar", "3", 4),
                                      Loose("a/c", "4"), Archive("a/d.tar", "4")};
  const BuiltGeneration forward = Build(files);
  std::reverse(files.begin(), files.end());
  const BuiltGeneration backward = Build(files);
  EXPECT_EQ(forward.rows.manifest, backward.rows.manifest);
  EXPECT_EQ(forward.rows.facts, backward.rows.facts);
  EXPECT_EQ(forward.rows.directories, backward.rows.directories);
  EXPECT_EQ(forward.notes, backward.notes);
  ASSERT_EQ(forward.rows.dentries.size(), backward.rows.dentries.size());
  for (size_t i = 0; i < forward.rows.dentries.size(); ++i) {
    EXPECT_EQ(forward.rows.dentries[i].name, backward.rows.dentries[i].name);
    EXPECT_EQ(forward.rows.dentries[i].record, backward.rows.dentries[i].record);
  }
}

TEST(GenerationBuilder, SamePathAndBytesKeepTheirNumberAndNewBytesGetANewOne) {
  const BuiltGeneration first = Build({Archive("a.tar", "1"), Archive("b.tar", "2")});
  const FakeGeneration previous(first.rows);
  const BuiltGeneration second =
      Build({Archive("a.tar", "new"), Archive("b.tar", "2"), Archive("0.tar", "3")}, &previous, 2);
  EXPECT_EQ(RowOf(second, "b.tar").number, 2U);
  EXPECT_EQ(RowOf(second, "0.tar").number, 3U);
  EXPECT_EQ(RowOf(second, "a.tar").number, 4U) << "number 1 is never used twice";
  EXPECT_EQ(second.rows.facts.next_number, 5U);
}

TEST(GenerationBuilder, NumbersOfArchivesThatAreGoneStayUsedInLaterGenerations) {
  const BuiltGeneration first = Build({Archive("a.tar", "1"), Archive("b.tar", "2")});
  const FakeGeneration one(first.rows);
  const BuiltGeneration second = Build({Archive("a.tar", "1")}, &one, 2);
  const FakeGeneration two(second.rows);
  const BuiltGeneration third = Build({Archive("a.tar", "1"), Archive("b.tar", "2")}, &two, 3);
  EXPECT_EQ(RowOf(third, "b.tar").number, 3U);
}

TEST(GenerationBuilder, MovedRenamedAndSwappedArchivesTakeTheirNumbersAlong) {
  const BuiltGeneration first =
      Build({Archive("a.tar", "1"), Archive("b.tar", "2"), Archive("c.tar", "3"), Archive("d.tar", "3")});
  const FakeGeneration previous(first.rows);
  // a moved; b and c swapped, where d has c's bytes and stays.
  const BuiltGeneration second =
      Build({Archive("e/a.tar", "1"), Archive("b.tar", "3"), Archive("c.tar", "2"), Archive("d.tar", "3")},
            &previous, 2);
  EXPECT_EQ(RowOf(second, "e/a.tar").number, 1U);
  EXPECT_EQ(RowOf(second, "c.tar").number, 2U);
  EXPECT_EQ(RowOf(second, "b.tar").number, 3U);
  EXPECT_EQ(RowOf(second, "d.tar").number, 4U);
}

TEST(GenerationBuilder, ACopyIsANewFileWithANumberOfItsOwn) {
  const BuiltGeneration first = Build({Archive("a.tar", "1")});
  const FakeGeneration previous(first.rows);
  const BuiltGeneration second = Build({Archive("0.tar", "1"), Archive("a.tar", "1")}, &previous, 2);
  EXPECT_EQ(RowOf(second, "a.tar").number, 1U);
  EXPECT_EQ(RowOf(second, "0.tar").number, 2U);
}

TEST(GenerationBuilder, ANumberNeverPassesBetweenAnArchiveAndALooseFileOfTheSameBytes) {
  const BuiltGeneration first = Build({Loose("a.tar", "1")});
  const FakeGeneration previous(first.rows);
  EXPECT_EQ(RowOf(Build({Archive("a.tar", "1")}, &previous, 2), "a.tar").number, 2U);
  // Quarantine is a verdict about the same archive.
  PublishedFile quarantined = Archive("a.tar", "1");
  quarantined.kind = ManifestKind::kQuarantined;
  const BuiltGeneration third = Build({quarantined});
  const FakeGeneration before(third.rows);
  EXPECT_EQ(RowOf(Build({Archive("a.tar", "1")}, &before, 2), "a.tar").number, 1U);
}

TEST(GenerationBuilder, WhatDoesNotFitANodeIdIsRefused) {
  GenerationPlan plan = Plan();
  plan.dataset_number = kMaxDataset + 1;
  EXPECT_EQ(BuildGeneration(plan, {}, nullptr).code(), ErrorCode::kUnsupported);
  plan = Plan(kMaxGeneration + 1);
  EXPECT_EQ(BuildGeneration(plan, {}, nullptr).code(), ErrorCode::kUnsupported);

  PublishedFile many = Archive("a.tar", "1");
  many.facts.members = uint64_t{kMaxOrdinal} + 2;
  const auto members = BuildGeneration(Plan(), {many}, nullptr);
  EXPECT_EQ(members.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(members.status().message(), HasSubstr("a.tar"));

  std::vector<PublishedFile> wide;
  for (const char* path : {"a.tar", "b.tar", "c.tar", "d.tar", "e.tar"})
    wide.push_back(Archive(path, path, UINT32_MAX));
  EXPECT_EQ(BuildGeneration(Plan(), wide, nullptr).code(), ErrorCode::kUnsupported);

  BuiltGeneration full = Build({Archive("a.tar", "1")});
  full.rows.facts.next_number = kMaxArchive + 1;
  const FakeGeneration previous(full.rows);
  EXPECT_EQ(BuildGeneration(Plan(2), {Archive("b.tar", "2")}, &previous).code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(BuildGeneration(Plan(2), {Archive("a.tar", "1")}, &previous).ok());
}

TEST(GenerationBuilder, PathsThatCannotBeAreRefused) {
  for (const char* path : {"", "/a", "a/", "a//b", ".", "a/../b", "./a"}) {
    EXPECT_EQ(BuildGeneration(Plan(), {Loose(path, "1")}, nullptr).code(), ErrorCode::kInvalidArgument)
        << path;
  }
  EXPECT_EQ(BuildGeneration(Plan(), {Loose("a", "1"), Loose("a", "1")}, nullptr).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(BuildGeneration(Plan(), {Loose("a", "1"), Loose("a/b", "1")}, nullptr).code(),
            ErrorCode::kInvalidArgument);
}

TEST(GenerationBuilder, AGenerationFollowsOnlyAnEarlierOneOfItsDataset) {
  const FakeGeneration previous(Build({}, nullptr, 5).rows);
  EXPECT_EQ(BuildGeneration(Plan(5), {}, &previous).code(), ErrorCode::kInternal);
  EXPECT_TRUE(BuildGeneration(Plan(6), {}, &previous).ok());
}

TEST(DatasetDigest, CoversPathsKindsArchivesAndViewInOrderOfPath) {
  const BuiltGeneration built = Build({Loose("b", "2"), Archive("a.tar", "1")});
  std::string canonical;
  AppendLengthPrefixed(&canonical, "a.tar");
  canonical += '\0';
  RowOf(built, "a.tar").id.AppendTo(&canonical);
  AppendLengthPrefixed(&canonical, "b");
  canonical += '\1';
  RowOf(built, "b").id.AppendTo(&canonical);
  AppendLengthPrefixed(&canonical, "");
  EXPECT_EQ(built.rows.facts.digest, digest::DigestOf(canonical));
  EXPECT_NE(DatasetDigest(built.rows.manifest, "by-class"), built.rows.facts.digest);
}

TEST(DatasetDigest, DoesNotCoverTimesOwnersNumbersAndPlaces) {
  PublishedFile file = Archive("a.tar", "1");
  const Digest digest = Build({file}).rows.facts.digest;
  file.hint = {1, 2, 3, 4};
  file.access = {0600, 5, 6};
  GenerationPlan plan = Plan(9);
  plan.created = 1;
  plan.source_path = "elsewhere";
  plan.dataset = "other";
  EXPECT_EQ(BuildGeneration(plan, {file}, nullptr)->rows.facts.digest, digest);
}

}  // namespace
}  // namespace tarn::dataset

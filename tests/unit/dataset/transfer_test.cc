#include "tarn/dataset/transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tarn/dataset/generation_builder.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/generation_writer.h"
#include "tarn/index/usage.h"
#include "tests/unit/index/made_up_root.h"

namespace tarn::dataset {
namespace {

using index::IndexRoot;
using index::ManifestRow;
using index::StatusText;
using testing::ElementsAre;
using testing::HasSubstr;

class TransferTest : public testing::Test {
 protected:
  // Publishes archives and a loose file as the dataset's next generation, as `publish` does.
  static uint32_t Publish(index::MadeUpRoot* site, const std::string& dataset,
                          const std::vector<std::pair<std::string, ArchiveId>>& archives) {
    std::vector<PublishedFile> files;
    for (const auto& [path, id] : archives) {
      auto facts = index::ReadBundleFacts(site->root->BundlePath(id), id);
      EXPECT_OK(facts);
      const auto kind =
          path.ends_with(".tar") ? index::ManifestKind::kArchive : index::ManifestKind::kLooseFile;
      files.push_back({path, kind, id, {id.size, 1, 2, 3}, {0640, 10, 20}, *facts});
    }
    const auto all = site->root->DatasetNumberOrCreate(dataset);
    EXPECT_OK(all);
    const std::vector<uint32_t> before = *site->root->AllGenerations(dataset);
    std::shared_ptr<const index::GenerationReader> newest;
    if (!before.empty()) {
      newest = *index::GenerationReader::Open(site->root->GenerationPath(dataset, before.back()));
    }
    const GenerationPlan plan{.dataset = dataset,
                              .dataset_number = *all,
                              .generation = before.empty() ? 1 : before.back() + 1,
                              .root_uuid = site->root->uuid(),
                              .source_path = "data/" + dataset,
                              .writer = "test",
                              .created = 1'700'000'000};
    const auto built = BuildGeneration(plan, files, newest.get());
    EXPECT_OK(built);
    const std::string staged = *site->root->MakeStagingDirectory("test") + "/generation";
    EXPECT_OK(index::WriteGeneration(*site->root, built->rows, staged));
    EXPECT_OK(site->root->PublishGeneration(dataset, plan.generation, staged));
    return plan.generation;
  }

  static std::string Export(index::MadeUpRoot* site, const std::string& dataset, uint32_t generation) {
    std::string bytes;
    const auto report = ExportGeneration(*site->root, dataset, generation, [&bytes](std::string_view more) {
      bytes.append(more);
      return Status::Ok();
    });
    EXPECT_OK(report);
    if (report.ok()) {
      EXPECT_EQ(report->bytes, bytes.size());
    }
    return bytes;
  }

  // In pieces of any size, as a pipe gives them.
  static Result<ImportReport> Import(index::MadeUpRoot* site, const std::string& bytes,
                                     std::optional<std::string> name = std::nullopt, size_t piece = 777) {
    size_t at = 0;
    const ByteSource source = [&](std::span<char> out) -> Result<size_t> {
      const size_t count = std::min({piece, out.size(), bytes.size() - at});
      std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), count, out.begin());
      at += count;
      return count;
    };
    return ImportGeneration(
        site->root.get(),
        {.name = std::move(name), .source_path = {}, .writer = "test", .created = 1'700'000'001}, source);
  }

  static std::vector<ManifestRow> Manifest(index::MadeUpRoot* site, const std::string& dataset,
                                           uint32_t generation) {
    std::vector<ManifestRow> rows;
    const auto reader = index::GenerationReader::Open(site->root->GenerationPath(dataset, generation));
    EXPECT_OK(reader);
    EXPECT_OK((*reader)->CheckWhole());
    EXPECT_OK((*reader)->ForEachManifestRow([&rows](const ManifestRow& row) {
      rows.push_back(row);
      return Status::Ok();
    }));
    return rows;
  }

  index::MadeUpRoot here_;
  index::MadeUpRoot there_;
};

TEST_F(TransferTest, ARoundTripGivesTheSameDigestManifestAndBundles) {
  const ArchiveId a = here_.AddBundle(1);
  const ArchiveId b = here_.AddBundle(2);
  Publish(&here_, "set", {{"x/a.tar", a}});
  Publish(&here_, "set", {{"x/b.tar", b}, {"x/a.tar", a}, {"labels.bin", a}});
  const std::string bytes = Export(&here_, "set", 2);

  const auto report = Import(&there_, bytes);
  ASSERT_OK(report);
  EXPECT_TRUE(report->published);
  EXPECT_EQ(report->dataset, "set");
  EXPECT_EQ(report->generation, 1U);
  EXPECT_EQ(report->bundles_added, 2U);
  EXPECT_EQ(report->numbers_kept, 3U);
  EXPECT_EQ(Manifest(&there_, "set", 1), Manifest(&here_, "set", 2));
  const auto original = index::GenerationReader::Open(here_.root->GenerationPath("set", 2));
  const auto imported = index::GenerationReader::Open(there_.root->GenerationPath("set", 1));
  index::GenerationFacts expected = (*original)->facts();
  expected.root_uuid = there_.root->uuid();
  expected.generation = 1;
  expected.created = 1'700'000'001;
  EXPECT_EQ((*imported)->facts(), expected);
  for (const ArchiveId& id : {a, b}) {
    EXPECT_EQ(support::Scratch::Read(there_.root->BundlePath(id)),
              support::Scratch::Read(here_.root->BundlePath(id)));
  }
  EXPECT_EQ(*there_.root->Latest("set"), 1U);
  // And what it exports is importable in turn, in pieces of one byte too.
  index::MadeUpRoot third;
  EXPECT_OK(Import(&third, Export(&there_, "set", 1), "copy", 1));
  EXPECT_EQ(Manifest(&third, "copy", 1), Manifest(&here_, "set", 2));
}

TEST_F(TransferTest, WhatTheNewestGenerationIsAlreadyIsNotPublishedAgain) {
  Publish(&here_, "set", {{"a.tar", here_.AddBundle(1)}});
  const std::string bytes = Export(&here_, "set", 1);
  ASSERT_OK(Import(&there_, bytes));
  const auto again = Import(&there_, bytes);
  ASSERT_OK(again);
  EXPECT_FALSE(again->published);
  EXPECT_EQ(again->generation, 1U);
  EXPECT_EQ(again->bundles_known, 1U);
  // A retired one is published again, under a new number.
  ASSERT_OK(there_.root->RetireGeneration("set", 1, 0));
  const auto third = Import(&there_, bytes);
  ASSERT_OK(third);
  EXPECT_TRUE(third->published);
  EXPECT_EQ(third->generation, 2U);
}

TEST_F(TransferTest, NumbersThatWereUsedHereAreNeverUsedForSomethingElse) {
  const ArchiveId common = there_.AddBundle(1);
  const ArchiveId own = there_.AddBundle(2);
  Publish(&there_, "set", {{"own.tar", own}, {"z.tar", common}});  // numbers 1 and 2
  Publish(&there_, "set", {{"z.tar", common}});                    // 1 is free and stays so

  for (uint64_t seed = 1; seed <= 4; ++seed) here_.AddBundle(seed);
  const ArchiveId three = here_.AddBundle(5);
  const ArchiveId four = here_.AddBundle(6);
  Publish(&here_, "set", {{"a.tar", three}, {"b.tar", common}, {"c.tar", four}});  // numbers 1, 2, 3
  const auto report = Import(&there_, Export(&here_, "set", 1));
  ASSERT_OK(report);
  EXPECT_EQ(report->generation, 3U);
  std::map<std::string, uint32_t> numbers;
  for (const ManifestRow& row : Manifest(&there_, "set", 3)) numbers[row.path] = row.number;
  EXPECT_EQ(numbers["b.tar"], 2U);  // known here: kernels may have pages of it
  EXPECT_EQ(numbers["c.tar"], 3U);  // as it was exported, and free here
  EXPECT_EQ(numbers["a.tar"], 4U);  // 1 was another's
  EXPECT_EQ(report->numbers_kept, 2U);
}

TEST_F(TransferTest, AStreamThatIsCutAnywhereIsRefusedAndPublishesNothing) {
  Publish(&here_, "set", {{"a.tar", here_.AddBundle(1)}});
  const std::string bytes = Export(&here_, "set", 1);
  for (size_t length = 0; length < bytes.size(); length += length < 64 ? 3 : 131) {
    const auto report = Import(&there_, bytes.substr(0, length));
    EXPECT_EQ(report.code(), ErrorCode::kCorrupt) << length << StatusText(report);
  }
  EXPECT_EQ(Import(&there_, bytes.substr(0, bytes.size() - 1)).code(), ErrorCode::kCorrupt);
  EXPECT_EQ(Import(&there_, bytes + "x").code(), ErrorCode::kCorrupt);
  EXPECT_THAT(*there_.root->Datasets(), ElementsAre());
}

TEST_F(TransferTest, AStreamWithAFlippedByteIsRefusedAndPublishesNothing) {
  Publish(&here_, "set", {{"a.tar", here_.AddBundle(1)}});
  const std::string bytes = Export(&here_, "set", 1);
  for (size_t offset = 0; offset < bytes.size(); offset += 37) {
    std::string flipped = bytes;
    flipped[offset] = static_cast<char>(flipped[offset] ^ 0x04);
    EXPECT_FALSE(Import(&there_, flipped).ok()) << offset;
  }
  EXPECT_THAT(*there_.root->Datasets(), ElementsAre());
}

TEST_F(TransferTest, AFileOfAnotherProgramIsNotAnExport) {
  for (const std::string& bytes :
       {std::string(), std::string(2048, '\0'), std::string("tarn-index-root\nformat 1\n")}) {
    const auto report = Import(&there_, bytes);
    EXPECT_EQ(report.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(report.status().message(), HasSubstr("no exported generation"));
  }
}

TEST_F(TransferTest, AMissingOrDamagedBundleStopsTheExportByName) {
  const ArchiveId a = here_.AddBundle(1);
  const ArchiveId b = here_.AddBundle(2);
  Publish(&here_, "set", {{"a.tar", a}, {"b.tar", b}});
  const ByteSink nowhere = [](std::string_view) { return Status::Ok(); };
  const std::string path = here_.root->BundlePath(a);
  ASSERT_OK(io::Rename(here_.root->BundlePath(b), here_.scratch / "aside"));
  auto report = ExportGeneration(*here_.root, "set", 1, nowhere);
  EXPECT_EQ(report.code(), ErrorCode::kNotFound);
  EXPECT_THAT(report.status().message(), HasSubstr(b.ToString()));
  ASSERT_OK(io::Rename(path, here_.root->BundlePath(b)));
  ASSERT_OK(io::Rename(here_.scratch / "aside", path));
  report = ExportGeneration(*here_.root, "set", 1, nowhere);
  EXPECT_EQ(report.code(), ErrorCode::kCorrupt);
}

TEST_F(TransferTest, ASinkThatFailsEndsTheExport) {
  Publish(&here_, "set", {{"a.tar", here_.AddBundle(1)}});
  const auto report = ExportGeneration(*here_.root, "set", 1,
                                       [](std::string_view) { return Status(ErrorCode::kNoSpace, "full"); });
  EXPECT_EQ(report.code(), ErrorCode::kNoSpace);
}

TEST_F(TransferTest, TheQuotaOfTheDatasetHolds) {
  Publish(&here_, "set", {{"a.tar", here_.AddBundle(1)}});
  ASSERT_OK(index::SetQuota(there_.root.get(), "set", 100));
  const std::string bytes = Export(&here_, "set", 1);
  EXPECT_EQ(Import(&there_, bytes).code(), ErrorCode::kNoSpace);
  EXPECT_THAT(*there_.root->AllGenerations("set"), ElementsAre());
  ASSERT_OK(index::SetQuota(there_.root.get(), "set", 1 << 20));
  EXPECT_OK(Import(&there_, bytes));
}

TEST_F(TransferTest, NamesThatAreNoneAreRefused) {
  Publish(&here_, "set", {{"a.tar", here_.AddBundle(1)}});
  EXPECT_EQ(Import(&there_, Export(&here_, "set", 1), "no/name").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(ExportGeneration(*here_.root, "set", 2, nullptr).code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tarn::dataset

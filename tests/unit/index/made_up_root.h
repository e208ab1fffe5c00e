// An index root with bundles and generations of made-up archives: for tests of its care.
#ifndef TARN_TESTS_UNIT_INDEX_MADE_UP_ROOT_H_
#define TARN_TESTS_UNIT_INDEX_MADE_UP_ROOT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tarn/base/timestamp.h"
#include "tarn/io/filesystem.h"
#include "tests/support/scratch.h"
#include "tests/unit/index/archives.h"

namespace tarn::index {

class MadeUpRoot {
 public:
  MadeUpRoot() {
    auto opened = IndexRoot::OpenOrCreate(path);
    EXPECT_OK(opened);
    root = std::move(*opened);
  }

  // Makes the bundle of an archive that `seed` tells from others; its names, directories and links exercise
  // every kind of row.
  ArchiveId AddBundle(uint64_t seed) {
    MadeUpArchive archive;
    archive.Directory("train/");
    archive.File("train/a.jpg", 300 + seed);
    archive.File("train/b.jpg", 0);
    archive.HardLink("train/c.jpg", "train/a.jpg");
    archive.File("deep/er/d.txt", 200'000);
    archive.File("train/b.jpg", 17);  // replaces the first
    archive.Add(tar::MemberType::kSymlink, "link").link = "train/a.jpg";
    const ArchiveId id{archive.end + 1024, Digest{seed * 0x9e3779b97f4a7c15ULL, seed}};
    archive.chunks.assign((id.size + (128 << 10) - 1) / (128 << 10), seed);
    const std::string file = scratch / ("bundle-" + std::to_string(seed) + ".sst");
    const auto facts = archive.Build(id, scratch.path(), file);
    EXPECT_OK(facts);
    EXPECT_OK(root->AddBundle(id, file));
    facts_[id] = *facts;
    return id;
  }

  // Publishes archives (made by AddBundle) as the dataset's next generation, under names that tell them apart
  // and numbers that stay theirs. `linked`: bundles are linked; else packed. `previous`: a generation whose
  // packs may be linked; 0: none.
  uint32_t Publish(const std::string& dataset, const std::vector<ArchiveId>& ids, bool linked = true,
                   uint32_t previous = 0) {
    const auto number = root->DatasetNumberOrCreate(dataset);
    EXPECT_OK(number);
    const auto before = root->AllGenerations(dataset);
    EXPECT_OK(before);
    MadeUpDataset made;
    made.rows.facts.root_uuid = root->uuid();
    made.rows.facts.dataset = dataset;
    made.rows.facts.dataset_number = *number;
    made.rows.facts.generation = before->empty() ? 1 : before->back() + 1;
    std::map<uint32_t, ArchiveId> numbered;
    for (const ArchiveId& id : ids) {
      auto [known, fresh] = numbers_.try_emplace({dataset, id}, next_[dataset] + 1);
      if (fresh) ++next_[dataset];
      numbered[known->second] = id;
    }
    for (const auto& [of, id] : numbered) {
      made.rows.facts.next_number = of;
      made.AddArchive("archive-" + std::to_string(of), id, facts_[id]);
    }
    const auto staged = root->MakeStagingDirectory("test");
    EXPECT_OK(staged);
    GenerationWriteOptions options{.pack_below_bytes = linked ? 0 : uint64_t{1} << 30,
                                   .pack_above_bundles = 0};
    if (previous != 0) options.previous = root->GenerationPath(dataset, previous);
    EXPECT_OK(WriteGeneration(*root, made.rows, *staged + "/generation", options));
    EXPECT_OK(root->PublishGeneration(dataset, made.rows.facts.generation, *staged + "/generation"));
    // The publish is over: its staging is of a dead owner.
    Reopen();
    EXPECT_OK(root->CleanStaging());
    return made.rows.facts.generation;
  }

  void Reopen() {
    root.reset();
    auto opened = IndexRoot::Open(path);
    EXPECT_OK(opened);
    root = std::move(*opened);
  }

  support::Scratch scratch;
  const std::string path = scratch / "root";
  std::unique_ptr<IndexRoot> root;

 private:
  std::map<ArchiveId, ArchiveFacts> facts_;
  std::map<std::pair<std::string, ArchiveId>, uint32_t> numbers_;
  std::map<std::string, uint32_t> next_;
};

}  // namespace tarn::index

#endif  // TARN_TESTS_UNIT_INDEX_MADE_UP_ROOT_H_

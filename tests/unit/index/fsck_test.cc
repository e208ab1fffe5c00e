#include "tarn/index/fsck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "index/sst.h"
#include "tests/unit/index/made_up_root.h"

namespace tarn::index {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Matcher;
using testing::Not;

class Collected final : public FsckListener {
 public:
  void OnProblem(const FsckProblem& problem) override { problems.push_back(problem); }
  void OnNote(const std::string& note) override { notes.push_back(note); }
  Status OnFile(const std::string& path) override {
    files.push_back(path);
    return Status::Ok();
  }
  std::string Text() const {
    std::string text;
    for (const FsckProblem& problem : problems) text += problem.ToString() + "\n";
    return text;
  }

  std::vector<FsckProblem> problems;
  std::vector<std::string> notes;
  std::vector<std::string> files;
  FsckReport report;
};

Matcher<const std::vector<FsckProblem>&> Has(const std::string& path, const std::string& what) {
  return Contains(
      AllOf(Field(&FsckProblem::path, HasSubstr(path)), Field(&FsckProblem::what, HasSubstr(what))));
}

// A root with a dataset of linked bundles and one of packed ones, two generations each.
class FsckTest : public testing::Test {
 protected:
  FsckTest() {
    for (uint64_t seed = 1; seed <= 3; ++seed) ids_.push_back(made_.AddBundle(seed));
    for (const bool linked : {true, false}) {
      made_.Publish(linked ? "linked" : "packed", {ids_[0], ids_[1]}, linked);
      made_.Publish(linked ? "linked" : "packed", {ids_[0], ids_[1], ids_[2]}, linked);
    }
  }

  Collected Check(FsckOptions options = {}) {
    Collected collected;
    auto report = CheckRoot(*made_.root, options, &collected);
    EXPECT_OK(report);
    if (report.ok()) collected.report = *report;
    return collected;
  }

  static void Flip(const std::string& path, size_t offset) {
    std::string bytes = support::Scratch::Read(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x40);
    Overwrite(path, bytes);
  }
  // In the same file, so that its other names show it too.
  static void Overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << bytes;
    ASSERT_TRUE(file.flush());
  }
  static void Swap(const std::string& a, const std::string& b) {
    std::filesystem::rename(a, a + ".aside");
    std::filesystem::rename(b, a);
    std::filesystem::rename(a + ".aside", b);
  }
  std::string Bundle(size_t i) const { return made_.root->BundlePath(ids_[i]); }
  std::string Generation(const std::string& dataset, uint32_t generation) const {
    return made_.root->GenerationPath(dataset, generation);
  }
  // Files of a generation's directory that start or end so.
  static std::vector<std::string> FilesOf(const std::string& directory, const std::string& part) {
    std::vector<std::string> files;
    for (const auto& item : std::filesystem::directory_iterator(directory)) {
      if (item.path().filename().string().find(part) != std::string::npos) files.push_back(item.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  using Rewrite = std::function<bool(const std::string& key, std::string* value)>;
  // Writes a table anew, as a writer would, with every row passed through `rewrite`; false leaves it out.
  void RewriteTable(const std::string& path, const Rewrite& rewrite) {
    const std::string changed = made_.scratch / "changed.sst";
    const auto scan = SstScan::Open(path);
    ASSERT_OK(scan);
    const auto writer = SstWriter::Create(changed);
    ASSERT_OK(writer);
    while (*(*scan)->Next()) {
      const std::string key((*scan)->key());
      std::string value((*scan)->value());
      if (rewrite(key, &value)) ASSERT_OK((*writer)->Put(key, value));
    }
    ASSERT_OK((*writer)->Finish());
    ASSERT_OK(io::Rename(changed, path));
  }
  // Rewrites the record of every row of one kind.
  template <typename Record>
  void RewriteRecords(const std::string& path, RowKind kind, const std::function<void(Record*)>& change) {
    RewriteTable(path, [&](const std::string& key, std::string* value) {
      if (static_cast<RowKind>(key[ArchiveId::kEncodedBytes]) != kind) return true;
      Record record;
      EXPECT_OK(Decode(*value, &record));
      change(&record);
      value->clear();
      Encode(record, value);
      return true;
    });
  }

  MadeUpRoot made_;
  std::vector<ArchiveId> ids_;
};

TEST_F(FsckTest, ARootAsWritersLeaveItIsClean) {
  const Collected found = Check();
  EXPECT_EQ(found.Text(), "");
  EXPECT_EQ(found.report.problems, 0U);
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_EQ(found.report.bundles, 3U);
  EXPECT_EQ(found.report.generations, 4U);
  EXPECT_GT(found.report.rows, 60U);
}

TEST_F(FsckTest, AnEmptyDirectoryThatALaterFileReplacedIsNoProblem) {
  MadeUpArchive archive;
  archive.Directory("x/");
  archive.File("x", 5);
  const ArchiveId id{archive.end + 1024, Digest{7, 8}};
  archive.chunks.assign(1, 9);
  ASSERT_OK(archive.Build(id, made_.scratch.path(), made_.scratch / "x.sst"));
  ASSERT_OK(made_.root->AddBundle(id, made_.scratch / "x.sst"));
  EXPECT_EQ(Check().Text(), "");
}

TEST_F(FsckTest, ADirectoryThatHoldsSomethingAndHasNoNameIsFound) {
  RewriteTable(Bundle(0), [](const std::string& key, std::string*) { return !key.ends_with("deep"); });
  EXPECT_THAT(Check().problems, Has(Bundle(0), "no name leads to directory"));
}

TEST_F(FsckTest, WhatACrashLeavesIsNotedAndIsNoProblem) {
  ASSERT_OK(io::MakeDirectories(made_.path + "/staging/publish-dead"));
  ASSERT_OK(io::WriteFileAtomically(made_.path + "/datasets/linked/LATEST", "1\n"));
  ASSERT_OK(io::RemoveFile(made_.path + "/datasets/packed/LATEST"));
  const Collected found = Check();
  EXPECT_EQ(found.Text(), "");
  EXPECT_THAT(found.notes, Contains(HasSubstr("publish-dead")));
  EXPECT_THAT(found.notes, Contains(HasSubstr("is behind: the newest generation is 2")));
  EXPECT_THAT(found.notes, Contains(HasSubstr("packed/LATEST' is missing")));
}

TEST_F(FsckTest, AFlippedByteAnywhereInABundleIsFoundThereAndInTheGenerationsThatLinkIt) {
  const std::string bytes = support::Scratch::Read(Bundle(0));
  for (size_t offset = 0; offset < bytes.size(); offset += offset + 60 < bytes.size() ? 13 : 5) {
    Flip(Bundle(0), offset);
    const Collected found = Check();
    EXPECT_THAT(found.problems, Contains(Field(&FsckProblem::path, Bundle(0)))) << "offset " << offset;
    EXPECT_THAT(found.problems, Has("datasets/linked/1", "is damaged")) << "offset " << offset;
    EXPECT_THAT(found.problems, Not(Has("datasets/packed", ""))) << "offset " << offset;
    Overwrite(Bundle(0), bytes);
  }
  EXPECT_EQ(Check().Text(), "");
}

TEST_F(FsckTest, AFlippedByteInATableOfAGenerationsOwnIsFound) {
  for (const std::string& path : FilesOf(Generation("packed", 2), ".sst")) {
    const std::string bytes = support::Scratch::Read(path);
    for (size_t offset = 0; offset < bytes.size(); offset += 61) {
      Flip(path, offset);
      EXPECT_THAT(Check().problems, Has("datasets/packed/2", "")) << path << " offset " << offset;
      Overwrite(path, bytes);
    }
  }
}

TEST_F(FsckTest, ADamagedManifestOfTheStoreIsFound) {
  for (const std::string& path : FilesOf(Generation("linked", 2), "MANIFEST")) {
    const std::string bytes = support::Scratch::Read(path);
    for (size_t offset = 0; offset < bytes.size(); offset += 37) {
      Flip(path, offset);
      EXPECT_THAT(Check().problems, Has("datasets/linked/2", "")) << path << " offset " << offset;
      Overwrite(path, bytes);
    }
    for (size_t length = 0; length < bytes.size(); length += 64) {
      Overwrite(path, bytes.substr(0, length));
      EXPECT_THAT(Check().problems, Has("datasets/linked/2", "")) << path << " length " << length;
    }
    Overwrite(path, bytes);
  }
}

TEST_F(FsckTest, ATruncatedBundleIsFound) {
  const std::string bytes = support::Scratch::Read(Bundle(1));
  for (const size_t length : {size_t{0}, size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
    Overwrite(Bundle(1), bytes.substr(0, length));
    EXPECT_THAT(Check().problems, Has(Bundle(1), "cannot be read")) << length;
  }
}

TEST_F(FsckTest, SwappedBundlesAreFoundByTheirNames) {
  Swap(Bundle(0), Bundle(1));
  const Collected found = Check();
  for (const size_t i : {0, 1}) {
    EXPECT_THAT(found.problems, Contains(AllOf(Field(&FsckProblem::path, Bundle(i)),
                                               Field(&FsckProblem::what, HasSubstr("not that of its name")),
                                               Field(&FsckProblem::expected, ids_[i].ToString()),
                                               Field(&FsckProblem::found, ids_[1 - i].ToString()))));
  }
}

TEST_F(FsckTest, SwappedTablesOfAGenerationAreFound) {
  const auto tables = FilesOf(Generation("linked", 2), ".sst");
  ASSERT_GE(tables.size(), 3U);
  Swap(tables[0], tables[1]);
  EXPECT_THAT(Check().problems,
              AnyOf(Has("datasets/linked/2", "not the table that the generation was built of"),
                    Has("datasets/linked/2", "cannot be opened")));
}

TEST_F(FsckTest, EveryFileOfAGenerationIsMissedWhenItIsGone) {
  for (const std::string& dataset : {std::string("linked"), std::string("packed")}) {
    for (const std::string& path : FilesOf(Generation(dataset, 1), "")) {
      if (path.ends_with("IDENTITY")) continue;  // nobody reads it
      std::filesystem::rename(path, made_.scratch / "aside");
      EXPECT_THAT(Check().problems, Has("datasets/" + dataset + "/1", "")) << path;
      std::filesystem::rename(made_.scratch / "aside", path);
    }
  }
  EXPECT_EQ(Check().Text(), "");
}

TEST_F(FsckTest, AMissingBundleIsNamedWithTheFileAndTheGenerationThatNeedIt) {
  ASSERT_OK(io::RemoveFile(Bundle(2)));
  const Collected found = Check();
  EXPECT_THAT(found.problems, Has(Bundle(2), "'archive-3.tar' in linked@2 is missing"));
  EXPECT_THAT(found.problems, Has(Bundle(2), "'archive-3.tar' in packed@2 is missing"));
  EXPECT_THAT(found.problems, Contains(Field(&FsckProblem::help, HasSubstr("publish the dataset again"))));
}

TEST_F(FsckTest, AFileThatIsNoBundleIsNamed) {
  ASSERT_OK(io::MakeDirectories(made_.path + "/bundles/00"));
  ASSERT_OK(io::WriteFileAtomically(made_.path + "/bundles/00/notes.txt", "x"));
  ASSERT_OK(io::CopyFile(Bundle(0), made_.path + "/bundles/00/" + ids_[0].ToString() + ".sst"));
  const Collected found = Check();
  EXPECT_THAT(found.problems, Has("bundles/00/notes.txt", "no bundle has this name"));
  EXPECT_THAT(found.problems, Has("bundles/00/" + ids_[0].ToString(), "no bundle has this name"));
}

// ---- Rows that decode and contradict each other

TEST_F(FsckTest, RowsOfABundleThatContradictEachOtherAreFoundWithTheirKey) {
  const auto expect_after = [&](const std::string& what,
                                const std::function<void(const std::string&)>& damage) {
    const std::string bytes = support::Scratch::Read(Bundle(0));
    damage(Bundle(0));
    const Collected found = Check();
    EXPECT_THAT(found.problems, Has(Bundle(0), what)) << found.Text();
    EXPECT_THAT(found.problems, Contains(Field(&FsckProblem::key, Not(IsEmpty()))));
    ASSERT_OK(io::WriteFileAtomically(Bundle(0), bytes));
  };
  const auto drop = [&](RowKind kind) {
    return [this, kind](const std::string& path) {
      bool dropped = false;
      RewriteTable(path, [&](const std::string& key, std::string*) {
        if (dropped || static_cast<RowKind>(key[ArchiveId::kEncodedBytes]) != kind) return true;
        dropped = true;
        return false;
      });
      EXPECT_TRUE(dropped);
    };
  };
  expect_after("has no facts", drop(RowKind::kArchiveFacts));
  expect_after("wrong number of chunk checksums", drop(RowKind::kChunkChecksums));
  expect_after("wrong number of names", drop(RowKind::kDentry));
  expect_after("rows of members are missing", drop(RowKind::kMember));
  expect_after("rows of directories are missing", drop(RowKind::kDirectory));
  expect_after("counts its names wrongly", [&](const std::string& path) {
    RewriteRecords<DentryRecord>(path, RowKind::kDentry, [](DentryRecord* dentry) {
      if (dentry->type == tar::MemberType::kRegular) dentry->target_ordinal = 0;
    });
  });
  expect_after("of another type than its name says", [&](const std::string& path) {
    RewriteRecords<DentryRecord>(path, RowKind::kDentry, [](DentryRecord* dentry) {
      if (dentry->type == tar::MemberType::kSymlink) dentry->type = tar::MemberType::kFifo;
    });
  });
  expect_after("a name elsewhere leads to it", [&](const std::string& path) {
    RewriteRecords<DirectoryRecord>(path, RowKind::kDirectory, [](DirectoryRecord* directory) {
      if (directory->name == "er") directory->name = "re";
    });
  });
  expect_after("wrong number of names", [&](const std::string& path) {
    RewriteRecords<DirectoryRecord>(path, RowKind::kDirectory,
                                    [](DirectoryRecord* directory) { ++directory->entries; });
  });
  expect_after("wrong number of directories", [&](const std::string& path) {
    RewriteRecords<DirectoryRecord>(path, RowKind::kDirectory,
                                    [](DirectoryRecord* directory) { ++directory->subdirectories; });
  });
  expect_after("wrong number of members", [&](const std::string& path) {
    RewriteRecords<ArchiveFacts>(path, RowKind::kArchiveFacts, [](ArchiveFacts* facts) { ++facts->members; });
  });
  expect_after("wrong number of bytes of its members", [&](const std::string& path) {
    RewriteRecords<ArchiveFacts>(path, RowKind::kArchiveFacts,
                                 [](ArchiveFacts* facts) { ++facts->logical_bytes; });
  });
  expect_after("bytes that no writer makes", [&](const std::string& path) {
    RewriteTable(path, [](const std::string& key, std::string* value) {
      if (static_cast<RowKind>(key[ArchiveId::kEncodedBytes]) == RowKind::kMember) *value += '\0';
      return true;
    });
  });
  EXPECT_EQ(Check().Text(), "");
}

TEST_F(FsckTest, BytesBehindTheEndOfTheArchiveAreFound) {
  MemberDefaults defaults;
  RewriteTable(Bundle(0), [&](const std::string& key, std::string* value) {
    const auto kind = static_cast<RowKind>(key[ArchiveId::kEncodedBytes]);
    if (kind == RowKind::kArchiveFacts) {
      ArchiveFacts facts;
      EXPECT_OK(Decode(*value, &facts));
      defaults = facts.defaults;
    } else if (kind == RowKind::kMember) {
      MemberRecord member;
      EXPECT_OK(Decode(*value, defaults, &member));
      if (!member.extents.empty()) member.extents[0].archive_offset += 1'000'000;
      value->clear();
      Encode(member, defaults, value);
    }
    return true;
  });
  EXPECT_THAT(Check().problems, Has(Bundle(0), "lie behind the archive's end"));
}

TEST_F(FsckTest, AGenerationWhoseRowsContradictEachOtherIsFound) {
  // Its own rows are in the last table.
  const std::string own = FilesOf(Generation("linked", 2), ".sst").back();
  const std::string bytes = support::Scratch::Read(own);
  const auto expect_after = [&](const std::string& what,
                                const std::function<void(const std::string&)>& damage) {
    damage(own);
    const Collected found = Check();
    EXPECT_THAT(found.problems, Has("datasets/linked/2", what)) << found.Text();
    ASSERT_OK(io::WriteFileAtomically(own, bytes));
  };
  using Facts = GenerationFacts;
  const auto facts = [&](const std::function<void(Facts*)>& change) {
    return [&, change](const std::string& path) {
      RewriteRecords<Facts>(path, RowKind::kGenerationFacts, change);
    };
  };
  expect_after("wrong root UUID", facts([](Facts* f) { f->root_uuid[0] ^= 1; }));
  expect_after("wrong dataset", facts([](Facts* f) { f->dataset = "other"; }));
  expect_after("wrong dataset number", facts([](Facts* f) { ++f->dataset_number; }));
  expect_after("wrong generation", facts([](Facts* f) { ++f->generation; }));
  expect_after("wrong number of archives", facts([](Facts* f) { ++f->archives; }));
  expect_after("wrong number of members", facts([](Facts* f) { ++f->members; }));
  expect_after("wrong number of bytes", facts([](Facts* f) { ++f->bytes; }));
  expect_after("wrong number of directories", facts([](Facts* f) { ++f->directories; }));
  expect_after("a number that was not dealt out", facts([](Facts* f) { f->next_number = 2; }));
  const auto manifest = [&](const std::function<void(ManifestRow*)>& change) {
    return [&, change](const std::string& path) {
      RewriteRecords<ManifestRow>(path, RowKind::kManifest, change);
    };
  };
  expect_after("stands in the manifest twice", manifest([](ManifestRow* row) { row->path = "a.tar"; }));
  expect_after("wrong number of members", manifest([](ManifestRow* row) { ++row->members; }));
  expect_after("are missing", manifest([](ManifestRow* row) { ++row->id.size; }));
  expect_after("which is shown elsewhere", manifest([](ManifestRow* row) { row->shown_name += "x"; }));
  expect_after("are not those of archive number", manifest([](ManifestRow* row) { ++row->first_directory; }));
  expect_after("which no path of the manifest has", [&](const std::string& path) {
    RewriteRecords<ManifestRow>(path, RowKind::kManifest, [&](ManifestRow* row) { row->id = ids_[0]; });
  });
  expect_after("has no name in the tree", [&](const std::string& path) {
    RewriteRecords<TreeDentryRecord>(path, RowKind::kTreeDentry, [](TreeDentryRecord* d) { d->number = 1; });
  });
  expect_after("wrong number of names", [&](const std::string& path) {
    RewriteRecords<TreeDirectoryRecord>(path, RowKind::kTreeDirectory,
                                        [](TreeDirectoryRecord* directory) { ++directory->entries; });
  });
  expect_after("have a gap", [&](const std::string& path) {
    RewriteRecords<DirectoryRangeRecord>(path, RowKind::kDirectoryRange,
                                         [](DirectoryRangeRecord* range) { ++range->directories; });
  });
  EXPECT_EQ(Check().Text(), "");
}

TEST_F(FsckTest, ADigestThatIsNotThatOfTheManifestIsFound) {
  FsckOptions options;
  options.dataset_digest = [](const std::vector<ManifestRow>& manifest, std::string_view) {
    return manifest.size() == 3 ? Digest{1, 2} : Digest{0x0123456789abcdef, 0xfedcba9876543210};
  };
  const Collected found = Check(options);
  EXPECT_THAT(found.problems, Has("datasets/linked/2", "digest is not that of the manifest"));
  EXPECT_THAT(found.problems, Not(Has("datasets/linked/1", "")));
}

TEST_F(FsckTest, ANumberThatStandsForTwoContentsIsFound) {
  const ArchiveId other = made_.AddBundle(9);
  const std::string own = FilesOf(Generation("packed", 1), ".sst").back();
  RewriteRecords<ManifestRow>(own, RowKind::kManifest, [&](ManifestRow* row) {
    if (row->number == 1) row->id = other;
  });
  EXPECT_THAT(Check().problems,
              Has("datasets/packed/2", "number 1 of dataset 'packed' stands for something else"));
}

// ---- What stands beside generations

TEST_F(FsckTest, DamagedTextFilesOfADatasetAreFound) {
  const auto expect_after = [&](const std::string& name, const std::string& text, const std::string& what) {
    const std::string path = made_.path + "/" + name;
    const bool was_there = io::Exists(path);
    const std::string before = was_there ? support::Scratch::Read(path) : "";
    made_.scratch.Write("root/" + name, text);
    const Collected found = Check();
    EXPECT_THAT(found.problems, Has("", what)) << name << "\n" << found.Text();
    if (was_there) {
      made_.scratch.Write("root/" + name, before);
    } else {
      std::filesystem::remove(path);
    }
  };
  expect_after("datasets/linked/LATEST", "9\n", "names no generation");
  expect_after("datasets/linked/LATEST", "two\n", "names no generation");
  expect_after("datasets/linked/number", "x\n", "should hold a number");
  expect_after("datasets/linked/number", "2\n", "has the number of 'linked'");
  expect_after("datasets/linked/number", "7\n", "number is not taken");
  expect_after("numbers/1/dataset", "stranger\n", "is that of another");
  expect_after("datasets/linked/quota", "much\n", "number of bytes");
  expect_after("datasets/linked/retired/1", "once\n", "retired/1");
  std::filesystem::remove(made_.path + "/datasets/linked/retired");
  EXPECT_EQ(Check().Text(), "");
}

TEST_F(FsckTest, ABadHoldIsFound) {
  made_.scratch.Write("root/holds/x.json", "{");
  EXPECT_THAT(Check({.dataset_digest = nullptr, .holds_directory = made_.path + "/holds"}).problems,
              Has("holds", "x.json"));
}

TEST_F(FsckTest, ManyProblemsOfOneFileAreCountedAndAFewTold) {
  RewriteRecords<DirectoryRecord>(Bundle(0), RowKind::kDirectory, [](DirectoryRecord* directory) {
    ++directory->entries;
    ++directory->subdirectories;
  });
  FsckOptions options;
  options.problems_per_file = 2;
  const Collected found = Check(options);
  EXPECT_EQ(std::count_if(found.problems.begin(), found.problems.end(),
                          [&](const FsckProblem& problem) { return problem.path == Bundle(0); }),
            2);
  EXPECT_GT(found.report.problems, 4U);
  EXPECT_THAT(found.notes, Contains(HasSubstr("more problems")));
}

}  // namespace
}  // namespace tarn::index

#include "tarn/index/index_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tarn/index/generation_reader.h"
#include "tarn/io/file_facts.h"
#include "tests/unit/index/made_up_root.h"

namespace tarn::index {
namespace {

using testing::HasSubstr;

constexpr uint64_t kPlenty = uint64_t{1} << 30;

class IndexCacheTest : public ::testing::Test {
 protected:
  std::unique_ptr<IndexCache> Opened(uint64_t max_bytes = kPlenty) {
    auto cache = IndexCache::Open(directory, *made.root, max_bytes);
    EXPECT_OK(cache);
    return std::move(cache).value();
  }
  std::string InRoot(uint32_t number) const { return made.root->GenerationPath("set", number); }
  std::string Cached(uint32_t number) const {
    return directory + "/" + made.root->uuid() + "/datasets/set/" + std::to_string(number);
  }
  // Files below a directory by name, with their facts.
  static std::map<std::string, io::FileFacts> Files(const std::string& path) {
    std::map<std::string, io::FileFacts> files;
    EXPECT_OK(io::WalkFiles(path, [&](const std::string& file, const io::FileFacts& facts) {
      files[file.substr(path.size() + 1)] = facts;
      return Status::Ok();
    }));
    return files;
  }
  static uint64_t Bytes(const std::string& path) {
    uint64_t bytes = 0;
    for (const auto& [name, facts] : Files(path)) bytes += facts.bytes;
    return bytes;
  }
  static std::string FirstTable(const std::string& path) {
    for (const auto& [name, facts] : Files(path)) {
      if (name.ends_with(".sst")) return path + "/" + name;
    }
    ADD_FAILURE() << path << " has no table";
    return "";
  }
  static void Damage(const std::string& path, uint64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char other = static_cast<char>(file.get() ^ 0x55);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(other);
    ASSERT_TRUE(file.good());
  }
  // Says that a generation was last used so many hours ago.
  void Age(uint32_t number, int hours) const {
    std::filesystem::last_write_time(
        Cached(number) + "/IN-USE",
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  MadeUpRoot made;
  const std::string directory = made.scratch / "cache";
};

TEST_F(IndexCacheTest, ACopyIsWholeAndOpensWithoutTheRoot) {
  const uint32_t number = made.Publish("set", {made.AddBundle(1), made.AddBundle(2)});
  const auto cache = Opened();
  EXPECT_EQ(cache->Find("set", number), std::nullopt);
  const auto path = cache->Fetch(InRoot(number), "set", number);
  ASSERT_OK(path);
  EXPECT_EQ(*path, Cached(number));
  const auto original = Files(InRoot(number));
  const auto copied = Files(*path);
  EXPECT_EQ(copied.size(), original.size() + 1) << "and IN-USE";
  for (const auto& [name, facts] : original) {
    ASSERT_TRUE(copied.contains(name)) << name;
    EXPECT_EQ(support::Scratch::Read(*path + "/" + name),
              support::Scratch::Read(InRoot(number) + "/" + name));
    EXPECT_NE(copied.at(name).inode, facts.inode) << name;
  }
  ASSERT_OK(io::Rename(made.path, made.path + ".away"));
  const auto reader = GenerationReader::Open(*path);
  ASSERT_OK(reader);
  EXPECT_OK((*reader)->CheckWhole());
  EXPECT_EQ(cache->totals().generations, 1u);
  EXPECT_GE(cache->totals().bytes, Bytes(*path));
}

TEST_F(IndexCacheTest, NobodyElseMayLookIn) {
  const auto cache = Opened();
  for (const std::string& path : {directory, cache->path()}) {
    struct stat found {};
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0700u) << path;
  }
}

TEST_F(IndexCacheTest, TheSecondFetchReadsNothingOfTheRoot) {
  const uint32_t number = made.Publish("set", {made.AddBundle(1)});
  ASSERT_OK(Opened()->Fetch(InRoot(number), "set", number));
  const auto before = Files(Cached(number));
  const auto cache = Opened();
  ASSERT_OK(io::Rename(made.path, made.path + ".away"));
  ASSERT_OK(cache->Fetch(InRoot(number), "set", number));
  for (const auto& [name, facts] : Files(Cached(number)))
    EXPECT_EQ(facts.inode, before.at(name).inode) << name;
}

TEST_F(IndexCacheTest, TablesOfSeveralGenerationsAreStoredOnce) {
  const ArchiveId kept = made.AddBundle(1);
  const uint32_t first = made.Publish("set", {kept});
  const uint32_t second = made.Publish("set", {kept, made.AddBundle(2)});
  const auto cache = Opened();
  ASSERT_OK(cache->Fetch(InRoot(first), "set", first));
  const auto missing = cache->MissingOf(InRoot(second));
  ASSERT_OK(missing);
  EXPECT_EQ(missing->files, Files(InRoot(second)).size() - 1);
  ASSERT_OK(cache->Fetch(InRoot(second), "set", second));

  // What is one file in the root is one in the cache, and nothing else is.
  const auto first_root = Files(InRoot(first));
  const auto second_root = Files(InRoot(second));
  const auto first_copy = Files(Cached(first));
  const auto second_copy = Files(Cached(second));
  int shared = 0;
  for (const auto& [name, facts] : first_root) {
    for (const auto& [other, other_facts] : second_root) {
      const bool same = facts.inode == other_facts.inode;
      EXPECT_EQ(first_copy.at(name).inode == second_copy.at(other).inode, same) << name << " and " << other;
      shared += same ? 1 : 0;
    }
  }
  EXPECT_EQ(shared, 1);
  EXPECT_LT(cache->totals().bytes, Bytes(Cached(first)) + Bytes(Cached(second)));
}

TEST_F(IndexCacheTest, ATableWithTheNumbersOfAnotherIsCopied) {
  const uint32_t first = made.Publish("set", {made.AddBundle(1)});
  const uint32_t second = made.Publish("set", {made.AddBundle(2)});
  const auto cache = Opened();
  ASSERT_OK(cache->Fetch(InRoot(first), "set", first));
  // An inode that was given away again: the name of what is cached says the new file, its bytes are the old
  // one's.
  const std::string table = FirstTable(InRoot(second));
  const auto facts = io::LookAt(table);
  ASSERT_OK(facts);
  const std::string pooled = cache->path() + "/files/" + std::to_string(facts->inode) + "-" +
                             std::to_string(facts->bytes) + "-" + std::to_string(facts->mtime_ns) + ".sst";
  ASSERT_OK(io::WriteFileAtomically(pooled, std::string(facts->bytes, 'x')));
  ASSERT_OK(cache->Fetch(InRoot(second), "set", second));
  EXPECT_EQ(support::Scratch::Read(Cached(second) + table.substr(InRoot(second).size())),
            support::Scratch::Read(table));
}

TEST_F(IndexCacheTest, ACopyThatWasInterruptedIsNotUsedAndTheNextStartRemovesIt) {
  const uint32_t number = made.Publish("set", {made.AddBundle(1)});
  const auto cache = Opened();
  const std::string staged = cache->path() + "/staging/set@1";
  ASSERT_OK(io::MakeDirectories(staged));
  ASSERT_OK(io::CopyFile(InRoot(number) + "/CURRENT", staged + "/CURRENT"));
  EXPECT_EQ(cache->Find("set", number), std::nullopt);
  const auto again = Opened();
  EXPECT_FALSE(io::Exists(staged));
  EXPECT_OK(again->Fetch(InRoot(number), "set", number));
}

TEST_F(IndexCacheTest, ACopyThatIsUnderWayElsewhereIsLeftAlone) {
  const uint32_t number = made.Publish("set", {made.AddBundle(1)});
  const auto cache = Opened();
  const auto copying = io::FileLock::TryAcquire(cache->path() + "/copying");
  ASSERT_OK(copying);
  ASSERT_TRUE(copying->has_value());
  ASSERT_OK(io::MakeDirectories(cache->path() + "/staging/other@1"));
  EXPECT_EQ(Opened()->Copy(InRoot(number), "set", number).code(), ErrorCode::kBusy);
  EXPECT_TRUE(io::Exists(cache->path() + "/staging/other@1"));
}

TEST_F(IndexCacheTest, ACopyThatIsCancelledLeavesNothing) {
  const uint32_t number = made.Publish("set", {made.AddBundle(1)});
  const auto cache = Opened();
  cache->Cancel();
  EXPECT_EQ(cache->Copy(InRoot(number), "set", number).code(), ErrorCode::kCancelled);
  EXPECT_TRUE(Files(cache->path() + "/staging").empty());
  EXPECT_EQ(cache->Find("set", number), std::nullopt);
}

TEST_F(IndexCacheTest, ADamagedTableOfTheRootIsRefused) {
  const uint32_t number = made.Publish("set", {made.AddBundle(1)});
  const std::string table = FirstTable(InRoot(number));
  Damage(table, 100);
  const auto cache = Opened();
  const Status status = cache->Copy(InRoot(number), "set", number);
  EXPECT_EQ(status.code(), ErrorCode::kCorrupt) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(table));
  EXPECT_FALSE(io::Exists(Cached(number)));
  EXPECT_TRUE(Files(cache->path() + "/files").empty());
  EXPECT_TRUE(Files(cache->path() + "/staging").empty());
}

TEST_F(IndexCacheTest, AGenerationThatIsNotTheOneAskedForIsRefused) {
  const uint32_t number = made.Publish("set", {made.AddBundle(1)});
  const auto cache = Opened();
  const Status status = cache->Copy(InRoot(number), "set", number + 6);
  EXPECT_EQ(status.code(), ErrorCode::kCorrupt) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("set@7"));
  EXPECT_FALSE(io::Exists(Cached(number + 6)));
}

TEST_F(IndexCacheTest, WhatWasNotUsedForLongestMakesRoom) {
  std::vector<uint32_t> numbers;
  for (uint64_t seed = 1; seed <= 4; ++seed) numbers.push_back(made.Publish("set", {made.AddBundle(seed)}));
  const uint64_t each = Bytes(InRoot(1));
  const uint64_t most = 3 * each + each / 2;
  for (const uint32_t number : {1U, 2U, 3U}) ASSERT_OK(Opened(most)->Fetch(InRoot(number), "set", number));
  Age(1, 1);
  Age(2, 3);
  Age(3, 2);
  const auto cache = Opened(most);
  ASSERT_OK(cache->Fetch(InRoot(4), "set", 4));
  EXPECT_TRUE(io::Exists(Cached(1)));
  EXPECT_FALSE(io::Exists(Cached(2)));
  EXPECT_TRUE(io::Exists(Cached(3)));
  EXPECT_LE(Bytes(Cached(1)) + Bytes(Cached(3)) + Bytes(Cached(4)), most);
  EXPECT_LE(cache->totals().bytes, most);
  EXPECT_EQ(cache->totals().generations, 3u);
  // Its tables are gone, too.
  uint64_t tables = 0;
  for (const auto& [name, facts] : Files(cache->path() + "/files")) {
    EXPECT_EQ(facts.links, 2u) << name;
    ++tables;
  }
  EXPECT_EQ(tables, 6u) << "a bundle and a generation's own rows, three times";
}

TEST_F(IndexCacheTest, WhatAnotherServerReadsStays) {
  for (uint64_t seed = 1; seed <= 3; ++seed) made.Publish("set", {made.AddBundle(seed)});
  const uint64_t most = 2 * Bytes(InRoot(1)) + Bytes(InRoot(1)) / 2;
  const auto reading = Opened(most);
  ASSERT_OK(reading->Fetch(InRoot(1), "set", 1));
  Age(1, 9);
  ASSERT_OK(Opened(most)->Copy(InRoot(2), "set", 2));
  const auto cache = Opened(most);
  ASSERT_OK(cache->Fetch(InRoot(3), "set", 3));
  EXPECT_TRUE(io::Exists(Cached(1))) << "it is the oldest, and in use";
  EXPECT_FALSE(io::Exists(Cached(2)));
  // With all in use, nothing more fits, and nothing is taken away.
  const Status status = cache->Copy(InRoot(2), "set", 2);
  EXPECT_EQ(status.code(), ErrorCode::kNoSpace) << status.ToString();
  EXPECT_TRUE(io::Exists(Cached(1)));
  EXPECT_TRUE(io::Exists(Cached(3)));
}

TEST_F(IndexCacheTest, WhatIsLargerThanTheCacheIsNotBegun) {
  const uint32_t first = made.Publish("set", {made.AddBundle(1)});
  const uint32_t large = made.Publish("set", {made.AddBundle(2), made.AddBundle(3), made.AddBundle(4)});
  const auto cache = Opened(Bytes(InRoot(large)) - 1);
  ASSERT_OK(cache->Copy(InRoot(first), "set", first));
  const Status status = cache->Copy(InRoot(large), "set", large);
  EXPECT_EQ(status.code(), ErrorCode::kNoSpace) << status.ToString();
  EXPECT_THAT(status.ToString(), HasSubstr("--index-cache-size"));
  EXPECT_TRUE(io::Exists(Cached(first))) << "nothing makes room for what cannot fit";
}

TEST_F(IndexCacheTest, AFileInThePlaceOfTheDirectoryIsSaid) {
  made.Publish("set", {made.AddBundle(1)});
  ASSERT_OK(io::WriteFileAtomically(directory, "here"));
  const auto cache = IndexCache::Open(directory, *made.root, kPlenty);
  ASSERT_FALSE(cache.ok());
  EXPECT_THAT(cache.status().message(), HasSubstr(directory));
  EXPECT_EQ(support::Scratch::Read(directory), "here");
}

TEST_F(IndexCacheTest, AnythingInThePlaceOfTheStagingFailsTheCopyAlone) {
  const uint32_t number = made.Publish("set", {made.AddBundle(1)});
  const auto cache = Opened();
  ASSERT_OK(io::RemoveTree(cache->path() + "/staging"));
  ASSERT_OK(io::WriteFileAtomically(cache->path() + "/staging", "here"));
  EXPECT_FALSE(cache->Copy(InRoot(number), "set", number).ok());
  EXPECT_FALSE(io::Exists(Cached(number)));
}

TEST_F(IndexCacheTest, ADamagedCopyIsDiscardedWithTheTablesThatItShares) {
  const ArchiveId kept = made.AddBundle(1);
  const uint32_t first = made.Publish("set", {kept});
  const uint32_t second = made.Publish("set", {kept, made.AddBundle(2)});
  const auto cache = Opened();
  ASSERT_OK(cache->Copy(InRoot(first), "set", first));
  ASSERT_OK(cache->Fetch(InRoot(second), "set", second));
  for (const auto& [name, facts] : Files(Cached(second))) {
    if (name.ends_with(".sst")) Damage(Cached(second) + "/" + name, 100);
  }
  ASSERT_OK(cache->Discard("set", second));
  EXPECT_EQ(cache->Find("set", second), std::nullopt);
  ASSERT_OK(cache->Fetch(InRoot(second), "set", second));
  for (const auto& [name, facts] : Files(InRoot(second))) {
    EXPECT_EQ(support::Scratch::Read(Cached(second) + "/" + name),
              support::Scratch::Read(InRoot(second) + "/" + name))
        << name;
  }
}

TEST_F(IndexCacheTest, WithoutTheRootItIsFoundByTheRootsPathAndReadAsOne) {
  const uint32_t number = made.Publish("set", {made.AddBundle(1)});
  ASSERT_OK(Opened()->Copy(InRoot(number), "set", number));
  ASSERT_OK(io::Rename(made.path, made.path + ".away"));
  const auto cache = IndexCache::OpenWithoutRoot(directory, made.path, kPlenty);
  ASSERT_OK(cache);
  EXPECT_EQ((*cache)->Find("set", number), Cached(number));
  const auto root = IndexRoot::Open((*cache)->path());
  ASSERT_OK(root);
  EXPECT_EQ((*root)->uuid(), made.root->uuid());
  EXPECT_EQ((*root)->format_version(), made.root->format_version());
  EXPECT_THAT(*(*root)->Generations("set"), testing::ElementsAre(number));
  EXPECT_EQ(*(*root)->DatasetNumber("set"), 1u);
  EXPECT_EQ(IndexCache::OpenWithoutRoot(directory, made.path + ".other", kPlenty).code(),
            ErrorCode::kNotFound);
}

TEST_F(IndexCacheTest, TheCacheOfAnotherRootIsLeftAlone) {
  const uint32_t number = made.Publish("set", {made.AddBundle(1)});
  ASSERT_OK(Opened()->Copy(InRoot(number), "set", number));
  MadeUpRoot other;
  const uint32_t others = other.Publish("set", {other.AddBundle(2)});
  const uint64_t most = Bytes(other.root->GenerationPath("set", others)) + 1000;
  const auto cache = IndexCache::Open(directory, *other.root, most);
  ASSERT_OK(cache);
  ASSERT_OK((*cache)->Fetch(other.root->GenerationPath("set", others), "set", others));
  EXPECT_TRUE(io::Exists(Cached(number)));
  EXPECT_EQ((*cache)->totals().generations, 1u);
}

}  // namespace
}  // namespace tarn::index

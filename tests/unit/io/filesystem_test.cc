#include "tarn/io/filesystem.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/support/scratch.h"

namespace tarn::io {
namespace {

class FilesystemTest : public ::testing::Test {
 protected:
  std::vector<std::string> Names(std::string_view directory = "") {
    Result<std::vector<std::string>> names = ListDirectory(JoinPath(scratch_.path(), directory));
    EXPECT_TRUE(names.ok()) << names.status().ToString();
    return names.ok() ? *names : std::vector<std::string>();
  }

  const support::Scratch scratch_;
};

TEST_F(FilesystemTest, ReadFileGivesEveryByte) {
  const std::string bytes(10'000, '\xfe');
  EXPECT_EQ(*ReadFile(scratch_.Write("a", bytes)), bytes);
  EXPECT_EQ(*ReadFile(scratch_.Write("empty", "")), "");
}

TEST_F(FilesystemTest, ReadFileRefusesWhatIsTooLarge) {
  const std::string path = scratch_.Write("a", std::string(5000, 'x'));
  EXPECT_TRUE(ReadFile(path, 5000).ok());
  EXPECT_EQ(ReadFile(path, 4999).code(), ErrorCode::kUnsupported);
  EXPECT_EQ(ReadFile(scratch_ / "gone").code(), ErrorCode::kNotFound);
}

TEST_F(FilesystemTest, WriteFileAtomicallyReplacesAndLeavesNothingBeside) {
  const std::string path = scratch_ / "a";
  ASSERT_TRUE(WriteFileAtomically(path, "one").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "two").ok());
  EXPECT_EQ(support::Scratch::Read(path), "two");
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
}

TEST_F(FilesystemTest, AFailedAtomicWriteLeavesNothingBeside) {
  ASSERT_TRUE(MakeDirectories(scratch_ / "target/full").ok());
  EXPECT_FALSE(WriteFileAtomically(scratch_ / "target", "x").ok());
  EXPECT_EQ(Names(), std::vector<std::string>{"target"});
}

TEST_F(FilesystemTest, AReaderSeesTheOldOrTheNewFileNeverAMixture) {
  const std::string path = scratch_ / "a";
  const std::string old_contents(100'000, 'o');
  const std::string new_contents(200'000, 'n');
  ASSERT_TRUE(WriteFileAtomically(path, old_contents).ok());
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(WriteFileAtomically(path, i % 2 == 0 ? new_contents : old_contents).ok());
    }
    done = true;
  });
  while (!done) {
    const Result<std::string> seen = ReadFile(path);
    EXPECT_TRUE(seen.ok() && (*seen == old_contents || *seen == new_contents));
  }
  writer.join();
}

TEST_F(FilesystemTest, ExactlyOneOfSeveralCreatorsWins) {
  const std::string path = scratch_ / "a";
  std::atomic<int> won = 0;
  std::vector<std::thread> creators;
  for (int i = 0; i < 8; ++i) {
    creators.emplace_back([&, i] {
      const Status status = CreateFileAtomically(path, std::to_string(i));
      if (status.ok()) {
        ++won;
      } else {
        EXPECT_EQ(status.code(), ErrorCode::kAlreadyExists);
      }
    });
  }
  for (std::thread& creator : creators) creator.join();
  EXPECT_EQ(won, 1);
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
}

TEST_F(FilesystemTest, MakeDirectoryIsExclusiveAndMakeDirectoriesIsNot) {
  EXPECT_TRUE(MakeDirectory(scratch_ / "a").ok());
  EXPECT_EQ(MakeDirectory(scratch_ / "a").code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(MakeDirectories(scratch_ / "a/b/c").ok());
  EXPECT_TRUE(MakeDirectories(scratch_ / "a/b/c").ok());
  EXPECT_TRUE(IsDirectory(scratch_ / "a/b/c"));
  scratch_.Write("file", "");
  EXPECT_EQ(MakeDirectories(scratch_ / "file").code(), ErrorCode::kAlreadyExists);
}

TEST_F(FilesystemTest, RenameNoReplaceLeavesBothAloneWhenTheTargetExists) {
  const std::string from = scratch_.Write("from", "new");
  const std::string to = scratch_.Write("to", "old");
  EXPECT_EQ(RenameNoReplace(from, to).code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(support::Scratch::Read(from), "new");
  EXPECT_EQ(support::Scratch::Read(to), "old");
  ASSERT_TRUE(RenameNoReplace(from, scratch_ / "free").ok());
  EXPECT_EQ(support::Scratch::Read(scratch_ / "free"), "new");
}

TEST_F(FilesystemTest, RenameNoReplaceMovesADirectoryOnlyToAFreeName) {
  scratch_.Write("from/file", "x");
  ASSERT_TRUE(MakeDirectory(scratch_ / "empty").ok());
  EXPECT_EQ(RenameNoReplace(scratch_ / "from", scratch_ / "empty").code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(RenameNoReplace(scratch_ / "from", scratch_ / "to").ok());
  EXPECT_TRUE(Exists(scratch_ / "to/file"));
}

TEST_F(FilesystemTest, HardLinkSharesTheFileAndRefusesATakenName) {
  const std::string from = scratch_.Write("from", "bytes");
  ASSERT_TRUE(HardLink(from, scratch_ / "to").ok());
  struct stat found {};
  ASSERT_EQ(::stat(from.c_str(), &found), 0);
  EXPECT_EQ(found.st_nlink, 2U);
  EXPECT_EQ(HardLink(from, scratch_ / "to").code(), ErrorCode::kAlreadyExists);
}

TEST_F(FilesystemTest, HardLinkAcrossFileSystemsIsUnsupportedSoThatCallersCopy) {
  const std::string from = scratch_.Write("from", "bytes");
  const std::string to = "/dev/shm/tarn-link-test-" + std::to_string(::getpid());
  struct stat here {
  }, there{};
  ASSERT_EQ(::stat(from.c_str(), &here), 0);
  if (::stat("/dev/shm", &there) != 0 || here.st_dev == there.st_dev) {
    GTEST_SKIP() << "no second file system at /dev/shm";
  }
  EXPECT_EQ(HardLink(from, to).code(), ErrorCode::kUnsupported);
  EXPECT_TRUE(CopyFile(from, to).ok());
  EXPECT_EQ(support::Scratch::Read(to), "bytes");
  EXPECT_TRUE(RemoveFile(to).ok());
}

TEST_F(FilesystemTest, CopyFileCopiesEveryByteAndReplacesNothing) {
  const std::string bytes(3'000'001, 'b');
  const std::string from = scratch_.Write("from", bytes);
  ASSERT_TRUE(CopyFile(from, scratch_ / "to").ok());
  EXPECT_EQ(support::Scratch::Read(scratch_ / "to"), bytes);
  EXPECT_EQ(CopyFile(from, scratch_ / "to").code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(support::Scratch::Read(scratch_ / "to"), bytes);
}

TEST_F(FilesystemTest, RemovingWhatIsNotThereIsFine) {
  EXPECT_TRUE(RemoveFile(scratch_ / "gone").ok());
  EXPECT_TRUE(RemoveTree(scratch_ / "gone").ok());
}

TEST_F(FilesystemTest, RemoveTreeNeverFollowsLinks) {
  scratch_.Write("outside/kept", "x");
  scratch_.Write("tree/a/b", "x");
  std::filesystem::create_symlink(scratch_ / "outside", scratch_ / "tree/link");
  ASSERT_TRUE(RemoveTree(scratch_ / "tree").ok());
  EXPECT_FALSE(Exists(scratch_ / "tree"));
  EXPECT_TRUE(Exists(scratch_ / "outside/kept"));
}

TEST_F(FilesystemTest, ListDirectoryIsSortedAndComplete) {
  for (const char* name : {"b", "a", ".hidden", "c"}) scratch_.Write(name, "");
  EXPECT_EQ(Names(), (std::vector<std::string>{".hidden", "a", "b", "c"}));
  EXPECT_EQ(ListDirectory(scratch_ / "gone").code(), ErrorCode::kNotFound);
}

TEST_F(FilesystemTest, PathsAreJoinedAndTakenApart) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", ""), "a");
  EXPECT_EQ(DirName("a/b/c"), "a/b");
  EXPECT_EQ(DirName("c"), "");
  EXPECT_EQ(BaseName("a/b/c"), "c");
  EXPECT_EQ(BaseName("c"), "c");
}

TEST_F(FilesystemTest, ALockKeepsOthersOutUntilItIsReleased) {
  const std::string path = scratch_ / "lock";
  {
    const auto held = FileLock::TryAcquire(path);
    ASSERT_TRUE(held.ok() && held->has_value());
    const auto refused = FileLock::TryAcquire(path);
    ASSERT_TRUE(refused.ok());
    EXPECT_FALSE(refused->has_value());
  }
  const auto again = FileLock::TryAcquire(path);
  EXPECT_TRUE(again.ok() && again->has_value());
}

TEST_F(FilesystemTest, ALockDiesWithItsProcess) {
  const std::string path = scratch_ / "lock";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto held = FileLock::TryAcquire(path);
    const char answer = held.ok() && held->has_value() ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  const auto while_alive = FileLock::TryAcquire(path);
  EXPECT_TRUE(while_alive.ok() && !while_alive->has_value());
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const auto after_death = FileLock::TryAcquire(path);
  EXPECT_TRUE(after_death.ok() && after_death->has_value());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(FilesystemTest, ALockOnARemovedFileKeepsNobodyOut) {
  const std::string path = scratch_ / "lock";
  const auto held = FileLock::TryAcquire(path);
  ASSERT_TRUE(held.ok() && held->has_value());
  ASSERT_TRUE(RemoveFile(path).ok());
  const auto fresh = FileLock::TryAcquire(path);
  EXPECT_TRUE(fresh.ok() && fresh->has_value());
}

TEST_F(FilesystemTest, AppendFileKeepsOrderAcrossItsBuffer) {
  const std::string path = scratch_ / "a";
  auto file = AppendFile::Create(path);
  ASSERT_TRUE(file.ok());
  std::string expected;
  for (int i = 0; i < 40'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    ASSERT_TRUE((*file)->Append(line).ok());
    expected += line;
  }
  const std::string large(1'000'000, 'L');
  ASSERT_TRUE((*file)->Append(large).ok());
  ASSERT_TRUE((*file)->Append("end").ok());
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_EQ(support::Scratch::Read(path), expected + large + "end");
  EXPECT_EQ(AppendFile::Create(path).code(), ErrorCode::kAlreadyExists);
}

TEST_F(FilesystemTest, AppendFileContinuesBehindWhatIsThere) {
  const std::string path = scratch_.Write("a", "one\n");
  auto file = AppendFile::Continue(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append("two\n").ok());
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_EQ(support::Scratch::Read(path), "one\ntwo\n");
}

}  // namespace
}  // namespace tarn::io

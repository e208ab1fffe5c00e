#include "tarn/io/shared_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/scratch.h"

namespace tarn::io {
namespace {

constexpr uint64_t kMagic = 0x1234'5678;
constexpr size_t kMost = 1 << 16;

class SharedFileTest : public testing::Test {
 protected:
  std::unique_ptr<SharedFile> Open(uint64_t magic = kMagic, size_t most = kMost) {
    auto file = SharedFile::Open(path_, magic, most);
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    return file.ok() ? std::move(file).value() : nullptr;
  }
  static std::span<const std::byte> Bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  static std::string Text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  support::Scratch scratch_;
  const std::string path_ = scratch_ / "shared";
};

TEST_F(SharedFileTest, WhatWasAppendedIsThereForTheNextAndRoundedUpWithZeros) {
  const auto first = Open();
  ASSERT_TRUE(first->Append(Bytes("abc")).ok());
  ASSERT_TRUE(first->Append(Bytes("12345678")).ok());
  EXPECT_EQ(Text(first->contents()), std::string("abc\0\0\0\0\0", 8) + "12345678");
  EXPECT_EQ(Text(Open()->contents()), Text(first->contents()));
}

TEST_F(SharedFileTest, WhatAKilledProcessHasWrittenStays) {
  const auto ours = Open();
  const pid_t child = fork();
  if (child == 0) {
    auto theirs = SharedFile::Open(path_, kMagic, kMost);
    const auto record = (*theirs)->Append(Bytes("........"));
    std::memcpy(record->data(), "written!", 8);
    _exit(kill(getpid(), SIGKILL));
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(Text(ours->contents()), "written!") << "others see it at once";
  EXPECT_EQ(Text(Open()->contents()), "written!");
}

TEST_F(SharedFileTest, ManyThreadsAndFilesAppendWithoutLosingARecord) {
  const auto one = Open();
  const auto two = Open();
  std::vector<std::jthread> threads;
  for (SharedFile* const file : {one.get(), two.get(), one.get(), two.get()}) {
    threads.emplace_back([file] {
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(file->Append(Bytes("record..")).ok());
    });
  }
  threads.clear();
  std::string expected;
  for (int i = 0; i < 400; ++i) expected += "record..";
  EXPECT_EQ(Text(one->contents()), expected);
}

TEST_F(SharedFileTest, AFullFileIsSaidAndReplacedWhenItIsOpenedNext) {
  const auto file = Open(kMagic, 4096);
  const std::string half(2040, 'x');
  ASSERT_TRUE(file->Append(Bytes(half)).ok());
  ASSERT_TRUE(file->Append(Bytes(half)).ok());
  EXPECT_EQ(file->Append(Bytes("one more")).status().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(file->contents().size(), 2 * half.size());
  EXPECT_TRUE(Open(kMagic, 4096)->contents().empty());
  EXPECT_EQ(file->contents().size(), 2 * half.size()) << "who has the old one keeps it";
}

TEST_F(SharedFileTest, AFileOfSomethingElseIsReplaced) {
  ASSERT_TRUE(Open(kMagic + 1)->Append(Bytes("else")).ok());
  EXPECT_TRUE(Open()->contents().empty());
  scratch_.Write("shared", "short");
  EXPECT_TRUE(Open()->contents().empty());
}

TEST_F(SharedFileTest, WhatOthersMayWriteIsNotTrusted) {
  Open();
  ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  const auto refused = SharedFile::Open(path_, kMagic, kMost);
  EXPECT_EQ(refused.status().code(), ErrorCode::kPermissionDenied);
  EXPECT_THAT(refused.status().message(), testing::HasSubstr(path_));
}

TEST_F(SharedFileTest, APrivateDirectoryIsMadeAndKeptPrivate) {
  const std::string path = scratch_ / "a/b";
  ASSERT_TRUE(MakePrivateDirectory(path).ok());
  struct stat found {};
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0700U);
  EXPECT_TRUE(MakePrivateDirectory(path).ok()) << "it is there";
  ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  EXPECT_EQ(MakePrivateDirectory(path).code(), ErrorCode::kPermissionDenied);
  scratch_.Write("file", "");
  EXPECT_EQ(MakePrivateDirectory(scratch_ / "file").code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tarn::io

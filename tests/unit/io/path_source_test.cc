#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tarn/io/forward_reader.h"
#include "tarn/io/random_access_file.h"
#include "tests/support/pseudo_random.h"
#include "tests/support/scratch.h"

namespace tarn::io {
namespace {

class PathSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::shared_ptr<Source>> source = OpenSource(scratch_ / "root");
    ASSERT_TRUE(source.ok()) << source.status().ToString();
    source_ = *source;
  }

  std::string Read(std::string_view path) {
    auto file = source_->Open(path);
    if (!file.ok()) return "error: " + std::string(ErrorCodeName(file.code()));
    std::string bytes(100, '\0');
    const auto got = (*file)->ReadAt(0, std::as_writable_bytes(std::span(bytes)));
    if (!got.ok()) return "error: " + std::string(ErrorCodeName(got.code()));
    return bytes.substr(0, *got);
  }
  void Link(const std::string& target, const std::string& name) {
    std::filesystem::create_symlink(target, scratch_ / name);
  }

  const support::Scratch scratch_;
  const std::string inside_ = scratch_.Write("root/a/file", "inside");
  const std::string outside_ = scratch_.Write("outside", "outside");
  std::shared_ptr<Source> source_;
};

TEST_F(PathSourceTest, ReadsExactlyTheBytesAskedForAtEveryOffset) {
  const std::string contents = support::PseudoRandom(1).Bytes(3001);
  scratch_.Write("root/data", contents);
  const auto file = source_->Open("data");
  ASSERT_TRUE(file.ok());
  for (size_t offset = 0; offset < 3010; offset += 7) {
    for (const size_t length : {0, 1, 512, 4000}) {
      std::string bytes(length, '\0');
      const auto got = (*file)->ReadAt(offset, std::as_writable_bytes(std::span(bytes)));
      ASSERT_TRUE(got.ok());
      ASSERT_EQ(bytes.substr(0, *got), offset < contents.size() ? contents.substr(offset, length) : "");
    }
  }
}

TEST_F(PathSourceTest, LinksBelowTheRootAreFollowed) {
  Link("a/file", "root/relative");
  Link("../a/file", "root/a/up");
  Link("a", "root/directory");
  Link(scratch_ / "root/a/file", "root/absolute");
  EXPECT_EQ(Read("relative"), "inside");
  EXPECT_EQ(Read("a/up"), "inside");
  EXPECT_EQ(Read("directory/file"), "inside");
  EXPECT_EQ(Read("absolute"), "inside");
}

TEST_F(PathSourceTest, NothingLeavesTheRoot) {
  Link("../outside", "root/relative");
  Link(outside_, "root/absolute");
  Link("..", "root/up");
  Link("/", "root/slash");
  for (const std::string path :
       {"relative", "absolute", "up/outside", "../outside", "a/../../outside", "slash/etc/passwd"}) {
    EXPECT_EQ(source_->Open(path).code(), ErrorCode::kPermissionDenied) << path;
    EXPECT_EQ(source_->Stat(path).code(), ErrorCode::kPermissionDenied) << path;
  }
  EXPECT_EQ(source_->List("up").code(), ErrorCode::kPermissionDenied);
  // A sibling whose name starts with the root's is outside too.
  scratch_.Write("root-2/file", "sibling");
  Link(scratch_ / "root-2/file", "root/sibling");
  EXPECT_EQ(source_->Open("sibling").code(), ErrorCode::kPermissionDenied);
}

TEST_F(PathSourceTest, WhatIsNotThereIsNotFound) {
  Link("nowhere", "root/dangling");
  EXPECT_EQ(source_->Open("gone").code(), ErrorCode::kNotFound);
  EXPECT_EQ(source_->Open("a/file/below").code(), ErrorCode::kNotFound);
  EXPECT_EQ(source_->Open("dangling").code(), ErrorCode::kNotFound);
  EXPECT_EQ(source_->Stat("gone").code(), ErrorCode::kNotFound);
  EXPECT_EQ(source_->List("gone").code(), ErrorCode::kNotFound);
}

TEST_F(PathSourceTest, ACircleOfLinksIsAnError) {
  Link("circle-b", "root/circle-a");
  Link("circle-a", "root/circle-b");
  EXPECT_FALSE(source_->Open("circle-a").ok());
  EXPECT_FALSE(source_->Stat("circle-a").ok());
}

TEST_F(PathSourceTest, ANameWithANulByteIsRefused) {
  EXPECT_EQ(source_->Open(std::string_view("a/file\0x", 8)).code(), ErrorCode::kInvalidArgument);
}

TEST_F(PathSourceTest, AFifoNeitherHangsNorReads) {
  ASSERT_EQ(::mkfifo((scratch_ / "root/fifo").c_str(), 0600), 0);
  EXPECT_EQ(source_->Open("fifo").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(source_->Open("a").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(source_->Stat("fifo")->type, FileType::kOther);
}

TEST_F(PathSourceTest, StatSaysWhatStatSays) {
  ASSERT_EQ(::chmod(inside_.c_str(), 0640), 0);
  const timespec times[2] = {{.tv_sec = 5, .tv_nsec = 0}, {.tv_sec = -3, .tv_nsec = 250}};
  ASSERT_EQ(::utimensat(AT_FDCWD, inside_.c_str(), times, 0), 0);
  const auto stat = source_->Stat("a/file");
  ASSERT_TRUE(stat.ok());
  struct stat expected {};
  ASSERT_EQ(::stat(inside_.c_str(), &expected), 0);
  EXPECT_EQ(stat->type, FileType::kRegular);
  EXPECT_EQ(stat->identity.size, 6U);
  EXPECT_EQ(stat->identity.inode, expected.st_ino);
  EXPECT_EQ(stat->identity.mtime_ns, -2'999'999'750);
  EXPECT_EQ(stat->access.mode, 0640U);
  EXPECT_EQ(stat->access.uid, ::getuid());
  const auto file = source_->Open("a/file");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->Stat()->identity, stat->identity);
  EXPECT_EQ(source_->Stat("")->type, FileType::kDirectory);
}

TEST_F(PathSourceTest, ListGivesTypesWithoutFollowing) {
  Link("../outside", "root/link");
  scratch_.Write("root/plain", "");
  auto items = source_->List("");
  ASSERT_TRUE(items.ok());
  std::sort(items->begin(), items->end(), [](const auto& x, const auto& y) { return x.name < y.name; });
  ASSERT_EQ(items->size(), 3U);
  EXPECT_EQ((*items)[0].name, "a");
  EXPECT_EQ((*items)[0].type, FileType::kDirectory);
  EXPECT_EQ((*items)[1].name, "link");
  EXPECT_EQ((*items)[1].type, FileType::kSymlink);
  EXPECT_EQ((*items)[2].name, "plain");
  EXPECT_EQ((*items)[2].type, FileType::kRegular);
}

TEST_F(PathSourceTest, ReadingChangesNoTimeThatBelongsToTheIdentity) {
  const auto before = source_->Stat("a/file");
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(Read("a/file"), "inside");
  EXPECT_EQ(source_->Stat("a/file")->identity, before->identity);
}

TEST_F(PathSourceTest, AsyncReadsAnswerExactlyOnce) {
  const auto file = source_->Open("a/file");
  ASSERT_TRUE(file.ok());
  std::string bytes(6, '\0');
  int calls = 0;
  (*file)->ReadAtAsync(0, std::as_writable_bytes(std::span(bytes)), [&calls](Result<size_t> got) {
    ++calls;
    EXPECT_EQ(*got, 6U);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(bytes, "inside");
}

TEST(OpenSourceTest, NamesWhatIsWrongWithASource) {
  const support::Scratch scratch;
  EXPECT_EQ(OpenSource(scratch / "gone").code(), ErrorCode::kNotFound);
  const auto file = OpenSource(scratch.Write("file", ""));
  EXPECT_EQ(file.code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(file.status().message().find("not a directory"), std::string::npos);
}

// Pages of `path` in memory, each true or false.
std::vector<bool> Resident(const std::string& path, size_t bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* const mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  std::vector<unsigned char> pages((bytes + 4095) / 4096);
  EXPECT_EQ(::mincore(mapping, bytes, pages.data()), 0);
  ::munmap(mapping, bytes);
  ::close(fd);
  std::vector<bool> resident;
  for (const unsigned char page : pages) resident.push_back((page & 1) != 0);
  return resident;
}

TEST_F(PathSourceTest, ADirectReadGivesTheBytesAndTheEnd) {
  const std::string contents = support::PseudoRandom(5).Bytes(3 * kDirectAlignment + 77);
  scratch_.Write("root/direct", contents);
  const auto file = source_->Open("direct");
  ASSERT_TRUE(file.ok());
  BufferPool pool;
  const BufferPool::Buffer memory = pool.Take(8 * kDirectAlignment);
  const auto read = [&](uint64_t offset, size_t size) -> std::string {
    const Result<size_t> got = (*file)->ReadDirectAt(offset, memory.bytes().first(size));
    if (got.code() == ErrorCode::kUnsupported) return "unsupported";
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    return std::string(reinterpret_cast<const char*>(memory.bytes().data()), got.ok() ? *got : 0);
  };
  if (read(0, kDirectAlignment) == "unsupported") GTEST_SKIP() << "this file system reads through its cache";
  EXPECT_TRUE(read(0, 8 * kDirectAlignment) == contents);
  EXPECT_TRUE(read(kDirectAlignment, kDirectAlignment) ==
              contents.substr(kDirectAlignment, kDirectAlignment));
  EXPECT_TRUE(read(3 * kDirectAlignment, kDirectAlignment) == contents.substr(3 * kDirectAlignment));
  EXPECT_EQ(read(4 * kDirectAlignment, kDirectAlignment), "");
  // The file that was opened, not what its path leads to by now.
  scratch_.Write("root/other", "other");
  ASSERT_EQ(::rename((scratch_ / "root/other").c_str(), (scratch_ / "root/direct").c_str()), 0);
  EXPECT_TRUE(read(0, 8 * kDirectAlignment) == contents);
}

TEST_F(PathSourceTest, AStreamingPassLeavesThePageCacheAsItWas) {
  constexpr size_t kBytes = size_t{8} << 20;
  const std::string path = scratch_.Write("root/large", support::PseudoRandom(2).Bytes(kBytes));
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::fsync(fd), 0);
  ASSERT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  // Somebody trains on the second quarter.
  std::string warm(kBytes / 4, '\0');
  ASSERT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
  ASSERT_EQ(::pread(fd, warm.data(), warm.size(), kBytes / 4), static_cast<ssize_t>(warm.size()));
  ::close(fd);
  const std::vector<bool> before = Resident(path, kBytes);
  if (std::count(before.begin(), before.end(), false) < static_cast<long>(before.size() / 2)) {
    GTEST_SKIP() << "this file system keeps its pages in memory";
  }

  const auto file = source_->Open("large");
  ASSERT_TRUE(file.ok());
  // Without cachestat(2) only the cached front of a block is known, and how much of it varies.
  if (!(*file)->Cached(0, kBytes)) GTEST_SKIP() << "this kernel does not tell what it has cached";
  StreamReader reader(file->get(), kBytes, {}, nullptr);
  ASSERT_TRUE(reader.Finish().ok());
  const std::vector<bool> after = Resident(path, kBytes);
  for (size_t page = 0; page < after.size(); ++page) {
    ASSERT_TRUE(after[page] || !before[page]) << "page " << page << " was dropped";
  }
  // A few pages at the edges of requests may stay; not the archive.
  EXPECT_LE(std::count(after.begin(), after.end(), true),
            std::count(before.begin(), before.end(), true) + static_cast<long>(after.size() / 16));
}

}  // namespace
}  // namespace tarn::io

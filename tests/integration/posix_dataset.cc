#include "integration/posix_dataset.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>

namespace tarn::integration {
namespace {

std::string RandomBytes(size_t size) {
  std::mt19937_64 random(20261130);
  std::string bytes(size, '\0');
  for (size_t i = 0; i + 8 <= size; i += 8) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, sizeof(word));
  }
  return bytes;
}

void MakeTree(const support::Scratch& scratch, const std::string& big) {
  scratch.Write("tree/big.bin", big);
  scratch.Write("tree/small.txt", kSmallText);
  scratch.Write("tree/empty", "");
  scratch.Write("tree/dir/inner.txt", "inner\n");
  scratch.Write("tree/colored.txt", "with an attribute\n");
  const std::string script = scratch.Write("tree/run.sh", "#!/bin/sh\nexit 7\n");
  const std::string tree = scratch / "tree";
  ASSERT_EQ(chmod(script.c_str(), 0755), 0);
  ASSERT_EQ(link((tree + "/small.txt").c_str(), (tree + "/hard").c_str()), 0);
  ASSERT_EQ(symlink("small.txt", (tree + "/link").c_str()), 0);
  ASSERT_EQ(mkfifo((tree + "/fifo").c_str(), 0644), 0);
  ASSERT_EQ(mknod((tree + "/null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0) << std::strerror(errno);
  ASSERT_EQ(setxattr((tree + "/colored.txt").c_str(), "user.color", "blue", 4, 0), 0) << std::strerror(errno);
}

}  // namespace

void PosixTest::SetUp() {
  const std::string why = support::WhyNoMounts();
  if (!why.empty()) GTEST_SKIP() << why;
  scratch_ = std::make_unique<support::Scratch>();
  big_ = RandomBytes(kBigBytes);
  ASSERT_NO_FATAL_FAILURE(MakeTree(*scratch_, big_));
  AddToTree(*scratch_ / "tree");
  std::filesystem::create_directory(*scratch_ / "data");
  const support::Finished tar =
      support::RunProgram({"tar", "--format=posix", "--xattrs", "--xattrs-include=user.*", "-C",
                           *scratch_ / "tree", "-cf", *scratch_ / "data/a.tar", "."});
  ASSERT_EQ(tar.exit_code, 0) << tar.err;
  support::Publish(*scratch_ / "data", "posix", *scratch_ / "index");
  mount_.emplace(*scratch_ / "mnt", std::vector<std::string>{"--index", *scratch_ / "index", "--source",
                                                             scratch_->path(), "--dataset", "posix"});
}

int OpenOrFail(const std::string& path, int more_flags) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | more_flags);
  EXPECT_NE(fd, -1) << path << ": " << std::strerror(errno);
  return fd;
}

std::string ReadAll(int fd) {
  std::string bytes;
  std::string buffer(100000, '\0');
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    EXPECT_NE(got, -1) << std::strerror(errno);
    if (got <= 0) return bytes;
    bytes.append(buffer, 0, static_cast<size_t>(got));
  }
}

}  // namespace tarn::integration

// Directories: all names, once each, in an order that seekdir can come back to; deep and wide ones.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "integration/posix_dataset.h"

namespace tarn::integration {
namespace {

constexpr int kWide = 10000;
constexpr int kDeep = 400;

class PosixDirectories : public PosixTest {};

class WideAndDeep : public PosixTest {
  void AddToTree(const std::string& tree) override {
    std::filesystem::create_directory(tree + "/wide");
    for (int i = 0; i < kWide; ++i) std::ofstream(tree + "/wide/file-" + std::to_string(i)) << i;
    std::string path = tree + "/deep";
    for (int i = 0; i < kDeep; ++i) path += "/d";
    std::filesystem::create_directories(path);
    std::ofstream(path + "/bottom") << "down here";
  }
};

std::vector<std::string> NamesOf(DIR* directory) {
  std::vector<std::string> names;
  errno = 0;
  for (const dirent* item = readdir(directory); item != nullptr; item = readdir(directory)) {
    names.emplace_back(item->d_name);
  }
  EXPECT_EQ(errno, 0) << std::strerror(errno);
  return names;
}

std::set<std::string> OriginalNames(const std::string& path) {
  std::set<std::string> names = {".", ".."};
  for (const auto& item : std::filesystem::directory_iterator(path)) names.insert(item.path().filename());
  return names;
}

TEST_F(PosixDirectories, AListingHasEveryNameOnceWithItsTypeAndInode) {
  Try([&] {
    DIR* directory = opendir(Mounted("").c_str());
    ASSERT_NE(directory, nullptr) << std::strerror(errno);
    std::set<std::string> seen;
    for (const dirent* item = readdir(directory); item != nullptr; item = readdir(directory)) {
      EXPECT_TRUE(seen.insert(item->d_name).second) << item->d_name << " comes twice";
      struct stat status {};
      ASSERT_EQ(fstatat(dirfd(directory), item->d_name, &status, AT_SYMLINK_NOFOLLOW), 0) << item->d_name;
      EXPECT_EQ(item->d_ino, status.st_ino) << item->d_name;
      EXPECT_EQ(DTTOIF(item->d_type), status.st_mode & S_IFMT) << item->d_name;
    }
    EXPECT_EQ(seen, OriginalNames(Original("")));
  });
}

TEST_F(PosixDirectories, TelldirAndSeekdirComeBackToEveryName) {
  Try([&] {
    DIR* directory = opendir(Mounted("").c_str());
    ASSERT_NE(directory, nullptr);
    std::vector<std::pair<long, std::string>> places;
    for (long place = telldir(directory);; place = telldir(directory)) {
      const dirent* item = readdir(directory);
      if (item == nullptr) break;
      places.emplace_back(place, item->d_name);
    }
    ASSERT_GT(places.size(), 8U);
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      seekdir(directory, place->first);
      const dirent* item = readdir(directory);
      ASSERT_NE(item, nullptr);
      EXPECT_EQ(place->second, item->d_name);
    }
    rewinddir(directory);
    EXPECT_EQ(NamesOf(directory).size(), places.size());
  });
}

// Offsets mean the same in every server: a reader that was half way through goes on where it was.
TEST_F(PosixDirectories, OffsetsAreTheSameInEveryServer) {
  const auto listing = [&](const std::string& path) {
    std::map<std::string, long> offsets;
    DIR* directory = opendir(path.c_str());
    EXPECT_NE(directory, nullptr);
    for (const dirent* item = readdir(directory); item != nullptr; item = readdir(directory)) {
      offsets[item->d_name] = item->d_off;
    }
    return offsets;
  };
  support::ServedMount second(*scratch_ / "second", {"--index", *scratch_ / "index", "--source",
                                                     scratch_->path(), "--dataset", "posix"});
  Try([&] { EXPECT_EQ(listing(Mounted("")), listing(second / "a")); });
}

TEST_F(PosixDirectories, ParentsOfDirectoriesAreRight) {
  Try([&] {
    struct stat parent {};
    struct stat dotdot {};
    ASSERT_EQ(stat(Mounted("").c_str(), &parent), 0);
    const int fd = OpenOrFail(Mounted("dir"), O_DIRECTORY);
    ASSERT_EQ(fstatat(fd, "..", &dotdot, 0), 0);
    EXPECT_EQ(parent.st_ino, dotdot.st_ino);
    DIR* directory = fdopendir(fd);
    for (const dirent* item = readdir(directory); item != nullptr; item = readdir(directory)) {
      if (std::string_view(item->d_name) == "..") {
        EXPECT_EQ(item->d_ino, parent.st_ino);
      }
    }
    EXPECT_EQ(parent.st_nlink, 3U);  // ".", its name, dir/..
  });
}

TEST_F(WideAndDeep, AWideDirectoryIsWholeFirstAndSecondTime) {
  Try([&] {
    for (int pass = 0; pass < 2; ++pass) {
      DIR* directory = opendir(Mounted("wide").c_str());
      ASSERT_NE(directory, nullptr);
      const std::vector<std::string> names = NamesOf(directory);
      EXPECT_EQ(names.size(), static_cast<size_t>(kWide) + 2);
      EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), OriginalNames(Original("wide")));
      closedir(directory);
    }
    EXPECT_EQ(ReadAll(OpenOrFail(Mounted("wide/file-9999"))), "9999");
  });
}

TEST_F(WideAndDeep, ADeepDirectoryIsReachedStepByStepAndAtOnce) {
  Try([&] {
    int fd = OpenOrFail(Mounted("deep"), O_DIRECTORY);
    for (int i = 0; i < kDeep; ++i) {
      const int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      ASSERT_NE(next, -1) << i << ": " << std::strerror(errno);
      close(fd);
      fd = next;
    }
    EXPECT_EQ(ReadAll(openat(fd, "bottom", O_RDONLY | O_CLOEXEC)), "down here");
    std::string path = Mounted("deep");
    for (int i = 0; i < kDeep; ++i) path += "/d";
    EXPECT_EQ(ReadAll(OpenOrFail(path + "/bottom")), "down here");
    for (int i = 0; i < kDeep; ++i) {
      const int up = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      ASSERT_NE(up, -1) << i << ": " << std::strerror(errno);
      close(fd);
      fd = up;
    }
    struct stat back {};
    struct stat top {};
    ASSERT_EQ(fstat(fd, &back), 0);
    ASSERT_EQ(stat(Mounted("deep").c_str(), &top), 0);
    EXPECT_EQ(back.st_ino, top.st_ino);
  });
}

}  // namespace
}  // namespace tarn::integration

#include "dataset/read_ahead.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace tarn::dataset {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = kKiB << 10;
constexpr uint64_t kRead = 128 * kKiB;  // what the kernel asks for at once

class ReadAheadTest : public testing::Test {
 protected:
  // Files of `bytes` each, with a header between them.
  ArchiveRange FileAt(uint64_t number, uint64_t bytes) const {
    const uint64_t begin = 512 + number * (bytes + 1024);
    return {begin, begin + bytes};
  }
  // Notes a read and keeps count; what is asked for ahead must be new and lie in the archive.
  ArchiveRange Note(ArchiveRange file, ArchiveRange read, const void* archive = nullptr) {
    const ArchiveRange ahead = ahead_.Note(archive == nullptr ? this : archive, kArchive, file, read);
    EXPECT_LE(ahead.end, kArchive);
    asked_for_ += ahead.size();
    read_ += read.size();
    return ahead;
  }
  // The whole file as the kernel asks for it; bytes asked for ahead.
  uint64_t ReadWhole(ArchiveRange file, const void* archive = nullptr) {
    uint64_t ahead = 0;
    for (uint64_t at = file.begin; at < file.end; at += kRead) {
      ahead += Note(file, {at, std::min(at + kRead, file.end)}, archive).size();
    }
    return ahead;
  }

  static constexpr uint64_t kArchive = uint64_t{4} << 30;
  ReadAhead ahead_{ReadAheadOptions()};
  uint64_t asked_for_ = 0;
  uint64_t read_ = 0;
};

TEST_F(ReadAheadTest, WholeFilesInRandomOrderCostExactlyTheirBytes) {
  for (const uint64_t bytes : {4 * kKiB, 110 * kKiB}) {
    std::vector<uint64_t> order(2000);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(7));
    for (const uint64_t number : order) ReadWhole(FileAt(number, bytes));
    EXPECT_EQ(asked_for_, 0U) << bytes;
  }
}

TEST_F(ReadAheadTest, LargeFilesInRandomOrderAreReadAheadToTheirEndsOnly) {
  std::vector<uint64_t> order(300);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  for (const uint64_t number : order) {
    const ArchiveRange file = FileAt(number, 1000 * kKiB);
    for (uint64_t at = file.begin; at < file.end; at += kRead) {
      const ArchiveRange ahead = Note(file, {at, std::min(at + kRead, file.end)});
      EXPECT_LE(ahead.end, ahead.empty() ? kArchive : file.end);
    }
  }
  EXPECT_GT(asked_for_, 0U);
  EXPECT_LT(asked_for_, read_);
}

TEST_F(ReadAheadTest, RandomBlocksOfALargeFileAreExact) {
  const ArchiveRange file{512, 512 + 1000 * kMiB};
  std::mt19937_64 random(7);
  for (int i = 0; i < 5000; ++i) {
    const uint64_t at = file.begin + random() % (900 * kMiB) / 4096 * 4096;
    Note(file, {at, at + 4096});
  }
  EXPECT_EQ(asked_for_, 0U);
}

TEST_F(ReadAheadTest, AHeaderAndAJumpIsNoRun) {
  const ArchiveRange file{512, 512 + 100 * kMiB};
  Note(file, {file.begin, file.begin + 16 * kKiB});
  EXPECT_TRUE(Note(file, {file.begin + 100 * kKiB, file.begin + 104 * kKiB}).empty());
  EXPECT_EQ(asked_for_, 0U);
}

TEST_F(ReadAheadTest, ALargeFileIsReadFurtherAndFurtherAhead) {
  const ArchiveRange file{512, 512 + 100 * kMiB};
  EXPECT_TRUE(Note(file, {file.begin, file.begin + kRead}).empty());
  const ArchiveRange first = Note(file, {file.begin + kRead, file.begin + 2 * kRead});
  EXPECT_EQ(first.begin, file.begin + 2 * kRead);
  EXPECT_EQ(first.size(), 2 * kRead);
  uint64_t most = 0;
  uint64_t end = first.end;
  for (uint64_t at = file.begin + 2 * kRead; at < file.begin + 80 * kMiB; at += kRead) {
    const ArchiveRange ahead = Note(file, {at, at + kRead});
    if (ahead.empty()) continue;
    EXPECT_EQ(ahead.begin, end) << "asked for twice, or left out";
    end = ahead.end;
    most = std::max(most, end - at - kRead);
  }
  EXPECT_EQ(most, ReadAheadOptions().max_bytes);
  EXPECT_EQ(ahead_.runs(), 1U);
}

TEST_F(ReadAheadTest, RequestsThatOvertakeOneAnotherAreOneRun) {
  const ArchiveRange file{512, 512 + 100 * kMiB};
  const auto part = [&](uint64_t number) {
    return ArchiveRange{file.begin + number * kRead, file.begin + (number + 1) * kRead};
  };
  uint64_t end = file.begin;
  for (const uint64_t number : {0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9}) {
    const ArchiveRange ahead = Note(file, part(number));
    if (!ahead.empty()) end = ahead.end;
  }
  EXPECT_GT(end, part(11).end);
}

TEST_F(ReadAheadTest, FilesInOrderAreReadAheadAcrossTheirEnds) {
  unsigned before = 0;
  while (ReadWhole(FileAt(before, 110 * kKiB)) == 0) ++before;
  EXPECT_EQ(before, ReadAhead::kFilesInOrder);
  for (uint64_t number = before + 1; number < 500; ++number) ReadWhole(FileAt(number, 110 * kKiB));
  EXPECT_GT(asked_for_, read_ * 9 / 10);
}

TEST_F(ReadAheadTest, WhatIsInVainWhenARunOfFilesBreaksOffIsBounded) {
  for (const uint64_t files : {5, 10, 40, 200}) {
    ReadAhead fresh{ReadAheadOptions()};
    uint64_t end = 0;
    uint64_t last = 0;
    uint64_t read = 0;
    for (uint64_t number = 0; number < files; ++number) {
      const ArchiveRange file = FileAt(number, 110 * kKiB);
      const ArchiveRange ahead = fresh.Note(this, kArchive, file, file);
      if (!ahead.empty()) end = ahead.end;
      last = file.end;
      read += file.size();
    }
    EXPECT_LE(end - last, std::max(read / 2, ReadAhead::kLeastAhead)) << files;
  }
}

TEST_F(ReadAheadTest, ReadingTheStartOfOneFileAfterTheOtherIsNoRunOfFiles) {
  for (uint64_t number = 0; number < 100; ++number) {
    const ArchiveRange file = FileAt(number, 10 * kMiB);
    Note(file, {file.begin, file.begin + 4096});
  }
  EXPECT_EQ(asked_for_, 0U);
}

TEST_F(ReadAheadTest, ReadersThatShareARunDoNotBreakIt) {
  // Sixteen readers take the next file from one counter: they arrive a little out of order.
  std::vector<uint64_t> order(800);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(7);
  for (size_t i = 0; i + 16 < order.size(); i += 16) {
    std::shuffle(order.begin() + static_cast<ptrdiff_t>(i), order.begin() + static_cast<ptrdiff_t>(i) + 16,
                 random);
  }
  for (const uint64_t number : order) ReadWhole(FileAt(number, 110 * kKiB));
  EXPECT_GT(asked_for_, read_ / 2);
  EXPECT_LT(asked_for_, read_ * 3 / 2);
}

TEST_F(ReadAheadTest, RunsOfDifferentArchivesAreKeptApart) {
  const int archives[2] = {};
  const ArchiveRange file{512, 512 + 100 * kMiB};
  Note(file, {file.begin, file.begin + kRead}, &archives[0]);
  EXPECT_TRUE(Note(file, {file.begin + kRead, file.begin + 2 * kRead}, &archives[1]).empty());
  EXPECT_FALSE(Note(file, {file.begin + kRead, file.begin + 2 * kRead}, &archives[0]).empty());
}

TEST_F(ReadAheadTest, AllRunsTogetherAreBounded) {
  const ReadAheadOptions options{.max_bytes = 8 * kMiB, .total_bytes = 16 * kMiB};
  ReadAhead bounded{options};
  constexpr uint64_t kStreams = 16;
  std::vector<uint64_t> ahead(kStreams, 0);
  uint64_t most = 0;
  for (uint64_t at = 0; at < 64 * kMiB; at += kRead) {
    uint64_t total = 0;
    for (uint64_t stream = 0; stream < kStreams; ++stream) {
      const ArchiveRange file = FileAt(stream, 100 * kMiB);
      const ArchiveRange more =
          bounded.Note(this, kArchive, file, {file.begin + at, file.begin + at + kRead});
      if (!more.empty()) ahead[stream] = more.end;
      const uint64_t read_to = file.begin + at + kRead;
      total += ahead[stream] > read_to ? ahead[stream] - read_to : 0;
    }
    most = std::max(most, total);
  }
  EXPECT_EQ(bounded.runs(), kStreams);
  EXPECT_LE(most, options.total_bytes + kStreams * kRead);
}

TEST_F(ReadAheadTest, NothingIsReadAheadWhenItIsSwitchedOff) {
  ReadAhead off{ReadAheadOptions{.max_bytes = 0}};
  const ArchiveRange file{512, 512 + 100 * kMiB};
  for (uint64_t at = file.begin; at < file.end; at += kRead) {
    EXPECT_TRUE(off.Note(this, kArchive, file, {at, at + kRead}).empty());
  }
}

}  // namespace
}  // namespace tarn::dataset

// Windows of both readers against the bytes themselves.
#include "tarn/io/forward_reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "tests/support/pseudo_random.h"
#include "tests/support/scratch.h"

namespace tarn::io {
namespace {

std::string Text(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A file in memory that counts what is asked of it and can be told to fail or to be shorter than it was.
class FakeFile final : public RandomAccessFile {
 public:
  explicit FakeFile(std::string contents) : contents_(std::move(contents)) {}

  Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    const int now = ++in_flight_;
    int most = most_in_flight_;
    while (now > most && !most_in_flight_.compare_exchange_weak(most, now)) {
    }
    // Requests wait until as many as are expected are there, so that overlap is a fact and not luck.
    for (int i = 0; i < 2000 && most_in_flight_ < wait_for_; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    bytes_asked_ += out.size();
    ++reads_;
    --in_flight_;
    if (offset <= fail_at_ && fail_at_ < offset + out.size()) {
      return Status(ErrorCode::kIo, "bad sector at " + std::to_string(fail_at_));
    }
    if (offset >= contents_.size()) return size_t{0};
    const size_t count = std::min<size_t>(out.size(), contents_.size() - offset);
    std::memcpy(out.data(), contents_.data() + offset, count);
    return count;
  }
  std::optional<CachedPart> Cached(uint64_t offset, uint64_t length) const override {
    if (!tells_what_is_cached_) return std::nullopt;
    const auto cached =
        static_cast<uint64_t>(std::count_if(cached_pages_.begin(), cached_pages_.end(), [&](uint64_t page) {
          return page < offset + length && offset < page + 4096;
        }));
    if (cached == 0) return CachedPart::kNone;
    return cached < (length + 4095) / 4096 ? CachedPart::kSome : CachedPart::kAll;
  }
  Result<size_t> ReadDirectAt(uint64_t offset, std::span<std::byte> out) const override {
    if (!reads_direct_) return RandomAccessFile::ReadDirectAt(offset, out);
    EXPECT_EQ(offset % kDirectAlignment, 0U);
    EXPECT_EQ(out.size() % kDirectAlignment, 0U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(out.data()) % kDirectAlignment, 0U);
    ++direct_reads_;
    return ReadAt(offset, out);
  }
  Result<size_t> ReadCachedAt(uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= cached_bytes_) return size_t{0};
    const size_t count = std::min<size_t>(out.size(), cached_bytes_ - offset);
    std::memcpy(out.data(), contents_.data() + offset, count);
    return count;
  }
  void DropCache(uint64_t offset, uint64_t length) const override {
    const std::lock_guard lock(mutex_);
    dropped_.emplace_back(offset, length);
  }
  Result<FileStat> Stat() const override {
    FileStat stat;
    stat.identity.size = contents_.size();
    return stat;
  }
  const std::string& name() const override { return name_; }

  const std::string contents_;
  const std::string name_ = "fake.tar";
  uint64_t fail_at_ = UINT64_MAX;
  uint64_t cached_bytes_ = 0;  // of the front
  bool tells_what_is_cached_ = false;
  std::vector<uint64_t> cached_pages_;  // their offsets
  bool reads_direct_ = false;
  int wait_for_ = 0;
  mutable std::atomic<int> in_flight_ = 0;
  mutable std::atomic<int> most_in_flight_ = 0;
  mutable std::atomic<uint64_t> bytes_asked_ = 0;
  mutable std::atomic<int> reads_ = 0;
  mutable std::atomic<int> direct_reads_ = 0;  // of them
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<uint64_t, uint64_t>> dropped_;
};

// The window must be the bytes from `offset` on, as many as were asked for unless the file ends.
void ExpectWindow(ForwardReader* reader, const std::string& contents, uint64_t offset, size_t at_least) {
  const auto window = reader->Window(offset, at_least);
  ASSERT_TRUE(window.ok()) << window.status().ToString();
  const size_t left = offset >= contents.size() ? 0 : contents.size() - offset;
  ASSERT_GE(window->size(), std::min(at_least, left)) << "at " << offset;
  ASSERT_LE(window->size(), left);
  ASSERT_EQ(Text(*window), contents.substr(std::min<size_t>(offset, contents.size()), window->size()))
      << "at " << offset;
}

TEST(WindowReaderTest, EveryOffsetAndLengthGivesTheBytes) {
  const std::string contents = support::PseudoRandom(1).Bytes(997);
  const FakeFile file(contents);
  for (const size_t window_bytes : {1, 7, 64, 512, 4096}) {
    for (size_t offset = 0; offset <= contents.size() + 1; offset += 3) {
      for (const size_t at_least : {0, 1, 5, 65, 500, 2000}) {
        WindowReader reader(&file, contents.size(), window_bytes);
        ExpectWindow(&reader, contents, offset, at_least);
        ExpectWindow(&reader, contents, offset, at_least);
        ExpectWindow(&reader, contents, offset + 2, at_least);
      }
    }
  }
}

TEST(WindowReaderTest, RisingRequestsOfAnySizeGiveTheBytes) {
  support::PseudoRandom random(2);
  const std::string contents = random.Bytes(100'003);
  const FakeFile file(contents);
  for (int round = 0; round < 200; ++round) {
    WindowReader reader(&file, contents.size(), 1 + random.Below(5000));
    for (uint64_t offset = 0; offset < contents.size() + 10; offset += random.Below(3000)) {
      ExpectWindow(&reader, contents, offset, random.Below(6000));
    }
  }
}

TEST(WindowReaderTest, SkippedBytesAreNotRead) {
  const FakeFile file(std::string(size_t{64} << 20, 'x'));
  WindowReader reader(&file, file.contents_.size());
  for (uint64_t offset = 0; offset < file.contents_.size(); offset += size_t{4} << 20) {
    ExpectWindow(&reader, file.contents_, offset, 512);
  }
  // One full window at the start, one page for each of the others.
  EXPECT_LE(file.bytes_asked_, (size_t{256} << 10) + 15 * 4096);
}

TEST(WindowReaderTest, SmallStepsShareAWindow) {
  const FakeFile file(std::string(size_t{1} << 20, 'x'));
  WindowReader reader(&file, file.contents_.size());
  for (uint64_t offset = 0; offset < file.contents_.size(); offset += 1024) {
    ExpectWindow(&reader, file.contents_, offset, 512);
  }
  EXPECT_LE(file.reads_, 8);
}

TEST(WindowReaderTest, AFileThatBecameShorterIsChangedNotTruncated) {
  const FakeFile file("0123456789");
  WindowReader reader(&file, 20);
  const auto window = reader.Window(0, 15);
  EXPECT_EQ(window.code(), ErrorCode::kChanged);
  EXPECT_NE(window.status().message().find("fake.tar"), std::string::npos);
}

TEST(MemoryReaderTest, GivesTheBytesAndNothingBeyond) {
  const std::string contents = "0123456789";
  MemoryReader reader(Bytes(contents));
  ExpectWindow(&reader, contents, 0, 3);
  ExpectWindow(&reader, contents, 7, 100);
  ExpectWindow(&reader, contents, 10, 1);
  ExpectWindow(&reader, contents, 11, 1);
}

class StreamReaderTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(StreamReaderTest, EveryOddOffsetGivesTheBytesAndTheObserverSeesEachOnce) {
  const std::string contents = support::PseudoRandom(3).Bytes(4099);
  const FakeFile file(contents);
  for (const size_t read_bytes : {1, 13, 512, 1000, 8192}) {
    for (const size_t step : {1, 3, 511, 513, 1025}) {
      for (const size_t at_least : {1, 512, 1537, 5000}) {
        std::string observed;
        StreamReader reader(&file, contents.size(), {.read_bytes = read_bytes, .depth = GetParam()},
                            [&observed](std::span<const std::byte> bytes) { observed += Text(bytes); });
        for (uint64_t offset = step / 2; offset < contents.size() + step; offset += step) {
          ExpectWindow(&reader, contents, offset, at_least);
          if (HasFatalFailure()) return;
          // What was given out was observed before.
          ASSERT_GE(observed.size(), std::min<size_t>(offset + at_least, contents.size()) -
                                         (offset >= contents.size() ? observed.size() : 0));
          if (read_bytes == 1 && offset > 700) break;
        }
        ASSERT_TRUE(reader.Finish().ok());
        ASSERT_EQ(observed, contents);
      }
    }
  }
}

TEST_P(StreamReaderTest, RandomRisingRequestsGiveTheBytes) {
  support::PseudoRandom random(4);
  const std::string contents = random.Bytes(70'001);
  const FakeFile file(contents);
  for (int round = 0; round < 60; ++round) {
    std::string observed;
    StreamReader reader(&file, contents.size(), {.read_bytes = 1 + random.Below(9000), .depth = GetParam()},
                        [&observed](std::span<const std::byte> bytes) { observed += Text(bytes); });
    for (uint64_t offset = 0; offset < contents.size() + 10; offset += random.Below(4000)) {
      ExpectWindow(&reader, contents, offset, random.Below(20'000));
      if (HasFatalFailure()) return;
    }
    ASSERT_TRUE(reader.Finish().ok());
    ASSERT_EQ(observed, contents);
  }
}

TEST_P(StreamReaderTest, FinishReadsWhatNobodyAskedFor) {
  const std::string contents = support::PseudoRandom(5).Bytes(10'000);
  const FakeFile file(contents);
  std::string observed;
  StreamReader reader(&file, contents.size(), {.read_bytes = 777, .depth = GetParam()},
                      [&observed](std::span<const std::byte> bytes) { observed += Text(bytes); });
  ASSERT_TRUE(reader.Finish().ok());
  EXPECT_EQ(observed, contents);
}

TEST_P(StreamReaderTest, AnEmptyFileIsFine) {
  const FakeFile file("");
  StreamReader reader(&file, 0, {.depth = GetParam()}, nullptr);
  EXPECT_EQ(reader.Window(0, 512)->size(), 0U);
  EXPECT_TRUE(reader.Finish().ok());
}

TEST_P(StreamReaderTest, AReaderThatIsAbandonedStops) {
  const FakeFile file(std::string(100'000, 'x'));
  StreamReader reader(&file, 100'000, {.read_bytes = 1000, .depth = GetParam()}, nullptr);
  EXPECT_TRUE(reader.Window(0, 10).ok());
}

TEST_P(StreamReaderTest, AFailedReadEndsThePassAtItsPlace) {
  FakeFile file(std::string(100'000, 'x'));
  file.fail_at_ = 50'500;
  uint64_t observed = 0;
  StreamReader reader(&file, 100'000, {.read_bytes = 1000, .depth = GetParam()},
                      [&observed](std::span<const std::byte> bytes) { observed += bytes.size(); });
  EXPECT_TRUE(reader.Window(49'000, 1000).ok());
  const Status status = reader.Finish();
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_NE(status.message().find("bad sector at 50500"), std::string::npos);
  EXPECT_EQ(observed, 50'000U);
  EXPECT_EQ(reader.Window(60'000, 1).code(), ErrorCode::kIo);
}

TEST_P(StreamReaderTest, AFileFoundShorterIsChanged) {
  const FakeFile file(std::string(5000, 'x'));
  StreamReader reader(&file, 6000, {.read_bytes = 1000, .depth = GetParam()}, nullptr);
  EXPECT_EQ(reader.Finish().code(), ErrorCode::kChanged);
}

TEST_P(StreamReaderTest, BeforeReadMayEndThePass) {
  const FakeFile file(std::string(5000, 'x'));
  std::atomic<size_t> asked = 0;
  StreamOptions options{.read_bytes = 1000, .depth = GetParam()};
  options.before_read = [&asked](size_t bytes) {
    asked += bytes;
    return asked > 2000 ? Status(ErrorCode::kCancelled, "stop") : Status();
  };
  StreamReader reader(&file, 5000, options, nullptr);
  EXPECT_EQ(reader.Finish().code(), ErrorCode::kCancelled);
}

TEST_P(StreamReaderTest, OnlyPagesThatWereBroughtInAreDropped) {
  FakeFile file(support::PseudoRandom(6).Bytes(10'000));
  file.cached_bytes_ = 2500;
  std::string observed;
  StreamReader reader(&file, 10'000, {.read_bytes = 1000, .depth = GetParam()},
                      [&observed](std::span<const std::byte> bytes) { observed += Text(bytes); });
  ASSERT_TRUE(reader.Finish().ok());
  EXPECT_EQ(observed, file.contents_);
  EXPECT_EQ(file.bytes_asked_, 7500U);
  uint64_t next = 2500;
  for (const auto& [offset, length] : file.dropped_) {
    EXPECT_EQ(offset, next);
    next = offset + length;
  }
  EXPECT_EQ(next, 10'000U);
}

TEST_P(StreamReaderTest, PiecesWithCachedPagesAreKeptAndAllOthersDropped) {
  constexpr uint64_t kPiece = uint64_t{64} << 10;
  constexpr uint64_t kBytes = 40 * kPiece + 100;
  FakeFile file(std::string(kBytes, 'x'));
  file.tells_what_is_cached_ = true;
  file.cached_pages_ = {3 * kPiece + 4096, 17 * kPiece, 18 * kPiece - 4096, 40 * kPiece};
  for (uint64_t page = 24 * kPiece; page < 32 * kPiece; page += 4096) file.cached_pages_.push_back(page);
  StreamReader reader(&file, kBytes, {.read_bytes = 8 * kPiece, .depth = GetParam()}, nullptr);
  ASSERT_TRUE(reader.Finish().ok());
  std::vector<bool> dropped(41);
  for (const auto& [offset, length] : file.dropped_) {
    EXPECT_EQ(offset % kPiece, 0U);
    for (uint64_t piece = offset / kPiece; piece * kPiece < offset + length; ++piece) {
      EXPECT_FALSE(dropped[piece]) << "piece " << piece << " is dropped twice";
      dropped[piece] = true;
    }
  }
  for (uint64_t piece = 0; piece <= 40; ++piece) {
    const bool kept = piece == 3 || piece == 17 || (24 <= piece && piece < 32) || piece == 40;
    EXPECT_EQ(dropped[piece], !kept) << "piece " << piece;
  }
}

TEST_P(StreamReaderTest, WhatIsCachedIsReadOnTheCallingThread) {
  FakeFile file(support::PseudoRandom(7).Bytes(40 * 4096));
  file.tells_what_is_cached_ = true;
  for (uint64_t page = 0; page < 20; ++page) file.cached_pages_.push_back(page * 4096);
  for (uint64_t page = 30; page < 40; ++page) file.cached_pages_.push_back(page * 4096);
  std::mutex mutex;
  std::vector<std::thread::id> readers;
  StreamOptions options{.read_bytes = 4096, .depth = GetParam()};
  options.before_read = [&](size_t) {
    const std::lock_guard lock(mutex);
    readers.push_back(std::this_thread::get_id());
    return Status();
  };
  std::string observed;
  StreamReader reader(&file, file.contents_.size(), options,
                      [&observed](std::span<const std::byte> bytes) { observed += Text(bytes); });
  ASSERT_TRUE(reader.Finish().ok());
  EXPECT_EQ(observed, file.contents_);
  ASSERT_EQ(readers.size(), 40U);
  // Nobody had a reason to read ahead before block 20; behind block 30 the read-ahead ends by itself.
  const auto here = std::this_thread::get_id();
  EXPECT_EQ(std::count(readers.begin(), readers.begin() + 20, here), 20);
  const int64_t read_here = std::count(readers.begin(), readers.end(), here);
  if (GetParam() == 1) {
    EXPECT_EQ(read_here, 40);
  } else {
    EXPECT_LE(read_here, 29);
    EXPECT_GE(read_here, 30 - static_cast<int64_t>(GetParam()) - 1);
  }
}

TEST_P(StreamReaderTest, WithoutDropCacheNothingIsDropped) {
  const FakeFile file(std::string(10'000, 'x'));
  StreamReader reader(&file, 10'000, {.read_bytes = 1000, .depth = GetParam(), .drop_cache = false}, nullptr);
  ASSERT_TRUE(reader.Finish().ok());
  EXPECT_TRUE(file.dropped_.empty());
}

TEST_P(StreamReaderTest, BlocksOfWhichNothingIsCachedAreReadPastTheCache) {
  const std::string contents = support::PseudoRandom(8).Bytes(10 * 8192 + 1000);
  FakeFile file(contents);
  file.tells_what_is_cached_ = true;
  file.reads_direct_ = true;
  file.cached_pages_ = {3 * 8192 + 4096};  // half of block 3
  std::string seen;
  StreamReader reader(&file, contents.size(), {.read_bytes = 8192, .depth = GetParam()},
                      [&seen](std::span<const std::byte> bytes) { seen += Text(bytes); });
  ASSERT_TRUE(reader.Finish().ok());
  EXPECT_TRUE(seen == contents);
  EXPECT_EQ(file.direct_reads_, 10);
  EXPECT_EQ(file.reads_, 11);
  // What was read past the cache is not in it.
  for (const auto& [offset, length] : file.dropped_) {
    EXPECT_GE(offset, uint64_t{3 * 8192});
    EXPECT_LE(offset + length, uint64_t{4 * 8192});
  }
}

TEST_P(StreamReaderTest, AFileThatCannotBeReadPastTheCacheIsReadThroughIt) {
  const std::string contents = support::PseudoRandom(9).Bytes(100'000);
  FakeFile file(contents);
  file.tells_what_is_cached_ = true;
  std::string seen;
  StreamReader reader(&file, contents.size(), {.read_bytes = 8192, .depth = GetParam()},
                      [&seen](std::span<const std::byte> bytes) { seen += Text(bytes); });
  ASSERT_TRUE(reader.Finish().ok());
  EXPECT_TRUE(seen == contents);
  EXPECT_EQ(file.dropped_.size(), 13U);
}

TEST_P(StreamReaderTest, ADirectReadThatFailsOrEndsEarlyEndsThePass) {
  FakeFile file(std::string(10 * 8192, 'x'));
  file.tells_what_is_cached_ = true;
  file.reads_direct_ = true;
  StreamReader longer(&file, 10 * 8192 + 100, {.read_bytes = 8192, .depth = GetParam()}, nullptr);
  EXPECT_EQ(longer.Finish().code(), ErrorCode::kChanged);
  file.fail_at_ = 5 * 8192;
  StreamReader failing(&file, 10 * 8192, {.read_bytes = 8192, .depth = GetParam()}, nullptr);
  const Status failed = failing.Finish();
  EXPECT_EQ(failed.code(), ErrorCode::kIo);
  EXPECT_NE(failed.ToString().find("bad sector"), std::string::npos);
}

TEST_P(StreamReaderTest, ReadersThatFollowOneAnotherUseTheSameMemory) {
  const FakeFile file(std::string(100'000, 'x'));
  const StreamOptions options{
      .read_bytes = 8192, .depth = GetParam(), .buffers = std::make_shared<BufferPool>()};
  std::set<const std::byte*> blocks;
  for (int reader_number = 0; reader_number < 5; ++reader_number) {
    StreamReader reader(&file, file.contents_.size(), options,
                        [&blocks](std::span<const std::byte> bytes) { blocks.insert(bytes.data()); });
    ASSERT_TRUE(reader.Finish().ok());
  }
  EXPECT_LE(blocks.size(), GetParam() + 1U);
}

INSTANTIATE_TEST_SUITE_P(Depths, StreamReaderTest, ::testing::Values(1U, 2U, 4U, 9U));

TEST(StreamReaderDepthTest, AsManyRequestsAreInFlightAsWereAskedFor) {
  FakeFile file(std::string(100'000, 'x'));
  file.wait_for_ = 6;
  StreamReader reader(&file, 100'000, {.read_bytes = 1000, .depth = 6}, nullptr);
  ASSERT_TRUE(reader.Finish().ok());
  EXPECT_EQ(file.most_in_flight_, 6);
}

TEST(StreamReaderDepthTest, DepthOneReadsOnTheCallingThread) {
  const FakeFile file(std::string(10'000, 'x'));
  StreamOptions options{.read_bytes = 1000, .depth = 1};
  const std::thread::id caller = std::this_thread::get_id();
  options.before_read = [caller](size_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return Status();
  };
  StreamReader reader(&file, 10'000, options, nullptr);
  EXPECT_TRUE(reader.Finish().ok());
}

}  // namespace
}  // namespace tarn::io

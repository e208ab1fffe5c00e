#include "tarn/dataset/archive_bytes.h"

#include <cerrno>
#include <thread>

#include "tests/unit/dataset/archive_bytes_fixture.h"

namespace tarn::dataset {
namespace {

TEST_F(ArchiveBytesTest, SameSizeAndTimeIsServedWithoutAnyCheck) {
  PutGood();
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kUnseen);
  EXPECT_TRUE(ReadsWell(1000, 512));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
  EXPECT_EQ(near_->read_bytes, 512U) << "exactly the bytes asked for";
  EXPECT_EQ(near_->random_advice, 1);
}

TEST_F(ArchiveBytesTest, ADescriptorIsKeptAndLookedAtOnlyWhenItsLastLookIsOld) {
  interval_ = std::chrono::hours(1);
  Use({near_}, {});
  PutGood();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(ReadsWell(0, 16));
  EXPECT_EQ(near_->opens, 1);
  EXPECT_EQ(near_->stats, 1) << "when it was opened";
  interval_ = std::chrono::milliseconds(0);
  Use({near_}, {});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(ReadsWell(0, 16));
  EXPECT_EQ(near_->opens, 2);
  EXPECT_EQ(near_->stats, 1 + 100) << "before each read";
}

TEST_F(ArchiveBytesTest, EachSourceIsTriedAtTheDatasetsPathAndThenAtThePathAlone) {
  near_->Put("train/a.tar", archive_.bytes, kPublished);
  EXPECT_TRUE(ReadsWell(5, 5)) << "the source is the dataset's own directory";
  Use({near_, far_}, {});
  near_->Remove("train/a.tar");
  far_->Put(kPlace, archive_.bytes, kPublished);
  EXPECT_TRUE(ReadsWell(5, 5));
}

TEST_F(ArchiveBytesTest, AnotherTimeIsServedAndEachChunkCheckedOnce) {
  PutGood(kPublished + 1);
  const std::string log = Logged([&] { EXPECT_TRUE(ReadsWell(kChunk - 10, 20)); });
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kChecking);
  EXPECT_EQ(near_->read_bytes, 2 * kChunk) << "both chunks whole";
  EXPECT_EQ(Lines(log), 1) << log;
  EXPECT_THAT(log, HasSubstr("another modification time at '/near/data/imagenet/train/a.tar'"));
  EXPECT_TRUE(ReadsWell(100, 50));
  EXPECT_EQ(near_->read_bytes, 2 * kChunk + 50) << "checked chunks are read plainly";
}

TEST_F(ArchiveBytesTest, WhenEveryChunkWasGoodTheArchiveIsServedAgain) {
  PutGood(kPublished + 1);
  const std::string log = Logged([&] { EXPECT_TRUE(ReadsWell(0, archive_.bytes.size())); });
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
  EXPECT_THAT(log, HasSubstr("every chunk of '/near/data/imagenet/train/a.tar' was checked"));
  EXPECT_EQ(Lines(Logged([&] { EXPECT_TRUE(ReadsWell(3, 3)); })), 0);
}

TEST_F(ArchiveBytesTest, CheckedReadsGiveTheRightBytesAtEveryEdgeOfAChunk) {
  PutGood(kPublished + 1);
  const size_t size = archive_.bytes.size();
  for (const size_t offset :
       {size_t{0}, size_t{1}, kChunk - 1, kChunk, kChunk + 1, 3 * kChunk - 1, size - 1}) {
    for (const size_t bytes : {size_t{1}, size_t{2}, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk + 3}) {
      if (offset + bytes > size) continue;
      near_->Edit(kPlace, [](FakeSource::File*) {});  // another ctime: nothing is known any more
      EXPECT_TRUE(ReadsWell(offset, bytes)) << offset << " " << bytes;
    }
  }
}

TEST_F(ArchiveBytesTest, AnIdentityThatChangesMakesEveryChunkUnknownAgain) {
  PutGood(kPublished + 1);
  EXPECT_TRUE(ReadsWell(0, 16));
  near_->Edit(kPlace, [&](FakeSource::File* file) { file->contents = Damaged(3); });
  EXPECT_EQ(ReadAt(0, 16).code(), ErrorCode::kChanged);
}

TEST_F(ArchiveBytesTest, WhatWasCheckedStaysKnownWhenTheDescriptorIsClosed) {
  PutGood(kPublished + 1);
  ArchiveBytesOptions options;
  options.max_open_files = 1;
  Use({near_}, options);
  EXPECT_TRUE(ReadsWell(0, 16));
  ManifestRow other = Row("train/b.tar", 2);
  near_->Put("data/imagenet/train/b.tar", archive_.bytes, kPublished);
  ArchiveBytes::Archive* second = bytes_->Add(generation_, other);
  std::byte out[4];
  ASSERT_TRUE(bytes_->Read(second, 0, out).ok());
  EXPECT_EQ(near_->open_now, 1);
  near_->read_bytes = 0;
  EXPECT_TRUE(ReadsWell(8, 16));
  EXPECT_EQ(near_->read_bytes, 16U);
}

TEST_F(ArchiveBytesTest, ABadChunkIsChangedAndNoByteOfItLeaves) {
  near_->Put(kPlace, Damaged(kChunk + 7), kPublished + 1);
  EXPECT_TRUE(ReadsWell(0, 100)) << "the first chunk is good";
  const std::string log = Logged([&] {
    const Status status = ReadAt(kChunk + 1000, 10);
    EXPECT_EQ(status.code(), ErrorCode::kChanged);
    EXPECT_FALSE(status.hint().empty());
    EXPECT_EQ(ReadAt(0, 100).code(), ErrorCode::kChanged) << "the archive is changed, not a chunk of it";
    EXPECT_EQ(ReadAt(2 * kChunk, 10).code(), ErrorCode::kChanged);
  });
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kChanged);
  EXPECT_EQ(Lines(log), 1) << log;
  EXPECT_THAT(log, HasSubstr("imagenet"));
  EXPECT_THAT(log, HasSubstr("train/a.tar"));
  EXPECT_THAT(log, HasSubstr(archive_.id.ToString()));
  EXPECT_THAT(log,
              HasSubstr("chunk 1 (offset 131072) of '/near/data/imagenet/train/a.tar' holds other bytes"));
}

TEST_F(ArchiveBytesTest, AnotherSizeIsChangedWithWhatWasFoundAndServedAgainWhenItIsBack) {
  near_->Put(kPlace, "short", kPublished);
  const std::string log = Logged([&] {
    EXPECT_EQ(ReadAt(0, 1).code(), ErrorCode::kChanged);
    EXPECT_EQ(ReadAt(0, 1).code(), ErrorCode::kChanged);
  });
  EXPECT_EQ(Lines(log), 1) << "one line for one event: " << log;
  EXPECT_THAT(log, HasSubstr("found 5 bytes at '/near/data/imagenet/train/a.tar' instead of 458752"));
  PutGood();
  const std::string back = Logged([&] { EXPECT_TRUE(ReadsWell(0, 100)); });
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
  EXPECT_THAT(back, HasSubstr("is served again"));
}

TEST_F(ArchiveBytesTest, AMissingArchiveIsNotFoundAndComesBackByItself) {
  PutGood();
  EXPECT_TRUE(ReadsWell(0, 100));
  near_->Remove(kPlace);
  const std::string log = Logged([&] {
    EXPECT_EQ(ReadAt(0, 100).code(), ErrorCode::kNotFound);
    EXPECT_EQ(ReadAt(0, 100).code(), ErrorCode::kNotFound);
  });
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kMissing);
  EXPECT_EQ(Lines(log), 1) << log;
  EXPECT_THAT(log, HasSubstr("nothing at '/near/data/imagenet/train/a.tar'"));
  EXPECT_THAT(log, HasSubstr("nothing at '/near/train/a.tar'"));
  EXPECT_THAT(log, HasSubstr(archive_.id.ToString()));
  PutGood();
  EXPECT_TRUE(ReadsWell(0, 100));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
}

TEST_F(ArchiveBytesTest, AFailureIsKeptForOneInterval) {
  interval_ = std::chrono::hours(1);
  Use({near_}, {});
  EXPECT_EQ(ReadAt(0, 1).code(), ErrorCode::kNotFound);
  const int opens = near_->opens;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ReadAt(0, 1).code(), ErrorCode::kNotFound);
  EXPECT_EQ(near_->opens, opens);
}

TEST_F(ArchiveBytesTest, AGoodCopyElsewhereIsUsedWithoutTheReaderNoticing) {
  PutGood();
  far_->Put(kPlace, archive_.bytes, kPublished + 5);
  Use({near_, far_}, {});
  EXPECT_TRUE(ReadsWell(0, 100));
  EXPECT_EQ(far_->opens, 0) << "the first place agrees";
  near_->Edit(kPlace, [&](FakeSource::File* file) {
    file->contents = Damaged(50);
    file->identity.mtime_ns += 1;
  });
  EXPECT_TRUE(ReadsWell(0, 100));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kChecking) << "the copy is checked as it has another time";
  near_->Remove(kPlace);
  EXPECT_TRUE(ReadsWell(2 * kChunk, 100));
}

TEST_F(ArchiveBytesTest, APlaceThatAgreesIsTakenBeforeOneThatHasToBeChecked) {
  PutGood(kPublished + 1);
  far_->Put(kPlace, archive_.bytes, kPublished);
  Use({near_, far_}, {});
  EXPECT_TRUE(ReadsWell(0, 100));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
  EXPECT_EQ(near_->reads, 0);
}

TEST_F(ArchiveBytesTest, ChangedTellsMoreThanUnreadableAndThatMoreThanMissing) {
  Use({near_, far_}, {});
  far_->Put(kPlace, archive_.bytes, kPublished);
  far_->Edit(kPlace, [](FakeSource::File* file) { file->open_errno = EACCES; });
  EXPECT_EQ(ReadAt(0, 1).code(), ErrorCode::kPermissionDenied);
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kUnreadable);
  near_->Put(kPlace, "other", kPublished);
  EXPECT_EQ(ReadAt(0, 1).code(), ErrorCode::kChanged);
}

TEST_F(ArchiveBytesTest, AFileThatIsTruncatedUnderItsDescriptorIsNeverFilledUp) {
  interval_ = std::chrono::hours(1);
  Use({near_}, {});
  PutGood();
  EXPECT_TRUE(ReadsWell(0, 100));
  near_->Edit(kPlace, [](FakeSource::File* file) { file->contents.resize(kChunk); });
  EXPECT_EQ(ReadAt(kChunk - 5, 10).code(), ErrorCode::kChanged);
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kChanged);
}

TEST_F(ArchiveBytesTest, AStaleHandleIsOpenedAgainOnce) {
  interval_ = std::chrono::hours(1);
  Use({near_}, {});
  PutGood();
  EXPECT_TRUE(ReadsWell(0, 100));
  near_->Edit(kPlace, [](FakeSource::File* file) { file->stale_reads = 1; });
  EXPECT_TRUE(ReadsWell(0, 100));
  EXPECT_EQ(near_->opens, 2);
  near_->Edit(kPlace, [](FakeSource::File* file) { file->stale_reads = 2; });
  const Status status = ReadAt(0, 100);
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  EXPECT_EQ(status.error_number(), ESTALE);
}

TEST_F(ArchiveBytesTest, AnInputErrorNamesDatasetArchiveAndPlace) {
  PutGood();
  near_->Edit(kPlace, [](FakeSource::File* file) { file->read_errno = EIO; });
  const Status status = ReadAt(0, 100);
  EXPECT_EQ(status.code(), ErrorCode::kIo);
  for (const char* part : {"imagenet", "train/a.tar", "/near/data/imagenet/train/a.tar"}) {
    EXPECT_THAT(status.message(), HasSubstr(part));
  }
  near_->Edit(kPlace, [](FakeSource::File* file) { file->read_errno = 0; });
  EXPECT_TRUE(ReadsWell(0, 100));
}

TEST_F(ArchiveBytesTest, VerifyChunkChecksEveryReadThoughTheStatAgrees) {
  ArchiveBytesOptions options;
  options.verify = VerifyMode::kChunk;
  Use({near_}, options);
  PutGood();
  EXPECT_TRUE(ReadsWell(0, 10));
  EXPECT_TRUE(ReadsWell(0, 10));
  EXPECT_EQ(near_->read_bytes, 2 * kChunk);
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
  // Replaced, with the mtime put back.
  near_->Put(kPlace, Damaged(5), kPublished);
  EXPECT_EQ(ReadAt(0, 10).code(), ErrorCode::kChanged);
}

TEST_F(ArchiveBytesTest, BytesBeyondTheArchiveAreRefusedBeforeAnythingIsAsked) {
  PutGood();
  EXPECT_EQ(ReadAt(archive_.bytes.size() - 1, 2).code(), ErrorCode::kCorrupt);
  EXPECT_EQ(ReadAt(UINT64_MAX, 2).code(), ErrorCode::kCorrupt);
  EXPECT_EQ(near_->opens, 0);
  EXPECT_TRUE(ReadAt(archive_.bytes.size(), 0).ok());
}

TEST_F(ArchiveBytesTest, TheSameRowGivesTheSameHandleAndAnotherPathOneMorePlace) {
  EXPECT_EQ(bytes_->Add(generation_, Row()), handle_);
  EXPECT_EQ(bytes_->Add(generation_, Row("moved/a.tar")), handle_);
  near_->Put("data/imagenet/moved/a.tar", archive_.bytes, kPublished);
  EXPECT_TRUE(ReadsWell(0, 100));
  EXPECT_NE(bytes_->Add(generation_, Row("train/b.tar", 2)), handle_);
}

TEST_F(ArchiveBytesTest, NoMoreDescriptorsAreHeldThanAllowedAndUsedOnesStay) {
  interval_ = std::chrono::hours(1);
  ArchiveBytesOptions options;
  options.max_open_files = 4;
  Use({near_}, options);
  std::vector<ArchiveBytes::Archive*> handles;
  for (uint32_t i = 0; i < 20; ++i) {
    const std::string path = "many/" + std::to_string(i);
    near_->Put("data/imagenet/" + path, archive_.bytes, kPublished);
    handles.push_back(bytes_->Add(generation_, Row(path, 100 + i)));
  }
  std::byte out[16];
  for (ArchiveBytes::Archive* handle : handles) {
    ASSERT_TRUE(bytes_->Read(handles[0], 0, out).ok());
    ASSERT_TRUE(bytes_->Read(handle, 0, out).ok());
    EXPECT_LE(near_->open_now, 4);
  }
  EXPECT_LE(near_->opens, 22) << "the one that is always used is hardly ever closed";
}

TEST_F(ArchiveBytesTest, AccessIsThatOfTheFileNowAndOfTheManifestWhileThereIsNone) {
  EXPECT_EQ(*bytes_->Access(handle_), (io::FileAccess{0640, 7, 8}));
  PutGood();
  EXPECT_EQ(*bytes_->Access(handle_), (io::FileAccess{0644, 1000, 1000}));
  near_->Edit(kPlace, [](FakeSource::File* file) { file->access = {0600, 1, 2}; });
  EXPECT_EQ(*bytes_->Access(handle_), (io::FileAccess{0600, 1, 2}));
  interval_ = std::chrono::hours(1);
  Use({near_}, {});
  near_->stats = 0;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(bytes_->Access(handle_).ok());
  EXPECT_EQ(near_->stats, 1) << "one look an interval";
}

// Readers, an evictor and a file that is replaced by good and bad ones: whatever is given is right.
TEST_F(ArchiveBytesTest, ConcurrentReadsNeverGiveOtherBytes) {
  ArchiveBytesOptions options;
  options.max_open_files = 1;
  Use({near_}, options);
  PutGood();
  near_->Put("data/imagenet/b", archive_.bytes, kPublished + 1);
  ArchiveBytes::Archive* handles[] = {handle_, bytes_->Add(generation_, Row("b", 2))};
  std::atomic<bool> stop{false};
  std::atomic<int> good{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&, t] {
      std::vector<std::byte> out(5000);
      for (size_t i = static_cast<size_t>(t); !stop; ++i) {
        const uint64_t offset = i * 7919 % (archive_.bytes.size() - out.size());
        if (!bytes_->Read(handles[i % 2], offset, out).ok()) continue;
        const bool same = std::memcmp(out.data(), archive_.bytes.data() + offset, out.size()) == 0;
        (same ? good : wrong)++;
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    near_->Put(kPlace, i % 2 == 0 ? Damaged(static_cast<size_t>(i) * 5000) : archive_.bytes, kPublished + i);
    if (i % 5 == 0) near_->Remove(kPlace);
    if (i % 5 == 0) PutGood();
    std::this_thread::yield();
  }
  PutGood();
  while (good < 100) std::this_thread::yield();
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tarn::dataset

// What becomes of reads when archives are touched, replaced, deleted or cannot be reached for a while.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tarn/index/kept_files.h"
#include "tests/support/scratch.h"
#include "tests/unit/dataset/archive_bytes_fixture.h"

namespace tarn::dataset {
namespace {

class ArchiveChangesTest : public ArchiveBytesTest {
 protected:
  // With everything said going to lines_.
  void UseRecording(ArchiveBytesOptions options) {
    options.report = [this](LogLevel, std::string_view line) { lines_.emplace_back(line); };
    Use({near_}, std::move(options));
  }
  ArchiveBytesOptions Keeping() {
    ArchiveBytesOptions options;
    options.verdict_file = directory_ / "verdicts";
    return options;
  }

  support::Scratch directory_;
  std::vector<std::string> lines_;
};

TEST_F(ArchiveChangesTest, WhatWasWrittenWhileItWasReadIsNotServed) {
  interval_ = std::chrono::hours(1);  // nobody looks before a read
  UseRecording({});
  PutGood();
  EXPECT_TRUE(ReadsWell(0, 10));
  near_->Edit(kPlace, [&](FakeSource::File* file) {
    file->contents = Damaged(50);
    file->identity.mtime_ns = kPublished + 7;
  });
  EXPECT_EQ(ReadAt(0, 100).code(), ErrorCode::kChanged)
      << "the time has moved on, which is seen after the read";
  PutGood();
}

TEST_F(ArchiveChangesTest, AFileThatIsTouchedWhileItIsReadIsReadAgainWithACheck) {
  interval_ = std::chrono::hours(1);
  UseRecording({});
  PutGood();
  EXPECT_TRUE(ReadsWell(0, 10));
  near_->Edit(kPlace, [&](FakeSource::File* file) {
    file->after_read = [](FakeSource::File* touched) { touched->identity.mtime_ns = kPublished + 7; };
  });
  EXPECT_TRUE(ReadsWell(0, 100));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kChecking);
  EXPECT_EQ(bytes_->Totals().checked_bytes, kChunk);
}

TEST_F(ArchiveChangesTest, AFileThatIsWrittenAllTheTimeEndsInAnError) {
  interval_ = std::chrono::hours(1);
  UseRecording({});
  PutGood();
  EXPECT_TRUE(ReadsWell(0, 10));
  std::function<void(FakeSource::File*)> touch = [&](FakeSource::File* file) {
    ++file->identity.mtime_ns;
    file->contents[0] ^= 1;  // and the first chunk is bad every second time
    file->after_read = touch;
  };
  near_->Edit(kPlace, [&](FakeSource::File* file) { file->after_read = touch; });
  const Status status = ReadAt(kChunk - 10, 2 * kChunk);
  EXPECT_TRUE(status.ok() || status.code() == ErrorCode::kChanged) << status.ToString();
  near_->Edit(kPlace, [](FakeSource::File* file) { file->after_read = nullptr; });
}

TEST_F(ArchiveChangesTest, VerdictsOutliveTheProcess) {
  PutGood(kPublished + 1);
  UseRecording(Keeping());
  EXPECT_TRUE(ReadsWell(0, kChunk + 10));
  EXPECT_EQ(near_->read_bytes, 2 * kChunk);
  near_->read_bytes = 0;
  UseRecording(Keeping());  // as after a kill
  EXPECT_TRUE(ReadsWell(100, kChunk));
  EXPECT_EQ(near_->read_bytes, kChunk) << "nothing is checked twice";
  EXPECT_TRUE(ReadsWell(2 * kChunk, archive_.bytes.size() - 2 * kChunk));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
  lines_.clear();
  UseRecording(Keeping());
  EXPECT_TRUE(ReadsWell(0, 10));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed) << "all of it was checked before";
  EXPECT_TRUE(lines_.empty()) << lines_.front();
}

TEST_F(ArchiveChangesTest, AVerdictHoldsForTheFileThatWasLookedAtAlone) {
  PutGood(kPublished + 1);
  UseRecording(Keeping());
  EXPECT_TRUE(ReadsWell(0, 10));
  near_->Put(kPlace, Damaged(5), kPublished + 1);  // the same size and time; another ctime and inode
  UseRecording(Keeping());
  EXPECT_EQ(ReadAt(0, 10).code(), ErrorCode::kChanged);
  UseRecording(Keeping());
  near_->read_bytes = 0;
  EXPECT_EQ(ReadAt(2 * kChunk, 10).code(), ErrorCode::kChanged) << "a bad chunk is remembered, too";
  EXPECT_EQ(near_->read_bytes, 0U);
}

TEST_F(ArchiveChangesTest, AVerdictFileThatIsDamagedOrSomebodyElsesCostsChecksAndNothingElse) {
  std::ofstream(Keeping().verdict_file) << "this is not what is expected";
  PutGood(kPublished + 1);
  UseRecording(Keeping());
  EXPECT_TRUE(ReadsWell(0, 10));
  std::filesystem::permissions(Keeping().verdict_file, std::filesystem::perms::all);
  near_->read_bytes = 0;
  const std::string log = Logged([&] {
    UseRecording(Keeping());
    EXPECT_TRUE(ReadsWell(0, 10));
  });
  EXPECT_EQ(near_->read_bytes, kChunk);
  EXPECT_THAT(log, HasSubstr("may be written by others"));
}

TEST_F(ArchiveChangesTest, TheCopyOfTheIndexRootIsServedWhenTheOriginalIsGone) {
  const auto kept = std::make_shared<FakeSource>("/index");
  kept->Put(index::KeptPath(archive_.id), archive_.bytes, 77);
  ArchiveBytesOptions options;
  options.kept = kept;
  PutGood();
  UseRecording(options);
  EXPECT_TRUE(ReadsWell(0, 10));
  EXPECT_EQ(kept->opens, 0);
  near_->Remove(kPlace);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(ReadsWell(0, 100));
  ASSERT_EQ(lines_.size(), 1U) << "one notice";
  EXPECT_THAT(lines_[0], HasSubstr("is no longer where it was published: nothing at"));
  EXPECT_THAT(lines_[0], HasSubstr("served from '/index/" + index::KeptPath(archive_.id) + "'"));
  const auto access = bytes_->Access(handle_);
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(*access, Row().access) << "owner and mode are those of the published file";
}

TEST_F(ArchiveChangesTest, AnOverwrittenOriginalIsLeftForTheCopyWithoutOneWrongByte) {
  const auto kept = std::make_shared<FakeSource>("/index");
  kept->Put(index::KeptPath(archive_.id), archive_.bytes, 77);
  ArchiveBytesOptions options;
  options.kept = kept;
  PutGood();
  UseRecording(options);
  EXPECT_TRUE(ReadsWell(0, 10));
  near_->Edit(kPlace, [&](FakeSource::File* file) {
    file->contents = Damaged(5);
    file->identity.mtime_ns = kPublished + 7;
  });
  EXPECT_TRUE(ReadsWell(0, 10));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kChecking);
  near_->Put(kPlace, "another size", kPublished);
  EXPECT_TRUE(ReadsWell(0, archive_.bytes.size()));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
}

TEST_F(ArchiveChangesTest, ADamagedCopyIsNotServed) {
  const auto kept = std::make_shared<FakeSource>("/index");
  kept->Put(index::KeptPath(archive_.id), Damaged(5), 77);
  ArchiveBytesOptions options;
  options.kept = kept;
  UseRecording(options);
  EXPECT_FALSE(ReadAt(0, 10).ok());
}

TEST_F(ArchiveChangesTest, ASourceThatFailsForAMomentIsNotNoticed) {
  for (const int error : {EIO, ESTALE, ETIMEDOUT, EHOSTDOWN}) {
    PutGood();
    ArchiveBytesOptions options;
    options.retry_for = std::chrono::hours(1);
    UseRecording(options);
    near_->Edit(kPlace, [error](FakeSource::File* file) {
      file->read_errno = error;
      file->failing_reads = 3;
    });
    EXPECT_TRUE(ReadsWell(0, 10)) << error;
    EXPECT_EQ(bytes_->Totals().retries, 3U);
    EXPECT_EQ(bytes_->Totals().stale, error == ESTALE ? 3U : 0U);
    EXPECT_EQ(bytes_->Totals().failed, 0U);
  }
}

TEST_F(ArchiveChangesTest, ASourceThatGoesOnFailingIsTriedForAsLongAsWasSaid) {
  PutGood();
  ArchiveBytesOptions options;
  options.retry_for = std::chrono::milliseconds(200);
  UseRecording(options);
  near_->Edit(kPlace, [](FakeSource::File* file) { file->read_errno = EIO; });
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(ReadAt(0, 10).error_number(), EIO);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(200));
  const uint64_t retries = bytes_->Totals().retries;
  EXPECT_GT(retries, 0U);
  EXPECT_EQ(ReadAt(0, 10).error_number(), EIO);
  EXPECT_EQ(bytes_->Totals().retries, retries) << "it is known to fail: others do not wait again";
  EXPECT_EQ(bytes_->Totals().failed, 2U);
}

TEST_F(ArchiveChangesTest, AnArchiveThatCannotBeOpenedForAMomentIsTriedAgainToo) {
  PutGood();
  ArchiveBytesOptions options;
  options.retry_for = std::chrono::hours(1);
  UseRecording(options);
  near_->Edit(kPlace, [](FakeSource::File* file) { file->open_errno = ETIMEDOUT; });
  std::jthread server([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    near_->Edit(kPlace, [](FakeSource::File* file) { file->open_errno = 0; });
  });
  EXPECT_TRUE(ReadsWell(0, 10));
}

TEST_F(ArchiveChangesTest, WhatIsMissingIsNotTriedAgain) {
  ArchiveBytesOptions options;
  options.retry_for = std::chrono::hours(1);
  UseRecording(options);
  EXPECT_EQ(ReadAt(0, 10).code(), ErrorCode::kNotFound);
  EXPECT_EQ(bytes_->Totals().retries, 0U);
}

TEST_F(ArchiveChangesTest, WhatOthersKeepOfAChangedArchiveIsForgottenBeforeTheChangeIsReported) {
  std::vector<ChangedArchive> forgotten;
  std::vector<std::function<void()>> reports;
  ArchiveBytesOptions options;
  options.forget_cached = [&](const ChangedArchive& archive, std::function<void()> report) {
    forgotten.push_back(archive);
    reports.push_back(std::move(report));
  };
  UseRecording(options);
  near_->Put(kPlace, Damaged(5), kPublished + 1);
  EXPECT_EQ(ReadAt(0, 10).code(), ErrorCode::kChanged) << "a reader does not wait for it";
  EXPECT_EQ(ReadAt(0, 10).code(), ErrorCode::kChanged);
  ASSERT_EQ(forgotten.size(), 1U) << "once for each event";
  EXPECT_EQ(forgotten[0].dataset, 3U);
  EXPECT_EQ(forgotten[0].number, 1U);
  EXPECT_EQ(forgotten[0].members, Row().members);
  EXPECT_EQ(lines_.size(), 1U) << "that it was touched";
  EXPECT_NE(bytes_->State(handle_), ArchiveState::kChanged);
  reports[0]();
  ASSERT_EQ(lines_.size(), 2U);
  EXPECT_THAT(lines_[1], HasSubstr("was changed"));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kChanged);
}

TEST_F(ArchiveChangesTest, AReportThatComesTooLateDoesNotHideThatAllIsWell) {
  std::function<void()> report;
  ArchiveBytesOptions options;
  options.forget_cached = [&](const ChangedArchive&, std::function<void()> later) {
    report = std::move(later);
  };
  UseRecording(options);
  near_->Put(kPlace, "short", kPublished);
  EXPECT_EQ(ReadAt(0, 10).code(), ErrorCode::kChanged);
  PutGood();
  EXPECT_TRUE(ReadsWell(0, 10));
  report();
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
}

TEST_F(ArchiveChangesTest, WhatWasTouchedIsCheckedBehindItsReaders) {
  PutGood(kPublished + 1);
  UseRecording({});
  EXPECT_TRUE(ReadsWell(0, 10));
  EXPECT_EQ(bytes_->CheckBehind(1, std::chrono::hours(1)), 0U) << "it was touched a moment ago";
  EXPECT_EQ(bytes_->CheckBehind(1, std::chrono::seconds(0)), kChunk) << "one chunk at least";
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kChecking);
  EXPECT_EQ(bytes_->CheckBehind(1 << 30, std::chrono::seconds(0)), archive_.bytes.size() - 2 * kChunk)
      << "nothing twice";
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kServed);
  EXPECT_THAT(lines_.back(), HasSubstr("every chunk"));
  EXPECT_EQ(bytes_->CheckBehind(1 << 30, std::chrono::seconds(0)), 0U);
}

TEST_F(ArchiveChangesTest, ABadChunkThatNobodyReadsIsFoundBehindThem) {
  near_->Put(kPlace, Damaged(3 * kChunk + 1), kPublished + 1);
  UseRecording({});
  EXPECT_TRUE(ReadsWell(0, 10));
  bytes_->CheckBehind(1 << 30, std::chrono::seconds(0));
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kChanged);
  EXPECT_THAT(lines_.back(), HasSubstr("chunk 3 (offset 393216)"));
}

TEST_F(ArchiveChangesTest, AnArchiveThatIsNowhereIsSearchedForAndCheckedWhereItIsFound) {
  const auto searched = std::make_shared<FakeSource>("/attic");
  searched->Put("old/b.tar", Damaged(5), 1);
  searched->Put("old/a.tar", archive_.bytes, 2);
  int searches = 0;
  ArchiveBytesOptions options;
  options.searched = {searched};
  options.search = [&](const ArchiveId& id, const std::string& path) -> Result<std::vector<FoundFile>> {
    ++searches;
    EXPECT_EQ(id, archive_.id);
    EXPECT_EQ(path, "train/a.tar");
    return std::vector<FoundFile>{{0, "old/b.tar"}, {0, "old/a.tar"}};
  };
  PutGood();
  UseRecording(options);
  EXPECT_TRUE(ReadsWell(0, 10));
  EXPECT_EQ(searches, 0);
  near_->Remove(kPlace);
  EXPECT_TRUE(ReadsWell(0, 10)) << "what is not the archive is passed over";
  EXPECT_EQ(bytes_->State(handle_), ArchiveState::kChecking);
  ASSERT_EQ(lines_.size(), 1U) << "nothing is said of what turned out to be something else";
  EXPECT_THAT(lines_.back(), HasSubstr("/attic/old/a.tar"));
  PutGood();
}

}  // namespace
}  // namespace tarn::dataset

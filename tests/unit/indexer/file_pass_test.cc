// Files that change, vanish or cannot be read while they are read.
#include "indexer/file_pass.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <sstream>

#include "indexer/pipeline.h"
#include "tarn/io/filesystem.h"
#include "tests/support/pseudo_random.h"
#include "tests/support/scratch.h"
#include "tests/support/tar_writer.h"

namespace tarn::indexer {
namespace {

using Outcome = FilePassResult::Outcome;

// A directory whose files do something when they are read beyond their first block.
class MeddlingSource final : public io::Source {
 public:
  // What a read meets; an error is what the read gives.
  using Meddle = std::function<Status(const std::string& path)>;

  MeddlingSource(std::shared_ptr<io::Source> source, Meddle meddle)
      : source_(std::move(source)), meddle_(std::move(meddle)) {}

  Result<std::unique_ptr<io::RandomAccessFile>> Open(std::string_view path) const override {
    TARN_ASSIGN_OR_RETURN(auto file, source_->Open(path));
    return std::unique_ptr<io::RandomAccessFile>(
        std::make_unique<MeddlingFile>(std::move(file), std::string(path), meddle_));
  }
  Result<io::FileStat> Stat(std::string_view path) const override { return source_->Stat(path); }
  Result<std::vector<io::DirectoryItem>> List(std::string_view path) const override {
    return source_->List(path);
  }
  const std::string& name() const override { return source_->name(); }

 private:
  class MeddlingFile final : public io::RandomAccessFile {
   public:
    MeddlingFile(std::unique_ptr<io::RandomAccessFile> file, std::string path, const Meddle& meddle)
        : file_(std::move(file)), path_(std::move(path)), meddle_(meddle) {}
    Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
      if (offset > 0) TARN_RETURN_IF_ERROR(meddle_(path_));
      return file_->ReadAt(offset, out);
    }
    Result<io::FileStat> Stat() const override { return file_->Stat(); }
    const std::string& name() const override { return file_->name(); }

   private:
    const std::unique_ptr<io::RandomAccessFile> file_;
    const std::string path_;
    const Meddle& meddle_;
  };

  const std::shared_ptr<io::Source> source_;
  const Meddle meddle_;
};

class FilePassTest : public ::testing::Test {
 protected:
  void SetUp() override {
    support::TarWriter writer;
    for (int i = 0; i < 40; ++i) {
      writer.AddFile("f" + std::to_string(i), support::PseudoRandom(1).Bytes(1000));
    }
    tar_ = writer.Finish();
    file_ = scratch_.Write("base/img/a.tar", tar_);
    auto root = index::IndexRoot::OpenOrCreate(scratch_ / "ix");
    ASSERT_TRUE(root.ok()) << root.status().ToString();
    root_ = *std::move(root);
    auto clock = ServerClock::Ask(scratch_ / "ix/staging");
    ASSERT_TRUE(clock.ok());
    clock_ = std::make_unique<ServerClock>(*clock);
    ASSERT_TRUE(io::MakeDirectories(scratch_ / "scratch").ok());
    auto journal = Journal::Open(scratch_ / "journals", "own");
    ASSERT_TRUE(journal.ok());
    journal_ = *std::move(journal);
    batch_ = std::make_unique<BundleBatch>(root_.get(), journal_.get(), scratch_ / "scratch");
  }

  void Meddle(MeddlingSource::Meddle meddle) {
    source_ = std::make_shared<MeddlingSource>(*io::OpenSource(scratch_ / "base"), std::move(meddle));
    context_ = FilePassContext{.source = source_.get(),
                               .dataset = "img",
                               .selection = &selection_,
                               .root = root_.get(),
                               .journal = journal_.get(),
                               .batch = batch_.get(),
                               .clock = clock_.get(),
                               .progress = &progress_,
                               .options = {.read_bytes = 4096, .depth = 1}};
  }
  ScannedFile Scanned() { return {"a.tar", *(*io::OpenSource(scratch_ / "base"))->Stat("img/a.tar")}; }

  FilePassResult Read() {
    Result<FilePassResult> result = ReadFileOnce(context_, Scanned(), scratch_ / "scratch");
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    EXPECT_TRUE(batch_->Flush().ok());
    return result.ok() ? *std::move(result) : FilePassResult();
  }
  Result<PipelineResult> ReadAll(int64_t timeout_seconds) {
    const PipelineOptions options{
        .jobs = 2, .scratch = scratch_ / "scratch", .settle_timeout_ns = timeout_seconds * 1'000'000'000};
    return ReadFiles(context_, options, {Scanned()});
  }
  size_t Bundles() {
    size_t count = 0;
    for (const auto& item : std::filesystem::recursive_directory_iterator(scratch_ / "ix/bundles")) {
      count += item.is_regular_file() ? 1 : 0;
    }
    return count;
  }

  const support::Scratch scratch_;
  std::string tar_, file_;
  std::unique_ptr<index::IndexRoot> root_;
  std::unique_ptr<ServerClock> clock_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<BundleBatch> batch_;
  std::shared_ptr<io::Source> source_;
  const Selection selection_;
  std::ostringstream err_;
  Progress progress_{&err_, ProgressStyle::kNone};
  FilePassContext context_;
};

TEST_F(FilePassTest, AQuietFileIsRead) {
  Meddle([](const std::string&) { return Status(); });
  const FilePassResult result = Read();
  EXPECT_EQ(result.outcome, Outcome::kRead);
  EXPECT_EQ(result.file.facts.members, 40U);
  EXPECT_EQ(progress_.bytes(), tar_.size());
  EXPECT_TRUE(root_->HasBundle(result.file.id));
}

TEST_F(FilePassTest, AFileThatIsWrittenToWhileItIsReadIsUnsettledAndHasNoBundle) {
  Meddle([this](const std::string&) {
    scratch_.Write("base/img/a.tar", tar_);  // the same bytes; its times tell
    return Status();
  });
  const FilePassResult result = Read();
  EXPECT_EQ(result.outcome, Outcome::kUnsettled);
  EXPECT_NE(result.reason.message().find("a.tar"), std::string::npos);
  EXPECT_EQ(Bundles(), 0U);
}

TEST_F(FilePassTest, AFileThatIsReplacedWhileItIsReadIsUnsettled) {
  Meddle([this](const std::string&) {
    std::filesystem::rename(scratch_.Write("base/img/new", tar_), file_);
    return Status();
  });
  EXPECT_EQ(Read().outcome, Outcome::kUnsettled);
  EXPECT_EQ(Bundles(), 0U);
}

TEST_F(FilePassTest, AFileThatBecomesShorterWhileItIsReadIsUnsettledNotTruncated) {
  Meddle([this](const std::string&) {
    std::filesystem::resize_file(file_, 6000);
    return Status();
  });
  EXPECT_EQ(Read().outcome, Outcome::kUnsettled);
}

TEST_F(FilePassTest, AFileThatVanishesWhileItIsReadIsLeftOut) {
  Meddle([this](const std::string&) {
    std::filesystem::remove(file_);
    return Status();
  });
  const FilePassResult result = Read();
  EXPECT_EQ(result.outcome, Outcome::kLeftOut);
  EXPECT_EQ(result.reason.code(), ErrorCode::kNotFound);
  EXPECT_EQ(Bundles(), 0U);
}

TEST_F(FilePassTest, AFileThatCannotBeReadIsLeftOutWithTheReason) {
  Meddle([](const std::string&) { return Status(ErrorCode::kIo, "bad sector"); });
  const FilePassResult result = Read();
  EXPECT_EQ(result.outcome, Outcome::kLeftOut);
  EXPECT_EQ(result.reason.message(), "bad sector");
}

TEST_F(FilePassTest, AnUnsettledFileIsReadAgainUntilItIsQuiet) {
  int writes = 0;
  Meddle([this, &writes](const std::string&) {
    if (++writes <= 2) scratch_.Write("base/img/a.tar", tar_);
    return Status();
  });
  const auto result = ReadAll(/*timeout_seconds=*/60);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  ASSERT_EQ(result->read.size(), 1U);
  EXPECT_EQ(result->read[0].file.facts.members, 40U);
  EXPECT_TRUE(result->left_out.empty());
}

TEST_F(FilePassTest, AFileThatIsNeverQuietIsLeftOutAfterTheTimeout) {
  Meddle([this](const std::string&) {
    scratch_.Write("base/img/a.tar", tar_);
    return Status();
  });
  const auto result = ReadAll(/*timeout_seconds=*/1);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->read.empty());
  ASSERT_EQ(result->left_out.size(), 1U);
  EXPECT_NE(result->left_out[0].reason.message().find("changed while it was read"), std::string::npos);
}

TEST_F(FilePassTest, AFailingIndexRootEndsThePipeline) {
  Meddle([](const std::string&) { return Status(); });
  ASSERT_TRUE(io::RemoveTree(scratch_ / "ix/bundles").ok());
  scratch_.Write("ix/bundles", "in the way");
  const auto result = ReadAll(/*timeout_seconds=*/1);
  EXPECT_FALSE(result.ok());
}

TEST(TrustTest, AHintIsTrustedWhenItsTimeStampCannotComeAgain) {
  constexpr int64_t kSecond = 1'000'000'000;
  io::FileIdentity fine{.size = 1, .mtime_ns = 0, .ctime_ns = 100 * kSecond + 123, .inode = 1};
  EXPECT_FALSE(IsTrusted(fine, fine.ctime_ns));
  EXPECT_FALSE(IsTrusted(fine, fine.ctime_ns - kSecond));
  EXPECT_FALSE(IsTrusted(fine, fine.ctime_ns + kSecond / 20));
  EXPECT_TRUE(IsTrusted(fine, fine.ctime_ns + kSecond / 10));
  fine.ctime_ns = 100 * kSecond;  // a file system that stamps whole seconds
  EXPECT_FALSE(IsTrusted(fine, fine.ctime_ns + kSecond));
  EXPECT_TRUE(IsTrusted(fine, fine.ctime_ns + 2 * kSecond));
}

}  // namespace
}  // namespace tarn::indexer

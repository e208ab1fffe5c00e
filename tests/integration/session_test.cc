// The session on a real mount, served by this process: what the kernel asks, and what happens when a source
// hangs.
#include "fuse/session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>

#include "fuse/mount_point.h"
#include "fuse/operation.h"
#include "fuse/source_gate.h"
#include "support/child.h"
#include "support/mount.h"
#include "support/scratch.h"
#include "tarn/dataset/file_tree.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"
#include "tarn/io/random_access_file.h"

namespace tarn::fuse {
namespace {

// A source whose reads of one archive hang while the gate is shut.
class GatedSource final : public io::Source {
 public:
  GatedSource(std::shared_ptr<io::Source> below, std::string gated)
      : below_(std::move(below)), gated_(std::move(gated)) {}

  void Shut() { shut_ = true; }
  // Also for whoever looks at the archive or opens it.
  void ShutForLooks() {
    looks_too_ = true;
    Shut();
  }
  void OpenGate() {
    const std::lock_guard lock(mutex_);
    shut_ = false;
    changed_.notify_all();
  }
  unsigned hanging() const { return hanging_; }

  Result<std::unique_ptr<io::RandomAccessFile>> Open(std::string_view path) const override {
    Look(path);
    TARN_ASSIGN_OR_RETURN(auto file, below_->Open(path));
    return std::unique_ptr<io::RandomAccessFile>(
        std::make_unique<File>(std::move(file), path.ends_with(gated_) ? this : nullptr));
  }
  Result<io::FileStat> Stat(std::string_view path) const override {
    Look(path);
    return below_->Stat(path);
  }
  Result<std::vector<io::DirectoryItem>> List(std::string_view path) const override {
    return below_->List(path);
  }
  const std::string& name() const override { return below_->name(); }

 private:
  class File final : public io::RandomAccessFile {
   public:
    File(std::unique_ptr<io::RandomAccessFile> below, const GatedSource* gate)
        : below_(std::move(below)), gate_(gate) {}
    Result<size_t> ReadAt(uint64_t offset, std::span<std::byte> out) const override {
      if (gate_ != nullptr) gate_->Pass();
      return below_->ReadAt(offset, out);
    }
    Result<io::FileStat> Stat() const override {
      if (gate_ != nullptr && gate_->looks_too_) gate_->Pass();
      return below_->Stat();
    }
    const std::string& name() const override { return below_->name(); }

   private:
    std::unique_ptr<io::RandomAccessFile> below_;
    const GatedSource* gate_;
  };

  void Look(std::string_view path) const {
    if (looks_too_ && path.ends_with(gated_)) Pass();
  }
  void Pass() const {
    std::unique_lock lock(mutex_);
    ++hanging_;
    changed_.wait(lock, [this] { return !shut_; });
    --hanging_;
  }

  std::shared_ptr<io::Source> below_;
  std::string gated_;
  std::atomic<bool> shut_{false};
  std::atomic<bool> looks_too_{false};
  mutable std::atomic<unsigned> hanging_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
};

constexpr int kFiles = 80;

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = support::WhyNoMounts();
    if (!why.empty()) GTEST_SKIP() << why;
    for (const char* archive : {"slow", "quick"}) {
      for (int i = 0; i < kFiles; ++i) {
        scratch_.Write("tree/" + std::to_string(i), archive + std::to_string(i));
      }
      std::filesystem::create_directories(scratch_ / "data");
      ASSERT_EQ(support::RunProgram({"tar", "-C", scratch_ / "tree", "-cf",
                                     scratch_ / "data/" + (std::string(archive) + ".tar"), "."})
                    .exit_code,
                0);
    }
    support::Publish(scratch_ / "data", "set", scratch_ / "index");
    std::filesystem::create_directory(scratch_ / "mnt");
  }
  void TearDown() override {
    if (gate_ != nullptr) gate_->OpenGate();
    if (mount_ != nullptr) static_cast<void>(mount_->Detach());
    if (mount_ != nullptr) mount_->CloseDescriptor();
    session_.reset();
  }

  // `quick.tar` lies in the second source alone, so that one source can hang and the other not.
  void Serve(const SessionOptions& options) {
    auto root = index::IndexRoot::Open(scratch_ / "index");
    ASSERT_TRUE(root.ok());
    auto generation = index::GenerationReader::Open((*root)->GenerationPath("set", 1));
    ASSERT_TRUE(generation.ok()) << generation.status().ToString();
    auto slow = io::OpenSource(scratch_ / "data");
    ASSERT_TRUE(slow.ok());
    std::filesystem::create_directory(scratch_ / "near");
    std::filesystem::rename(scratch_ / "data/quick.tar", scratch_ / "near/quick.tar");
    auto near = io::OpenSource(scratch_ / "near");
    ASSERT_TRUE(near.ok());
    gate_ = std::make_shared<GatedSource>(std::move(slow).value(), "slow.tar");
    source_gate_ = std::make_unique<SourceGate>(std::vector<std::string>{gate_->name(), (*near)->name()},
                                                options.max_workers);
    dataset::ArchiveBytesOptions bytes;
    bytes.sources = {gate_, std::move(near).value()};
    bytes.guard = source_gate_.get();
    tree_ = std::make_unique<dataset::FileTree>(dataset::FileTreeOptions(),
                                                std::make_shared<dataset::ArchiveBytes>(std::move(bytes)));
    const auto node = tree_->Attach(std::move(generation).value());
    ASSERT_TRUE(node.ok()) << node.status().ToString();
    file_system_ = std::make_unique<FileSystem>(tree_.get(), *node);
    auto mounted = MountPoint::Mount(scratch_ / "mnt",
                                     {.source = "tarn:set@1", .allow_other = true, .max_read = kMaxRead});
    ASSERT_TRUE(mounted.ok()) << mounted.status().ToString();
    mount_ = std::make_unique<MountPoint>(std::move(mounted).value());
    auto session =
        Session::Attach(mount_->fd(), file_system_.get(), NegotiatedRecord(), options, source_gate_.get());
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    session_ = std::move(session).value();
    session_->Start();
  }

  std::string Path(const std::string& archive, int file) const {
    return scratch_ / ("mnt/" + archive + "/" + std::to_string(file));
  }
  // A reader must not hold the descriptor that answers it: the connection would outlive its server, and the
  // reader's wait with it.
  static void LetGoOfTheServer() { close_range(3, ~0U, 0); }
  static testing::AssertionResult InReader(const std::function<void()>& body) {
    return support::InChild([&] {
      LetGoOfTheServer();
      body();
    });
  }
  // Children that each read one file of the slow archive.
  std::vector<pid_t> StartSlowReaders(int count) const {
    std::vector<pid_t> readers;
    for (int i = 0; i < count; ++i) {
      const pid_t pid = fork();
      if (pid == 0) {
        LetGoOfTheServer();
        char text[64] = {};
        const int fd = open(Path("slow", i).c_str(), O_RDONLY);
        const ssize_t got = read(fd, text, sizeof(text));
        _exit(got > 0 && std::string(text, static_cast<size_t>(got)) == "slow" + std::to_string(i) ? 0 : 1);
      }
      readers.push_back(pid);
    }
    return readers;
  }
  template <typename Condition>
  static bool Soon(Condition condition) {
    for (int i = 0; i < 12000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  support::Scratch scratch_;
  std::shared_ptr<GatedSource> gate_;
  std::unique_ptr<SourceGate> source_gate_;
  std::unique_ptr<dataset::FileTree> tree_;
  std::unique_ptr<FileSystem> file_system_;
  std::unique_ptr<MountPoint> mount_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, WorkersGrowAsReadersHangAndOthersAreServed) {
  ASSERT_NO_FATAL_FAILURE(Serve({.initial_workers = 2, .max_workers = 64}));
  gate_->Shut();
  const std::vector<pid_t> readers = StartSlowReaders(16);
  EXPECT_TRUE(Soon([&] { return gate_->hanging() == 16; })) << gate_->hanging();
  EXPECT_GT(session_->workers(), 16U);
  EXPECT_TRUE(InReader([&] {
    EXPECT_EQ(support::Scratch::Read(Path("quick", 3)), "quick3");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_ / "mnt/slow"), {}), kFiles);
  }));
  gate_->OpenGate();
  for (const pid_t reader : readers) EXPECT_EQ(support::WaitForChild(reader, std::chrono::seconds(60)), 0);
  // They stay: starting them again would cost more than they do.
  EXPECT_GT(session_->workers(), 16U);
}

TEST_F(SessionTest, NoMoreWorkersAreStartedThanAllowed) {
  ASSERT_NO_FATAL_FAILURE(Serve({.initial_workers = 1, .max_workers = 5}));
  gate_->Shut();
  const std::vector<pid_t> readers = StartSlowReaders(12);
  EXPECT_TRUE(Soon([&] { return gate_->hanging() == 2; })) << gate_->hanging();
  EXPECT_LE(session_->workers(), 5U);
  gate_->OpenGate();
  for (const pid_t reader : readers) EXPECT_EQ(support::WaitForChild(reader, std::chrono::seconds(60)), 0);
  EXPECT_LE(session_->workers(), 5U);
}

// More readers hang than there are workers: half of them are inside, the rest of the requests wait without a
// thread, and everything else goes on.
TEST_F(SessionTest, MoreReadersThanWorkersHangAndOthersAreServed) {
  ASSERT_NO_FATAL_FAILURE(Serve({.initial_workers = 2, .max_workers = 16}));
  gate_->Shut();
  const std::vector<pid_t> readers = StartSlowReaders(64);
  EXPECT_TRUE(Soon([&] { return source_gate_->Totals()[0].waiting == 64 - 8; }))
      << source_gate_->Totals()[0].waiting;
  EXPECT_EQ(gate_->hanging(), 8U);
  EXPECT_LE(session_->workers(), 16U);
  EXPECT_TRUE(InReader([&] {
    for (int i = 0; i < kFiles; ++i) {
      EXPECT_EQ(support::Scratch::Read(Path("quick", i)), "quick" + std::to_string(i));
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_ / "mnt/slow"), {}), kFiles);
    struct stat status {};
    EXPECT_EQ(stat(Path("quick", 7).c_str(), &status), 0);
  }));
  gate_->OpenGate();
  for (const pid_t reader : readers) EXPECT_EQ(support::WaitForChild(reader, std::chrono::seconds(60)), 0);
  const SourceTotals totals = source_gate_->Totals()[0];
  EXPECT_EQ(totals.inside, 0U);
  EXPECT_EQ(totals.waiting, 0U);
  EXPECT_EQ(totals.timed_out, 0U);
  EXPECT_GE(totals.set_aside, 64U - 8U);
}

// Attributes of an archive's members depend on the archive file: looking at it is a call into its source, and
// a lookup that hangs there holds a worker as a read does.
TEST_F(SessionTest, LookupsThatHangInASourceDoNotStopAnother) {
  ASSERT_NO_FATAL_FAILURE(Serve({.initial_workers = 2, .max_workers = 8}));
  gate_->ShutForLooks();
  std::vector<pid_t> lookers;
  for (int i = 0; i < 24; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      LetGoOfTheServer();
      struct stat status {};
      _exit(stat(Path("slow", i).c_str(), &status) == 0 ? 0 : 1);
    }
    lookers.push_back(pid);
  }
  EXPECT_TRUE(Soon([&] { return gate_->hanging() > 0; }));
  EXPECT_TRUE(InReader([&] { EXPECT_EQ(support::Scratch::Read(Path("quick", 3)), "quick3"); }));
  EXPECT_LE(gate_->hanging(), 4U);
  gate_->OpenGate();
  for (const pid_t looker : lookers) EXPECT_EQ(support::WaitForChild(looker, std::chrono::seconds(60)), 0);
}

// The archive was looked at before its source began to hang: names and attributes that nobody has asked for
// yet are answered with what was seen then.
TEST_F(SessionTest, NamesAndAttributesGoOnWhileASourceHangs) {
  ASSERT_NO_FATAL_FAILURE(Serve({.initial_workers = 2, .max_workers = 8}));
  EXPECT_TRUE(InReader([&] { EXPECT_EQ(support::Scratch::Read(Path("slow", 70)), "slow70"); }));
  gate_->ShutForLooks();
  const std::vector<pid_t> readers = StartSlowReaders(24);
  EXPECT_TRUE(Soon([&] { return gate_->hanging() > 0 && !source_gate_->Answers(0); }));
  EXPECT_TRUE(InReader([&] {
    for (int i = 30; i < kFiles; ++i) {
      struct stat status {};
      EXPECT_EQ(stat(Path("slow", i).c_str(), &status), 0) << i;
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_ / "mnt/slow"), {}), kFiles);
  }));
  gate_->OpenGate();
  for (const pid_t reader : readers) EXPECT_EQ(support::WaitForChild(reader, std::chrono::seconds(60)), 0);
}

TEST_F(SessionTest, AReadThatExceedsTheDeadlineFailsIsCountedAndNamed) {
  ASSERT_NO_FATAL_FAILURE(
      Serve({.initial_workers = 2, .max_workers = 8, .deadline = std::chrono::milliseconds(300)}));
  gate_->Shut();
  testing::internal::CaptureStderr();
  EXPECT_TRUE(InReader([&] {
    char text[64];
    const int fd = open(Path("slow", 1).c_str(), O_RDONLY);
    EXPECT_NE(fd, -1);
    EXPECT_EQ(read(fd, text, sizeof(text)), -1);
    EXPECT_EQ(errno, EIO);
  }));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("has not answered for 'slow.tar' within 0.3 s"), std::string::npos) << log;
  EXPECT_NE(log.find(gate_->name()), std::string::npos) << log;
  EXPECT_GE(source_gate_->Totals()[0].timed_out, 1U);
  EXPECT_GE(gate_->hanging(), 1U);
  gate_->OpenGate();
  // What the hung worker comes back with goes nowhere; whoever reads now gets the bytes.
  EXPECT_TRUE(InReader([&] { EXPECT_EQ(support::Scratch::Read(Path("slow", 1)), "slow1"); }));
  EXPECT_TRUE(Soon([&] { return source_gate_->Totals()[0].inside == 0; }));
}

// Those that wait for a hung source without a worker have the same deadline.
TEST_F(SessionTest, EveryReaderOfAHungSourceIsToldAtTheDeadline) {
  ASSERT_NO_FATAL_FAILURE(
      Serve({.initial_workers = 2, .max_workers = 8, .deadline = std::chrono::milliseconds(300)}));
  gate_->Shut();
  std::vector<pid_t> readers;
  for (int i = 0; i < 40; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      LetGoOfTheServer();
      char text[64];
      const int fd = open(Path("slow", i).c_str(), O_RDONLY);
      _exit(fd != -1 && read(fd, text, sizeof(text)) == -1 && errno == EIO ? 0 : 1);
    }
    readers.push_back(pid);
  }
  for (const pid_t reader : readers) EXPECT_EQ(support::WaitForChild(reader, std::chrono::seconds(60)), 0);
  EXPECT_EQ(gate_->hanging(), 4U);
  gate_->OpenGate();
}

// The source answers at the very moment at which the deadline passes, again and again: a reader gets the file
// or EIO, nothing else, and the mount goes on.
TEST_F(SessionTest, AnAnswerAndTheDeadlineCanRace) {
  ASSERT_NO_FATAL_FAILURE(
      Serve({.initial_workers = 2, .max_workers = 8, .deadline = std::chrono::milliseconds(20)}));
  for (int i = 0; i < 30; ++i) {
    gate_->Shut();
    const pid_t pid = fork();
    if (pid == 0) {
      LetGoOfTheServer();
      char text[64] = {};
      const int fd = open(Path("slow", i).c_str(), O_RDONLY);
      const ssize_t got = fd == -1 ? -1 : read(fd, text, sizeof(text));
      _exit((got == -1 && errno == EIO) || std::string(text) == "slow" + std::to_string(i) ? 0 : 1);
    }
    EXPECT_TRUE(Soon([&] { return gate_->hanging() > 0; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(15 + i % 12));
    gate_->OpenGate();
    EXPECT_EQ(support::WaitForChild(pid, std::chrono::seconds(60)), 0) << i;
  }
  EXPECT_TRUE(InReader([&] { EXPECT_EQ(support::Scratch::Read(Path("quick", 1)), "quick1"); }));
}

TEST_F(SessionTest, TheKernelAsksOnceToOpenAndNotAtAllToReadAgain) {
  ASSERT_NO_FATAL_FAILURE(Serve({}));
  const auto read_all = [&] {
    EXPECT_TRUE(InReader([&] {
      for (int i = 0; i < kFiles; ++i)
        EXPECT_EQ(support::Scratch::Read(Path("quick", i)), "quick" + std::to_string(i));
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_ / "mnt/quick"), {}), kFiles);
      struct stat status {};
      EXPECT_NE(stat(Path("quick", 999).c_str(), &status), 0);
    }));
  };
  const AllOperationTotals start = OperationTotalsNow();
  const auto count = [&start](Operation operation) {
    const auto index = static_cast<size_t>(operation);
    return OperationTotalsNow()[index].requests - start[index].requests;
  };
  read_all();
  EXPECT_EQ(count(Operation::kOpen), 1U);
  EXPECT_EQ(count(Operation::kOpendir), 1U);
  EXPECT_LE(count(Operation::kFlush), 1U);
  EXPECT_EQ(count(Operation::kRead), static_cast<uint64_t>(kFiles));
  EXPECT_EQ(count(Operation::kRelease) + count(Operation::kReleasedir), 0U);
  const AllOperationTotals before = OperationTotalsNow();
  read_all();
  const AllOperationTotals after = OperationTotalsNow();
  for (size_t i = 0; i < kOperations; ++i) {
    EXPECT_EQ(after[i].requests, before[i].requests) << OperationName(static_cast<Operation>(i));
  }
}

TEST_F(SessionTest, WhatWasNegotiatedIsWrittenDown) {
  ASSERT_NO_FATAL_FAILURE(Serve({}));
  const NegotiatedRecord& record = session_->negotiated();
  EXPECT_EQ(record.protocol_major, 7U);
  EXPECT_GT(record.init_request.size(), 40U);
  EXPECT_EQ(record.max_read, kMaxRead);
  EXPECT_EQ(record.max_background, kMaxBackground);
  EXPECT_EQ(record.flags & ~record.kernel_offers, 0U);
  EXPECT_NE(record.flags, 0U);
  EXPECT_EQ(record.not_asked, (std::vector<std::string>{"open", "opendir", "flush"}));
}

// What a planned replacement needs: the workers leave at once, and requests that come meanwhile are kept.
TEST_F(SessionTest, WorkersLeaveWhenToldAndTheConnectionStays) {
  ASSERT_NO_FATAL_FAILURE(Serve({}));
  EXPECT_EQ(session_->Stop(std::chrono::seconds(10)), 0U);
  EXPECT_TRUE(support::IsMounted(mount_->path()));
}

TEST_F(SessionTest, AWorkerInsideASourceIsWaitedForAndThenCounted) {
  ASSERT_NO_FATAL_FAILURE(Serve({}));
  // The kernel learns that it need not ask at close: nobody would answer then.
  EXPECT_TRUE(InReader([&] { EXPECT_EQ(support::Scratch::Read(Path("quick", 0)), "quick0"); }));
  gate_->Shut();
  const std::vector<pid_t> readers = StartSlowReaders(1);
  EXPECT_TRUE(Soon([&] { return gate_->hanging() == 1; }));
  EXPECT_EQ(session_->Stop(std::chrono::milliseconds(200)), 1U);
  gate_->OpenGate();
  EXPECT_EQ(session_->Stop(std::chrono::seconds(10)), 0U);
  // What it was asked is answered before it leaves.
  EXPECT_EQ(support::WaitForChild(readers[0], std::chrono::seconds(60)), 0);
}

}  // namespace
}  // namespace tarn::fuse

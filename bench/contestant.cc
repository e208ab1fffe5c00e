#include "bench/contestant.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

constexpr uint64_t kLargestRequest = uint64_t{8} << 20;

// Reads `bytes` from `offset` on into `buffer`, over and over, in requests that fit it.
int ReadRange(int fd, uint64_t offset, uint64_t bytes, std::vector<char>* buffer, uint64_t* calls) {
  while (bytes > 0) {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(bytes, buffer->size()));
    const ssize_t got = ::pread(fd, buffer->data(), wanted, static_cast<off_t>(offset));
    ++*calls;
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (got == 0) return EIO;  // shorter than it was said to be
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
  return 0;
}

size_t BufferBytes(const AccessPlan& plan, uint64_t read_bytes) {
  const uint64_t request = plan.unit == ReadUnit::kStream ? read_bytes : kLargestRequest;
  return static_cast<size_t>(std::max<uint64_t>(1, std::min(request, plan.largest)));
}

class RawReader final : public StepReader {
 public:
  RawReader(const MemberList& list, const AccessPlan& plan, const std::vector<int>& fds, size_t buffer_bytes)
      : list_(list), plan_(plan), fds_(fds), buffer_(buffer_bytes) {}

  int Read(size_t step, uint64_t* calls) override {
    const AccessPlan::Step& what = plan_.steps[step];
    const MemberList::Target& target = list_.targets()[what.target];
    return ReadRange(fds_[target.archive], target.offset + what.offset, what.bytes, &buffer_, calls);
  }

 private:
  const MemberList& list_;
  const AccessPlan& plan_;
  const std::vector<int>& fds_;
  std::vector<char> buffer_;
};

class RawFactory final : public ReaderFactory {
 public:
  RawFactory(const MemberList& list, const AccessPlan& plan, uint64_t read_bytes)
      : list_(list),
        plan_(plan),
        fds_(list.archives().size(), -1),
        buffer_bytes_(BufferBytes(plan, read_bytes)) {}
  ~RawFactory() override {
    for (const int fd : fds_) {
      if (fd >= 0) ::close(fd);
    }
  }

  Status Open() {
    for (const AccessPlan::Step& step : plan_.steps) {
      const uint32_t archive = list_.targets()[step.target].archive;
      if (fds_[archive] >= 0) continue;
      const std::string& path = list_.archives()[archive];
      const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0) {
        Status status = Status::FromErrno(errno, "cannot open '" + path + "'");
        if (errno != EMFILE) return status;
        return std::move(status).WithHint("raise 'ulimit -n': the raw limit keeps every archive open");
      }
      fds_[archive] = fd;
      // Exactly the bytes wanted; but a front-to-back read is held against what the system does for one.
      if (plan_.unit != ReadUnit::kStream) ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    }
    return Status::Ok();
  }

  std::unique_ptr<StepReader> MakeReader() const override {
    return std::make_unique<RawReader>(list_, plan_, fds_, buffer_bytes_);
  }
  std::string Describe(size_t step) const override {
    const AccessPlan::Step& what = plan_.steps[step];
    const MemberList::Target& target = list_.targets()[what.target];
    return fmt::format("{} bytes at {} of '{}'", what.bytes, target.offset + what.offset,
                       list_.archives()[target.archive]);
  }

 private:
  const MemberList& list_;
  const AccessPlan& plan_;
  std::vector<int> fds_;
  const size_t buffer_bytes_;
};

class FileReader final : public StepReader {
 public:
  FileReader(const MemberList& list, const AccessPlan& plan, const std::vector<std::string>& paths,
             size_t buffer_bytes)
      : list_(list), plan_(plan), paths_(paths), buffer_(buffer_bytes) {}

  int Read(size_t step, uint64_t* calls) override {
    const AccessPlan::Step& what = plan_.steps[step];
    const int fd = ::open(paths_[step].c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    struct stat facts = {};
    int error = ::fstat(fd, &facts) != 0 ? errno : 0;
    if (error == 0 && static_cast<uint64_t>(facts.st_size) != list_.targets()[what.target].size) error = EIO;
    if (error == 0) error = ReadRange(fd, what.offset, what.bytes, &buffer_, calls);
    ::close(fd);
    return error;
  }

 private:
  const MemberList& list_;
  const AccessPlan& plan_;
  const std::vector<std::string>& paths_;
  std::vector<char> buffer_;
};

class FileFactory final : public ReaderFactory {
 public:
  FileFactory(const std::string& directory, const MemberList& list, const AccessPlan& plan,
              uint64_t read_bytes)
      : list_(list), plan_(plan), buffer_bytes_(BufferBytes(plan, read_bytes)) {
    paths_.reserve(plan.steps.size());
    for (const AccessPlan::Step& step : plan.steps)
      paths_.push_back(io::JoinPath(directory, list.PathOf(list.targets()[step.target])));
  }

  std::unique_ptr<StepReader> MakeReader() const override {
    return std::make_unique<FileReader>(list_, plan_, paths_, buffer_bytes_);
  }
  std::string Describe(size_t step) const override {
    return fmt::format("{} bytes at {} of '{}'", plan_.steps[step].bytes, plan_.steps[step].offset,
                       paths_[step]);
  }

 private:
  const MemberList& list_;
  const AccessPlan& plan_;
  std::vector<std::string> paths_;
  const size_t buffer_bytes_;
};

}  // namespace

Result<Contestant> ParseContestant(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size()) {
    return Status(ErrorCode::kInvalidArgument,
                  fmt::format("expected NAME=DIR or cmd=COMMAND, found '{}'", text))
        .WithHint("for example --compare loose=/data/extracted");
  }
  const std::string_view name = text.substr(0, equals);
  if (name == "raw" || name == "mount") {
    return Status(ErrorCode::kInvalidArgument, fmt::format("the name '{}' of --compare is taken", name))
        .WithHint("the raw limit is always measured; --mount names the mount");
  }
  return Contestant{std::string(name), name == "cmd" ? ContestantKind::kCommand : ContestantKind::kFiles,
                    std::string(text.substr(equals + 1))};
}

Result<std::unique_ptr<ReaderFactory>> MakeReaderFactory(const Contestant& contestant, const MemberList& list,
                                                         const AccessPlan& plan, uint64_t read_bytes) {
  if (contestant.kind == ContestantKind::kFiles)
    return std::unique_ptr<ReaderFactory>(
        std::make_unique<FileFactory>(contestant.where, list, plan, read_bytes));
  auto raw = std::make_unique<RawFactory>(list, plan, read_bytes);
  TARN_RETURN_IF_ERROR(raw->Open());
  return std::unique_ptr<ReaderFactory>(std::move(raw));
}

Result<std::string> ReadStep(const Contestant& contestant, const MemberList& list, const AccessPlan& plan,
                             size_t step) {
  const AccessPlan::Step& what = plan.steps[step];
  const MemberList::Target& target = list.targets()[what.target];
  const bool raw = contestant.kind == ContestantKind::kRaw;
  const std::string path =
      raw ? list.archives()[target.archive] : io::JoinPath(contestant.where, list.PathOf(target));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Status::FromErrno(errno, "cannot open '" + path + "'");
  std::string bytes(static_cast<size_t>(what.bytes), '\0');
  const uint64_t start = what.offset + (raw ? target.offset : 0);
  int error = 0;
  for (size_t at = 0; at < bytes.size() && error == 0;) {
    const ssize_t got = ::pread(fd, bytes.data() + at, bytes.size() - at, static_cast<off_t>(start + at));
    if (got < 0 && errno == EINTR) continue;
    error = got < 0 ? errno : got == 0 ? EIO : 0;
    if (got > 0) at += static_cast<size_t>(got);
  }
  ::close(fd);
  if (error != 0)
    return Status::FromErrno(error, fmt::format("cannot read {} bytes of '{}'", what.bytes, path));
  return bytes;
}

void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  // If the system refuses, opening says so.
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace tarn::bench

#include "bench/dataset_generator.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "bench/random.h"
#include "tarn/io/filesystem.h"

namespace tarn::bench {
namespace {

constexpr uint64_t kImagesPerClass = 1300;
constexpr int64_t kFirstMtime = 1'600'000'000;  // 2020-09-13
constexpr size_t kFlushBytes = size_t{4} << 20;
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;  // of contents generated at a time; a multiple of 8

// Streams of random numbers that have nothing to do with each other.
enum Stream : uint64_t { kSizeStream = 1, kNameStream = 2, kContentStream = 3, kTimeStream = 4 };

uint64_t StreamSeed(uint64_t seed, Stream stream, uint64_t archive, uint64_t member) {
  return Random::Combine(Random::Combine(Random::Combine(seed, stream), archive), member);
}

// Bytes [offset, offset + size) of a member's contents; `offset` is a multiple of 8.
void FillContents(uint64_t stream, uint64_t offset, size_t size, char* out) {
  uint64_t counter = stream + (offset / 8) * 0x9e3779b97f4a7c15ULL;
  size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    const uint64_t word = Random::Mix(counter += 0x9e3779b97f4a7c15ULL);
    std::memcpy(out + at, &word, 8);
  }
  if (at < size) {
    const uint64_t word = Random::Mix(counter + 0x9e3779b97f4a7c15ULL);
    std::memcpy(out + at, &word, size - at);
  }
}

// A file that must not exist, written front to back; synced by Close.
class NewFile {
 public:
  static Result<NewFile> Create(std::string path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
      return Status::FromErrno(errno, "cannot create '" + path + "'")
          .WithHint("a dataset is written into a new or empty directory");
    }
    return NewFile(fd, std::move(path));
  }
  NewFile(NewFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  Status Write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Status::FromErrno(errno, "cannot write '" + path_ + "'");
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return Status::Ok();
  }
  Status SetTime(int64_t seconds, uint32_t nanoseconds) const {
    const timespec when = {seconds, static_cast<long>(nanoseconds)};
    const timespec times[2] = {when, when};
    if (::futimens(fd_, times) != 0)
      return Status::FromErrno(errno, "cannot set the time of '" + path_ + "'");
    return Status::Ok();
  }
  Status Sync() const {
    if (::fdatasync(fd_) != 0) return Status::FromErrno(errno, "cannot sync '" + path_ + "'");
    return Status::Ok();
  }
  Status Close() {
    if (::close(std::exchange(fd_, -1)) != 0) return Status::FromErrno(errno, "cannot close '" + path_ + "'");
    return Status::Ok();
  }

 private:
  NewFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  std::string path_;
};

struct Name {
  std::string directory;  // ends in '/'; empty: the archive's root
  std::string base;
};

Name MakeName(const DatasetOptions& options, uint64_t archive, uint64_t member) {
  Random random(StreamSeed(options.seed, kNameStream, archive, member));
  switch (options.names) {
    case NameStyle::kImagenet: {
      const uint64_t group = member / kImagesPerClass;
      Random of_class(StreamSeed(options.seed, kNameStream, archive, ~group));
      // The running number in the middle keeps classes of one archive apart.
      const std::string wnid = fmt::format("n{:05}{:03}", group % 100'000, of_class.Below(1000));
      return {wnid + "/", fmt::format("{}_{}.JPEG", wnid, member % kImagesPerClass * 7 + random.Below(7))};
    }
    case NameStyle::kRandom20: {
      static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
      std::string base(20, ' ');
      for (char& letter : base) letter = kLetters[random.Below(kLetters.size())];
      return {"", base};
    }
    case NameStyle::kNumbered:
      return {"", fmt::format("{:09}.jpg", member)};
    case NameStyle::kDeep: {
      std::string directory;
      for (unsigned level = 0; level < 5; ++level) {
        directory += fmt::format("a-directory-with-a-long-name-{}/", level == 4 ? member / 1000 : level);
      }
      return {directory, fmt::format("{:09}.jpg", member)};
    }
  }
  return {};
}

class ArchiveWriter {
 public:
  ArchiveWriter(const DatasetOptions& options, uint64_t archive, DatasetTotals* totals)
      : options_(options), archive_(archive), stem_(GeneratedArchiveName(options, archive)), totals_(totals) {
    stem_.resize(stem_.size() - 4);
  }

  Status Write() {
    TARN_ASSIGN_OR_RETURN(NewFile file, NewFile::Create(io::JoinPath(options_.directory, stem_ + ".tar")));
    if (!options_.loose.empty())
      TARN_RETURN_IF_ERROR(io::MakeDirectories(io::JoinPath(options_.loose, stem_)));
    for (uint64_t member = 0; member < options_.members; ++member)
      TARN_RETURN_IF_ERROR(WriteMember(member, file));
    AppendTarEnd(written_ + buffer_.size(), &buffer_);
    TARN_RETURN_IF_ERROR(Flush(file));
    TARN_RETURN_IF_ERROR(file.SetTime(kFirstMtime, 0));
    TARN_RETURN_IF_ERROR(file.Sync());
    ++totals_->archives;
    totals_->archive_bytes += written_;
    return file.Close();
  }

 private:
  Status WriteMember(uint64_t number, const NewFile& file) {
    const Name name = MakeName(options_, archive_, number);
    if (name.directory != directory_) TARN_RETURN_IF_ERROR(StartDirectory(name.directory));
    Random sizes(StreamSeed(options_.seed, kSizeStream, archive_, number));
    Random times(StreamSeed(options_.seed, kTimeStream, archive_, number));
    const std::string path = name.directory + name.base;
    TarMember member{.name = path, .size = options_.sizes.Next(&sizes)};
    member.mtime = kFirstMtime + static_cast<int64_t>(times.Below(100'000));
    member.mtime_ns =
        options_.format == TarFormat::kPax ? static_cast<uint32_t>(times.Below(1'000'000'000)) : 0;
    TARN_RETURN_IF_ERROR(AppendTarHeader(options_.format, member, &buffer_));
    TARN_RETURN_IF_ERROR(WriteContents(number, member, file));
    ++totals_->members;
    totals_->member_bytes += member.size;
    return Status::Ok();
  }

  Status StartDirectory(const std::string& directory) {
    directory_ = directory;
    const TarMember member{.name = directory, .mode = 0755, .mtime = kFirstMtime};
    TARN_RETURN_IF_ERROR(AppendTarHeader(options_.format, member, &buffer_));
    ++totals_->directories;
    if (options_.loose.empty()) return Status::Ok();
    return io::MakeDirectories(io::JoinPath(io::JoinPath(options_.loose, stem_), directory));
  }

  Status WriteContents(uint64_t number, const TarMember& member, const NewFile& file) {
    std::unique_ptr<NewFile> loose;
    if (!options_.loose.empty()) {
      const std::string path = io::JoinPath(io::JoinPath(options_.loose, stem_), member.name);
      TARN_ASSIGN_OR_RETURN(NewFile created, NewFile::Create(path));
      loose = std::make_unique<NewFile>(std::move(created));
    }
    const uint64_t stream = StreamSeed(options_.seed, kContentStream, archive_, number);
    for (uint64_t at = 0; at < member.size;) {
      const size_t piece = static_cast<size_t>(std::min(member.size - at, kPieceBytes));
      const size_t start = buffer_.size();
      buffer_.resize(start + piece);
      FillContents(stream, at, piece, buffer_.data() + start);
      if (loose) TARN_RETURN_IF_ERROR(loose->Write(std::string_view(buffer_).substr(start)));
      at += piece;
      if (buffer_.size() >= kFlushBytes) TARN_RETURN_IF_ERROR(Flush(file));
    }
    buffer_.append(TarPadding(member.size), '\0');
    if (!loose) return Status::Ok();
    TARN_RETURN_IF_ERROR(loose->SetTime(member.mtime, member.mtime_ns));
    return loose->Close();
  }

  Status Flush(const NewFile& file) {
    TARN_RETURN_IF_ERROR(file.Write(buffer_));
    written_ += buffer_.size();
    buffer_.clear();
    return Status::Ok();
  }

  const DatasetOptions& options_;
  const uint64_t archive_;
  std::string stem_;
  DatasetTotals* const totals_;
  std::string buffer_;
  uint64_t written_ = 0;
  std::string directory_;
};

// Many small loose files are synced at once, by their file system.
Status SyncFileSystem(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Status::FromErrno(errno, "cannot open '" + path + "'");
  const int result = ::syncfs(fd);
  const int error = errno;
  ::close(fd);
  return result == 0 ? Status::Ok()
                     : Status::FromErrno(error, "cannot sync the file system of '" + path + "'");
}

}  // namespace

Result<NameStyle> ParseNameStyle(std::string_view text) {
  for (const NameStyle style :
       {NameStyle::kImagenet, NameStyle::kRandom20, NameStyle::kNumbered, NameStyle::kDeep}) {
    if (text == NameStyleName(style)) return style;
  }
  return Status(ErrorCode::kInvalidArgument, fmt::format("expected a style of names, found '{}'", text))
      .WithHint("the styles are imagenet, random20, numbered and deep");
}

std::string_view NameStyleName(NameStyle style) {
  switch (style) {
    case NameStyle::kImagenet:
      return "imagenet";
    case NameStyle::kRandom20:
      return "random20";
    case NameStyle::kNumbered:
      return "numbered";
    case NameStyle::kDeep:
      return "deep";
  }
  return "";
}

Result<DatasetTotals> GenerateDataset(const DatasetOptions& options,
                                      const std::function<void(const DatasetTotals&)>& progress) {
  TARN_RETURN_IF_ERROR(io::MakeDirectories(options.directory));
  if (!options.loose.empty()) TARN_RETURN_IF_ERROR(io::MakeDirectories(options.loose));
  DatasetTotals totals;
  for (uint64_t archive = 0; archive < options.archives; ++archive) {
    TARN_RETURN_IF_ERROR(ArchiveWriter(options, archive, &totals).Write());
    if (progress) progress(totals);
  }
  TARN_RETURN_IF_ERROR(io::SyncDirectory(options.directory));
  if (!options.loose.empty()) TARN_RETURN_IF_ERROR(SyncFileSystem(options.loose));
  return totals;
}

std::string GeneratedArchiveName(const DatasetOptions& options, uint64_t archive) {
  return options.archives > 100'000 ? fmt::format("train-{:010}.tar", archive)
                                    : fmt::format("train-{:05}.tar", archive);
}

void GenerateContents(uint64_t seed, uint64_t archive, uint64_t member, uint64_t size, std::string* out) {
  out->resize(static_cast<size_t>(size));
  FillContents(StreamSeed(seed, kContentStream, archive, member), 0, out->size(), out->data());
}

}  // namespace tarn::bench

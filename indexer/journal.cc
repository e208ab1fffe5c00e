#include "indexer/journal.h"

#include <charconv>
#include <optional>
#include <utility>

#include "tarn/base/bytes.h"
#include "tarn/digest/archive_digester.h"

namespace tarn::indexer {
namespace {

constexpr std::string_view kSuffix = ".journal";
constexpr std::string_view kVersion = "1";
constexpr size_t kMaxJournalBytes = size_t{1} << 30;

std::string ChecksumOf(std::string_view text) {
  std::string bytes;
  AppendBigEndian64(&bytes, digest::ChunkChecksum(std::as_bytes(std::span(text.data(), text.size()))));
  return ToHex(bytes);
}

// Takes the text up to the next blank off the front.
std::string_view TakeWord(std::string_view* text) {
  const size_t blank = text->find(' ');
  const std::string_view word = text->substr(0, blank);
  text->remove_prefix(blank == std::string_view::npos ? text->size() : blank + 1);
  return word;
}

template <typename Number>
bool TakeNumber(std::string_view* text, Number* number) {
  const std::string_view word = TakeWord(text);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

std::string RenderJournalLine(const JournalLine& line) {
  std::string text(kVersion);
  for (const std::string& word : {std::to_string(line.hint.size), std::to_string(line.hint.mtime_ns),
                                  std::to_string(line.hint.ctime_ns), std::to_string(line.hint.inode),
                                  line.id.ToString(), EscapeName(line.path)}) {
    text += ' ';
    text += word;
  }
  return ChecksumOf(text) + " " + text + "\n";
}

std::optional<JournalLine> ParseJournalLine(std::string_view text) {
  const std::string_view checksum = TakeWord(&text);
  if (checksum != ChecksumOf(text) || TakeWord(&text) != kVersion) return std::nullopt;
  JournalLine line;
  if (!TakeNumber(&text, &line.hint.size) || !TakeNumber(&text, &line.hint.mtime_ns) ||
      !TakeNumber(&text, &line.hint.ctime_ns) || !TakeNumber(&text, &line.hint.inode)) {
    return std::nullopt;
  }
  const auto id = ArchiveId::FromString(TakeWord(&text));
  auto path = UnescapeName(text);
  if (!id || !path) return std::nullopt;
  line.id = *id;
  line.path = *std::move(path);
  return line;
}

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& directory, const std::string& name) {
  TARN_RETURN_IF_ERROR(io::MakeDirectories(directory));
  std::string path = io::JoinPath(directory, name + std::string(kSuffix));
  TARN_ASSIGN_OR_RETURN(std::optional<io::FileLock> lock, io::FileLock::TryAcquire(path));
  if (!lock) return Status(ErrorCode::kInternal, "journal '" + path + "' is in use by somebody else");
  TARN_ASSIGN_OR_RETURN(std::unique_ptr<io::AppendFile> file, io::AppendFile::Continue(path));
  std::unique_ptr<Journal> journal(new Journal(directory, std::move(path), std::move(lock), std::move(file)));
  TARN_RETURN_IF_ERROR(journal->ReadOthers());
  return journal;
}

Result<std::unique_ptr<Journal>> Journal::Look(const std::string& directory) {
  std::unique_ptr<Journal> journal(new Journal(directory, "", std::nullopt, nullptr));
  if (io::IsDirectory(directory)) TARN_RETURN_IF_ERROR(journal->ReadOthers());
  return journal;
}

Status Journal::ReadOthers() {
  TARN_ASSIGN_OR_RETURN(const std::vector<std::string> names, io::ListDirectory(directory_));
  for (const std::string& name : names) {
    std::string path = io::JoinPath(directory_, name);
    if (!name.ends_with(kSuffix) || path == path_) continue;
    const Result<std::string> text = io::ReadFile(path, kMaxJournalBytes);
    if (text.code() == ErrorCode::kNotFound) continue;  // its publish has ended
    TARN_RETURN_IF_ERROR(text.status());
    for (std::string_view rest = *text; !rest.empty();) {
      const size_t end = rest.find('\n');
      if (end == std::string_view::npos) break;  // torn, or being written
      if (auto line = ParseJournalLine(rest.substr(0, end))) {
        std::string key = line->path;
        known_.insert_or_assign(std::move(key), *std::move(line));
      }
      rest.remove_prefix(end + 1);
    }
    others_.push_back(std::move(path));
  }
  return Status::Ok();
}

const JournalLine* Journal::Find(const std::string& path) const {
  const auto found = known_.find(path);
  return found == known_.end() ? nullptr : &found->second;
}

Status Journal::Add(const JournalLine& line) {
  const std::string text = RenderJournalLine(line);
  const std::lock_guard guard(mutex_);
  TARN_RETURN_IF_ERROR(file_->Append(text));
  return file_->Flush();
}

Status Journal::Compact(const std::vector<JournalLine>& lines) {
  if (lines.empty()) {
    TARN_RETURN_IF_ERROR(io::RemoveFile(path_));
  } else {
    std::string text;
    for (const JournalLine& line : lines) text += RenderJournalLine(line);
    TARN_RETURN_IF_ERROR(io::WriteFileAtomically(path_, text));
  }
  for (const std::string& other : others_) {
    TARN_ASSIGN_OR_RETURN(const std::optional<io::FileLock> lock, io::FileLock::TryAcquire(other));
    if (lock) TARN_RETURN_IF_ERROR(io::RemoveFile(other));
  }
  return Status::Ok();
}

}  // namespace tarn::indexer

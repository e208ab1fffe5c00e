#include "dataset/verdict_store.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tarn/base/log.h"
#include "tarn/digest/archive_digester.h"

namespace tarn::dataset {
namespace {

constexpr uint64_t kMagic = 0x3130'4456'4E52'4154;  // "TARNVD01" as bytes
// Eight bytes for each 8 MiB of touched archives, and 40 a file: more than a petabyte.
constexpr size_t kMostBytes = size_t{1} << 30;

struct RecordHead {
  Digest key;
  uint64_t words;
};
static_assert(sizeof(RecordHead) == 24);

// What a verdict holds for: this file, as it looks, as a copy of this archive.
Digest KeyOf(const ArchiveId& id, const std::string& name, const io::FileIdentity& identity) {
  return digest::DigestOf(id.ToString() + '\0' + name + '\0' + std::to_string(identity.size) + ' ' +
                          std::to_string(identity.mtime_ns) + ' ' + std::to_string(identity.ctime_ns) + ' ' +
                          std::to_string(identity.inode));
}

}  // namespace

VerdictStore::VerdictStore(const std::string& file) {
  if (file.empty()) return;
  auto opened = io::SharedFile::Open(file, kMagic, kMostBytes);
  if (opened.ok()) {
    file_ = std::move(opened).value();
    return;
  }
  Log(LogLevel::kWarning,
      "which chunks of touched archives are good is not kept for a successor: " + opened.status().ToString());
}

void VerdictStore::ReadOn() {
  const std::span<std::byte> contents = file_->contents();
  while (read_ + sizeof(RecordHead) <= contents.size()) {
    RecordHead head;
    std::memcpy(&head, contents.data() + read_, sizeof(head));
    const size_t rest = contents.size() - read_ - sizeof(head);
    if (head.words == 0 || head.words > rest / sizeof(uint64_t)) {
      // Not what is ever appended: nothing behind it can be found.
      Log(LogLevel::kWarning, "the verdicts on chunks are damaged: they are kept in memory from now on");
      file_ = nullptr;
      return;
    }
    auto* const words = reinterpret_cast<uint64_t*>(contents.data() + read_ + sizeof(head));
    known_.emplace(head.key, std::span(words, head.words));
    read_ += sizeof(head) + head.words * sizeof(uint64_t);
  }
}

std::shared_ptr<ChunkLedger> VerdictStore::Ledger(const ArchiveId& id, const std::string& name,
                                                  const io::FileIdentity& identity) {
  const std::lock_guard lock(mutex_);
  const size_t words = ChunkLedger::WordsFor(id.size);
  const std::shared_ptr<io::SharedFile> file = file_;
  if (file != nullptr) ReadOn();
  if (file_ == nullptr) return std::make_shared<ChunkLedger>(id.size);
  const Digest key = KeyOf(id, name, identity);
  auto found = known_.find(key);
  if (found == known_.end()) {
    std::vector<std::byte> record(sizeof(RecordHead) + words * sizeof(uint64_t));
    const RecordHead head{.key = key, .words = words};
    std::memcpy(record.data(), &head, sizeof(head));
    if (const auto appended = file_->Append(record); !appended.ok()) {
      Log(LogLevel::kWarning, "a verdict is kept in memory alone: " + appended.status().message());
      return std::make_shared<ChunkLedger>(id.size);
    }
    ReadOn();
    found = known_.find(key);
  }
  if (found == known_.end() || found->second.size() != words) return std::make_shared<ChunkLedger>(id.size);
  return std::make_shared<ChunkLedger>(id.size, found->second, file_);
}

std::vector<ArchiveVerdict> VerdictStore::Learn(const std::string& dataset,
                                                const std::vector<ArchiveVerdict>& verdicts) {
  std::map<ArchiveId, std::vector<ArchiveVerdict>> now;
  for (const ArchiveVerdict& verdict : verdicts) now[verdict.id].push_back(verdict);
  const std::lock_guard lock(mutex_);
  auto& before = told_[dataset];
  std::vector<ArchiveVerdict> news;
  for (const ArchiveVerdict& verdict : verdicts) {
    if (verdict.state != ArchiveVerdict::State::kChanged) continue;
    const auto known = before.find(verdict.id);
    const bool told = known != before.end() &&
                      std::any_of(known->second.begin(), known->second.end(), [&](const ArchiveVerdict& old) {
                        return old.state == verdict.state && old.identity == verdict.identity;
                      });
    if (!told) news.push_back(verdict);
  }
  before = std::move(now);
  return news;
}

std::optional<ArchiveVerdict> VerdictStore::Told(const ArchiveId& id, const io::FileIdentity& identity) {
  const std::lock_guard lock(mutex_);
  for (const auto& [dataset, verdicts] : told_) {
    const auto known = verdicts.find(id);
    if (known == verdicts.end()) continue;
    for (const ArchiveVerdict& verdict : known->second) {
      if (verdict.identity == identity) return verdict;
    }
  }
  return std::nullopt;
}

}  // namespace tarn::dataset

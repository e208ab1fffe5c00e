// One archive behind an ArchiveBytes, and sources that a test changes under it.
#ifndef TARN_TESTS_UNIT_DATASET_ARCHIVE_BYTES_FIXTURE_H_
#define TARN_TESTS_UNIT_DATASET_ARCHIVE_BYTES_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tarn/base/log.h"
#include "tarn/dataset/archive_bytes.h"
#include "tests/support/fake_generation.h"
#include "tests/support/fake_source.h"
#include "tests/support/pseudo_random.h"

namespace tarn::dataset {

using index::ManifestRow;
using testing::HasSubstr;
using testing::Not;
using testing_support::FakeArchive;
using testing_support::FakeGeneration;
using testing_support::FakeSource;

inline constexpr size_t kChunk = digest::kChunkBytes;
inline constexpr int64_t kPublished = 1'000'000'000;  // the mtime of the hint

// One archive of three and a half chunks, published at data/imagenet/train/a.tar.
class ArchiveBytesTest : public testing::Test {
 protected:
  ArchiveBytesTest() {
    archive_.bytes = support::PseudoRandom(1).Bytes(3 * kChunk + kChunk / 2);
    archive_.Finish();
    Use({near_}, {});
  }

  ManifestRow Row(const std::string& path = "train/a.tar", uint32_t number = 1) const {
    ManifestRow row;
    row.number = number;
    row.path = path;
    row.id = archive_.id;
    row.hint.size = archive_.bytes.size();
    row.hint.mtime_ns = kPublished;
    row.access = {0640, 7, 8};
    row.members = 12;
    return row;
  }

  // Starts again with these sources and options; every read is preceded by a look unless a test says
  // otherwise.
  void Use(std::vector<std::shared_ptr<io::Source>> sources, ArchiveBytesOptions options) {
    options.sources = std::move(sources);
    options.identity_interval = interval_;
    bytes_ = std::make_unique<ArchiveBytes>(std::move(options));
    index::GenerationRows rows;
    rows.facts.dataset = "imagenet";
    rows.facts.dataset_number = 3;
    rows.facts.source_path = "data/imagenet";
    auto generation = std::make_shared<FakeGeneration>(rows);
    generation->AddArchive(archive_);
    generation_ = generation;
    handle_ = bytes_->Add(generation_, Row());
  }

  Status ReadAt(uint64_t offset, size_t bytes) {
    got_.assign(bytes, 'x');
    return bytes_->Read(handle_, offset, std::as_writable_bytes(std::span(got_.data(), got_.size())));
  }
  // Reads and compares.
  testing::AssertionResult ReadsWell(uint64_t offset, size_t bytes) {
    const Status status = ReadAt(offset, bytes);
    if (!status.ok()) return testing::AssertionFailure() << status.ToString();
    if (got_ != archive_.bytes.substr(offset, bytes)) return testing::AssertionFailure() << "wrong bytes";
    return testing::AssertionSuccess();
  }
  void PutGood(int64_t mtime = kPublished) { near_->Put(kPlace, archive_.bytes, mtime); }
  std::string Damaged(size_t at) const {
    std::string bytes = archive_.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    return bytes;
  }
  // Lines that `work` logs.
  std::string Logged(const std::function<void()>& work) {
    testing::internal::CaptureStderr();
    ConfigureLog({.level = LogLevel::kInfo, .program = "test"});
    work();
    return testing::internal::GetCapturedStderr();
  }
  static int Lines(const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

  static constexpr char kPlace[] = "data/imagenet/train/a.tar";
  FakeArchive archive_;
  std::chrono::milliseconds interval_{0};
  std::shared_ptr<FakeSource> near_ = std::make_shared<FakeSource>("/near");
  std::shared_ptr<FakeSource> far_ = std::make_shared<FakeSource>("/far");
  std::shared_ptr<const index::GenerationReader> generation_;
  std::unique_ptr<ArchiveBytes> bytes_;
  ArchiveBytes::Archive* handle_ = nullptr;
  std::string got_;
};

}  // namespace tarn::dataset

#endif  // TARN_TESTS_UNIT_DATASET_ARCHIVE_BYTES_FIXTURE_H_

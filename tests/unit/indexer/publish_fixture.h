// What tests of tarn-index publish share: a dataset of made-up archives, and command lines run in one
// process.
#ifndef TARN_TESTS_UNIT_INDEXER_PUBLISH_FIXTURE_H_
#define TARN_TESTS_UNIT_INDEXER_PUBLISH_FIXTURE_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "indexer/program.h"
#include "tarn/index/generation_reader.h"
#include "tarn/index/index_root.h"
#include "tests/support/pseudo_random.h"
#include "tests/support/scratch.h"
#include "tests/support/tar_writer.h"

namespace tarn::indexer {

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
  nlohmann::json report() const { return nlohmann::json::parse(out); }
};

class PublishFixture : public ::testing::Test {
 protected:
  Ran Run(std::vector<std::string> arguments, std::map<std::string, std::string> environment = {}) {
    std::ostringstream out, err;
    environment.emplace("TARN_CONFIG", scratch_.Write("empty-config", ""));
    const Program program{.arguments = std::move(arguments),
                          .in = &std::cin,
                          .out = &out,
                          .err = &err,
                          .environment = std::move(environment)};
    const int code = indexer::Run(program);
    return {code, out.str(), err.str()};
  }
  // Publishes the dataset; `more` comes last, so it wins over --settle 0.
  Ran Publish(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"publish", data_, "--name", "img", "--index", index_, "--json"};
    if (std::find(more.begin(), more.end(), "--settle") == more.end()) {
      more.insert(more.end(), {"--settle", "0"});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(std::move(arguments));
  }

  static std::string Tar(size_t members, size_t bytes = 700, uint64_t seed = 1) {
    support::TarWriter writer;
    support::PseudoRandom random(seed);
    writer.AddDirectory("d/");
    for (size_t i = 0; i < members; ++i) writer.AddFile("d/" + std::to_string(i), random.Bytes(bytes));
    return writer.Finish();
  }
  // Ends behind a member, without the marker.
  static std::string CutTar() {
    const std::string whole = Tar(3);
    return whole.substr(0, whole.size() - 1024);
  }
  static std::string DamagedTar() {
    std::string bytes = Tar(5);
    bytes[512 + 1] = '\x7f';  // in the name of the second header: its checksum is wrong now
    return bytes;
  }
  void Write(const std::string& name, std::string_view contents) {
    scratch_.Write("base/img/" + name, contents);
  }
  void SetTime(const std::string& name, std::chrono::seconds ago) {
    const timespec times[2] = {{0, UTIME_OMIT}, {::time(nullptr) - ago.count(), 5}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (data_ + "/" + name).c_str(), times, 0), 0);
  }
  // Time stamps of what was written just now can be trusted afterwards.
  static void LetTimePass() { std::this_thread::sleep_for(std::chrono::milliseconds(150)); }

  // Everything that a listing of the data directory shows and that must never change.
  std::string Listing() {
    std::string text;
    std::vector<std::filesystem::path> paths;
    for (const auto& item : std::filesystem::recursive_directory_iterator(data_))
      paths.push_back(item.path());
    paths.emplace_back(data_);
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      struct stat found {};
      EXPECT_EQ(::lstat(path.c_str(), &found), 0);
      std::ostringstream line;
      line << path << ' ' << found.st_size << ' ' << found.st_mtim.tv_sec << '.' << found.st_mtim.tv_nsec
           << ' ' << found.st_ctim.tv_sec << '.' << found.st_ctim.tv_nsec << ' ' << found.st_ino << '\n';
      text += line.str();
    }
    return text;
  }

  std::shared_ptr<const index::GenerationReader> Reader(uint32_t generation) {
    const auto root = index::IndexRoot::Open(index_);
    EXPECT_TRUE(root.ok()) << root.status().ToString();
    auto reader = index::GenerationReader::Open((*root)->GenerationPath("img", generation));
    EXPECT_TRUE(reader.ok()) << reader.status().ToString();
    return reader.ok() ? *reader : nullptr;
  }
  std::map<std::string, index::ManifestRow> Rows(uint32_t generation) {
    std::map<std::string, index::ManifestRow> rows;
    const auto reader = Reader(generation);
    EXPECT_TRUE(reader
                    ->ForEachManifestRow([&rows](const index::ManifestRow& row) {
                      rows.emplace(row.path, row);
                      return Status::Ok();
                    })
                    .ok());
    return rows;
  }

  const support::Scratch scratch_;
  const std::string data_ = scratch_ / "base/img";
  const std::string index_ = scratch_ / "ix";
};

}  // namespace tarn::indexer

#endif  // TARN_TESTS_UNIT_INDEXER_PUBLISH_FIXTURE_H_

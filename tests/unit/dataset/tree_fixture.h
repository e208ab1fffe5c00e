// A generation with everything in it, as a FileTree shows it: for the tests of nodes, listings and
// attributes.
//
//     labels.csv                    loose file
//     deep/empty.bin                loose file of no bytes
//     train/n01                     archive train/n01.tar (number 2)
//       ./                          no member names it
//       made/up/a.JPEG   0          "hello, member"; its parents are made up
//       named            1          directory, mode 0750
//       named/b.JPEG     2          "second", mode 0755
//       link             3          -> made/up/a.JPEG
//       hard             4          hard link to 0
//       sparse           5          hole 1000, data 10, hole 2000, data 5
//       empty            6          no bytes
//       device           7          character device 1:3
//       fifo             8
//       holes            9          one hole of 4096
#ifndef TARN_TESTS_UNIT_DATASET_TREE_FIXTURE_H_
#define TARN_TESTS_UNIT_DATASET_TREE_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tarn/dataset/file_tree.h"
#include "tarn/dataset/generation_builder.h"
#include "tests/support/fake_generation.h"
#include "tests/support/fake_source.h"

namespace tarn::dataset {

class TreeTest : public testing::Test {
 protected:
  static constexpr uint32_t kDataset = 3;
  static constexpr uint32_t kGeneration = 7;
  static constexpr int64_t kArchiveMtime = 1'600'000'000;

  TreeTest() {
    MakeArchive();
    source_->Put("data/imagenet/train/n01.tar", archive_.bytes, kArchiveMtime * 1'000'000'000);
    source_->Put("data/imagenet/labels.csv", kLabels, 1'500'000'000'000'000'123);
    source_->Put("data/imagenet/deep/empty.bin", "", 0);
    generation_ = MakeGeneration(kGeneration, nullptr);
    Use({});
  }

  void Use(FileTreeOptions options) {
    ArchiveBytesOptions bytes;
    bytes.sources = {source_};
    bytes.identity_interval = std::chrono::hours(1);
    tree_ = std::make_unique<FileTree>(options, std::make_shared<ArchiveBytes>(std::move(bytes)));
    const auto root = tree_->Attach(generation_);
    ASSERT_TRUE(root.ok()) << root.status().ToString();
    root_ = *root;
  }

  std::shared_ptr<testing_support::FakeGeneration> MakeGeneration(uint32_t number,
                                                                  const index::GenerationReader* previous,
                                                                  std::vector<PublishedFile> more = {}) {
    GenerationPlan plan;
    plan.dataset = "imagenet";
    plan.dataset_number = kDataset;
    plan.generation = number;
    plan.source_path = "data/imagenet";
    plan.created = 1'700'000'000;
    std::vector<PublishedFile> files = std::move(more);
    files.push_back(Published("labels.csv", index::ManifestKind::kLooseFile, kLabels, {0640, 11, 12}));
    files.push_back(Published("deep/empty.bin", index::ManifestKind::kLooseFile, "", {0644, 1, 1}));
    PublishedFile tar = Published("train/n01.tar", index::ManifestKind::kArchive, "", {0640, 21, 22});
    tar.id = archive_.id;
    tar.facts = archive_.facts;
    files.push_back(tar);
    auto built = BuildGeneration(plan, std::move(files), previous);
    EXPECT_TRUE(built.ok()) << built.status().ToString();
    facts_ = built->rows.facts;
    auto generation = std::make_shared<testing_support::FakeGeneration>(std::move(built->rows));
    generation->AddArchive(archive_);
    return generation;
  }

  // What is at a path of names joined by '/'.
  Attributes At(const std::string& path) const {
    Attributes attributes;
    attributes.node = root_;
    for (size_t start = 0; start < path.size();) {
      const size_t end = std::min(path.find('/', start), path.size());
      const auto child = tree_->Lookup(attributes.node, path.substr(start, end - start));
      if (!child.ok() || !*child) {
        ADD_FAILURE() << "nothing at " << path << ": " << child.status().ToString();
        return {};
      }
      attributes = **child;
      start = end + 1;
    }
    return attributes;
  }

  std::string ReadAll(NodeId node, size_t at_a_time = 7) const {
    std::string all;
    std::vector<std::byte> piece(at_a_time);
    while (true) {
      const auto got = tree_->Read(node, all.size(), piece);
      EXPECT_TRUE(got.ok()) << got.status().ToString();
      if (!got.ok() || *got == 0) return all;
      all.append(reinterpret_cast<const char*>(piece.data()), *got);
    }
  }

  static constexpr char kLabels[] = "name,label\n";
  static constexpr char kContents[] = "hello, member";
  std::string sparse_;  // as a reader sees it
  testing_support::FakeArchive archive_;
  std::shared_ptr<testing_support::FakeSource> source_ =
      std::make_shared<testing_support::FakeSource>("/source");
  std::shared_ptr<testing_support::FakeGeneration> generation_;
  index::GenerationFacts facts_;
  std::unique_ptr<FileTree> tree_;
  NodeId root_;

 private:
  PublishedFile Published(const std::string& path, index::ManifestKind kind, const std::string& contents,
                          io::FileAccess access) {
    PublishedFile file;
    file.path = path;
    file.kind = kind;
    file.id = {contents.size(), digest::DigestOf(contents)};
    file.hint = source_->Identity("data/imagenet/" + path);
    file.access = access;
    source_->Edit("data/imagenet/" + path, [&](testing_support::FakeSource::File* f) { f->access = access; });
    return file;
  }

  void MakeArchive() {
    const uint32_t first = archive_.AddFile("made/up/a.JPEG", kContents);
    archive_.members[first].uid = 501;
    archive_.members[first].gid = 502;
    archive_.members[first].mtime = -5;
    archive_.members[first].mtime_ns = 250;
    archive_.AddDirectory("named", 0750);
    const uint32_t second = archive_.AddFile("named/b.JPEG", "second", 06755);
    archive_.members[second].uid = uint64_t{1} << 40;
    archive_.members[second].xattrs = {{"user.caption", "a cat"},
                                       {"user.tarn.size", "spoofed"},
                                       {"security.capability", std::string("\1\0", 2)},
                                       {"system.posix_acl_access", "acl"},
                                       {"user.caption", "twice"}};
    archive_.AddSymlink("link", "made/up/a.JPEG");
    archive_.AddHardLink("hard", first);
    const uint32_t sparse = archive_.AddFile("sparse", "0123456789abcde");
    index::MemberRecord& member = archive_.members[sparse];
    const int64_t data = member.extents[0].archive_offset;
    member.extents = {{tar::Extent::kHole, 1000}, {data, 10}, {tar::Extent::kHole, 2000}, {data + 10, 5}};
    member.logical_size = 3015;
    sparse_ = std::string(1000, '\0') + "0123456789" + std::string(2000, '\0') + "abcde";
    archive_.AddFile("empty", "");
    index::MemberRecord device;
    device.type = tar::MemberType::kCharDevice;
    device.mode = 0666;
    device.device_major = 1;
    device.device_minor = 3;
    archive_.Add("device", device);
    index::MemberRecord fifo;
    fifo.type = tar::MemberType::kFifo;
    fifo.mode = 0644;
    archive_.Add("fifo", fifo);
    const uint32_t holes = archive_.AddFile("holes", "");
    archive_.members[holes].logical_size = 4096;
    archive_.members[holes].extents = {{tar::Extent::kHole, 4096}};
    archive_.Finish();
  }
};

}  // namespace tarn::dataset

#endif  // TARN_TESTS_UNIT_DATASET_TREE_FIXTURE_H_

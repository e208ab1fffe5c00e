// Three readers that share no code over generated archives: ours, libarchive, GNU tar.
//
//   TARN_PROPERTY_ARCHIVES   how many (300 unless set)
//   TARN_PROPERTY_SEED       the first seed (1 unless set); a failure names its own
//
// libarchive lists what we list, with the same fields and bytes (tarn/tar/reference.h). GNU tar extracts many
// archives at once, joined with --ignore-zeros, and the tree it leaves is the tree that we show. Differences
// that are known and decided are in kGnuDifferences and in docs/tar-dialects.md; any other fails.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tarn/base/bytes.h"
#include "tarn/tar/reference.h"
#include "tarn/tar/tree_builder.h"
#include "tests/property/random_archive.h"
#include "tests/support/memory_file.h"
#include "tests/support/scratch.h"
#include "tests/support/walked.h"

namespace tarn::property {
namespace {

constexpr uint64_t kDefaultArchives = 300;
constexpr size_t kBatch = 100;
constexpr uint64_t kMostFailures = 30;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : std::strtoull(value, nullptr, 10);
}
uint64_t Archives() {
  return FromEnvironment("TARN_PROPERTY_ARCHIVES", kDefaultArchives);
}
uint64_t FirstSeed() {
  return FromEnvironment("TARN_PROPERTY_SEED", 1);
}

// Writes the archive of a failing seed where it can be looked at; gives its path.
std::string Keep(uint64_t seed, const std::string& bytes) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tarn-seed-" + std::to_string(seed) + ".tar")).string();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(Agreement, LibarchiveListsWhatWeList) {
  uint64_t members = 0;
  uint64_t explained = 0;
  uint64_t unexplained = 0;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + Archives() && !HasFatalFailure(); ++seed) {
    const RandomArchive archive = MakeRandomArchive(seed, "a/");
    const support::MemoryFile file(archive.bytes);
    const Result<tar::ReferenceReport> report = tar::CompareWithReference(file, archive.bytes.size());
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    ASSERT_LT(unexplained += report->unexplained, kMostFailures) << "giving up";
    members += report->members;
    explained += report->explained;
    for (const tar::Difference& difference : report->differences) {
      EXPECT_NE(difference.reason, "")
          << "seed " << seed << " (" << Keep(seed, archive.bytes) << "): '" << EscapeName(difference.member)
          << "' at " << difference.offset << ": " << difference.field << ": ours '" << difference.ours
          << "', libarchive's '" << difference.theirs << "'";
    }
  }
  RecordProperty("members", std::to_string(members));
  RecordProperty("explained", std::to_string(explained));
  EXPECT_GT(members, Archives());
}

// What a path is, in our tree or on disk.
struct Thing {
  tar::MemberType type = tar::MemberType::kRegular;
  uint32_t mode = 0;
  uint64_t uid = 0;
  uint64_t gid = 0;
  int64_t mtime = 0;
  uint32_t mtime_ns = 0;
  uint64_t links = 1;
  std::string content;   // or a symlink's target
  bool made_up = false;  // a directory that no member names
  bool respelt = false;  // a directory that members name in several spellings
  bool forward = false;  // a hard link that needs a member behind it, itself or through other links
};

class TreeOfArchive final : public tar::TreeVisitor {
 public:
  explicit TreeOfArchive(const std::string& bytes) : bytes_(bytes), walked_(support::WalkBytes(bytes)) {
    tar::FindingList findings;
    tar::TreeBuilder builder(tar::TreeOptions{}, &findings);
    tar::Placement placement;
    for (const tar::Member& member : walked_.members) EXPECT_TRUE(builder.Add(member, &placement).ok());
    EXPECT_TRUE(builder.Finish(this).ok());
    for (auto& [key, dentry] : dentries_) {
      std::string path = key.second;
      for (uint32_t d = key.first; d != tar::kRootDirectory; d = directories_[d].first) {
        path = directories_[d].second + "/" + path;
      }
      things.emplace(path, ThingOf(dentry));
    }
  }

  std::map<std::string, Thing> things;

 private:
  Status OnDentry(const tar::Dentry& dentry) override {
    dentries_.emplace_back(std::pair(dentry.directory, std::string(dentry.name)), dentry);
    return Status::Ok();
  }
  Status OnFate(const tar::MemberFate& fate) override {
    links_[fate.ordinal] = fate.links;
    return Status::Ok();
  }
  Status OnDirectory(const tar::DirectoryFacts& facts) override {
    directories_.emplace_back(facts.parent, std::string(facts.name));
    return Status::Ok();
  }
  Thing ThingOf(const tar::Dentry& dentry) const {
    Thing thing;
    thing.type = dentry.type;
    if (dentry.target_ordinal == tar::kNoOrdinal) {
      thing.made_up = true;
      return thing;
    }
    const tar::Member& member = walked_.members[dentry.target_ordinal];
    thing.mode = member.mode;
    thing.uid = member.uid;
    thing.gid = member.gid;
    thing.mtime = member.mtime;
    thing.mtime_ns = member.mtime_ns;
    for (const tar::Member& other : walked_.members) {
      const bool same =
          thing.type == tar::MemberType::kDirectory && Normal(other.name) == Normal(member.name);
      thing.respelt = thing.respelt || (same && other.name != member.name);
    }
    thing.forward = ExtractedTarget(dentry.own_ordinal) != dentry.target_ordinal;
    const auto links = links_.find(dentry.target_ordinal);
    if (links != links_.end()) thing.links = links->second;
    if (thing.type == tar::MemberType::kContiguous) thing.type = tar::MemberType::kRegular;
    if (thing.type == tar::MemberType::kRegular) thing.content = support::ContentOf(bytes_, member);
    if (thing.type == tar::MemberType::kSymlink) thing.content = member.link;
    return thing;
  }

  static std::string Normal(const std::string& name) {
    return std::filesystem::path(name).lexically_normal().string();
  }
  // What a member shows when links can only be made to what was extracted before them; kNoOrdinal: it fails.
  uint32_t ExtractedTarget(uint32_t ordinal) const {
    const tar::Member& member = walked_.members[ordinal];
    if (member.type != tar::MemberType::kHardLink) return ordinal;
    for (uint32_t before = ordinal; before-- > 0;) {
      if (Normal(walked_.members[before].name) != Normal(member.link)) continue;
      const uint32_t target = ExtractedTarget(before);
      if (target != tar::kNoOrdinal) return target;
    }
    return tar::kNoOrdinal;
  }

  const std::string& bytes_;
  const support::Walked walked_;
  std::vector<std::pair<std::pair<uint32_t, std::string>, tar::Dentry>> dentries_;
  std::map<uint32_t, uint32_t> links_;
  std::vector<std::pair<uint32_t, std::string>> directories_;
};

Thing ThingOnDisk(const std::string& path) {
  struct stat st {};
  EXPECT_EQ(lstat(path.c_str(), &st), 0) << path;
  Thing thing;
  thing.mode = st.st_mode & 07777;
  thing.uid = st.st_uid;
  thing.gid = st.st_gid;
  thing.mtime = st.st_mtim.tv_sec;
  thing.mtime_ns = static_cast<uint32_t>(st.st_mtim.tv_nsec);
  thing.links = st.st_nlink;
  if (S_ISDIR(st.st_mode)) {
    thing.type = tar::MemberType::kDirectory;
  } else if (S_ISLNK(st.st_mode)) {
    thing.type = tar::MemberType::kSymlink;
    thing.content = std::filesystem::read_symlink(path).string();
  } else if (S_ISFIFO(st.st_mode)) {
    thing.type = tar::MemberType::kFifo;
  } else {
    thing.content = support::Scratch::Read(path);
  }
  return thing;
}

// Known differences to what GNU tar 1.34 leaves, each with its reason. `field` is one of those of Compare.
struct GnuDifference {
  const char* reason;
  bool (*applies)(const std::string& field, const Thing& ours);
};
constexpr GnuDifference kGnuDifferences[] = {
    {"GNU tar makes no hard link to what comes later; an earlier member of the link's name stays",
     [](const std::string&, const Thing& ours) { return ours.forward; }},
    {"names that GNU tar did not make are links it did not count",
     [](const std::string& field, const Thing& ours) { return field == "links" && ours.links > 1; }},
    {"GNU tar sets attributes of directories at the end, by spelling, the last spelling first",
     [](const std::string& field, const Thing& ours) {
       return ours.respelt && (field == "mode" || field == "owner" || field == "mtime");
     }},
    {"a directory that no member names gets the time and mode of the extraction",
     [](const std::string& field, const Thing& ours) {
       return ours.made_up && (field == "mode" || field == "owner" || field == "mtime");
     }},
};

class GnuComparison {
 public:
  // Joins the archives, extracts them, and compares each.
  void Batch(const std::vector<std::pair<uint64_t, RandomArchive>>& archives) {
    const support::Scratch scratch;
    std::string joined;
    for (const auto& [seed, archive] : archives) joined += archive.bytes;
    if (joined.empty()) return;
    scratch.Write("joined.tar", joined);
    std::filesystem::create_directory(scratch / "tree");
    const std::string command =
        "TZ=UTC LC_ALL=C tar --ignore-zeros --extract --preserve-permissions --numeric-owner "
        "--delay-directory-restore "
        "--file '" +
        (scratch / "joined.tar") + "' --directory '" + (scratch / "tree") + "' 2>'" + (scratch / "errors") +
        "'";
    const int result = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(result) && (WEXITSTATUS(result) == 0 || WEXITSTATUS(result) == 2))
        << support::Scratch::Read(scratch / "errors");
    for (const auto& [seed, archive] : archives) {
      One(seed, archive, scratch / "tree");
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  uint64_t paths() const { return paths_; }
  const std::map<std::string, uint64_t>& explained() const { return explained_; }

 private:
  void One(uint64_t seed, const RandomArchive& archive, const std::string& top) {
    bytes_ = &archive.bytes;
    const TreeOfArchive tree(archive.bytes);
    const std::string mine = "a" + std::to_string(seed);
    std::set<std::string> on_disk;
    if (std::filesystem::exists(top + "/" + mine)) {
      on_disk.insert(mine);
      for (const auto& item : std::filesystem::recursive_directory_iterator(top + "/" + mine)) {
        on_disk.insert(item.path().string().substr(top.size() + 1));
      }
    }
    for (const auto& [path, ours] : tree.things) {
      ++paths_;
      if (on_disk.erase(path) == 0) {
        Differ(seed, path, "missing", ours, "shown", "not extracted");
      } else {
        Compare(seed, path, ours, ThingOnDisk(top + "/" + path));
      }
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_TRUE(on_disk.empty()) << "seed " << seed << ": GNU tar has '" << EscapeName(*on_disk.begin())
                                 << "', our tree has not";
  }

  void Compare(uint64_t seed, const std::string& path, const Thing& ours, const Thing& theirs) {
    const auto expect = [&](const char* field, const auto& a, const auto& b) {
      if (a == b) return;
      Differ(seed, path, field, ours, testing::PrintToString(a), testing::PrintToString(b));
    };
    expect("type", static_cast<int>(ours.type), static_cast<int>(theirs.type));
    if (ours.type != theirs.type) return;
    if (ours.type != tar::MemberType::kSymlink) expect("mode", ours.mode, theirs.mode);
    if (geteuid() == 0) expect("owner", std::pair(ours.uid, ours.gid), std::pair(theirs.uid, theirs.gid));
    expect("mtime", std::pair(ours.mtime, ours.mtime_ns), std::pair(theirs.mtime, theirs.mtime_ns));
    if (ours.type != tar::MemberType::kDirectory) expect("links", ours.links, theirs.links);
    if (ours.content != theirs.content) {
      Differ(seed, path, "content", ours, std::to_string(ours.content.size()) + " bytes",
             std::to_string(theirs.content.size()) + " other bytes");
    }
  }

  void Differ(uint64_t seed, const std::string& path, const std::string& field, const Thing& ours,
              const std::string& a, const std::string& b) {
    for (const GnuDifference& known : kGnuDifferences) {
      if (known.applies(field, ours)) {
        ++explained_[known.reason];
        return;
      }
    }
    ASSERT_TRUE(false) << "seed " << seed << " (" << Keep(seed, *bytes_) << "): '" << EscapeName(path)
                       << "': " << field << ": ours " << a << ", GNU tar's " << b;
  }

  const std::string* bytes_ = nullptr;  // of the archive that is compared
  uint64_t paths_ = 0;
  std::map<std::string, uint64_t> explained_;
};

TEST(Agreement, GnuTarExtractsTheTreeWeShow) {
  if (std::system("tar --version 2>/dev/null | grep -q 'GNU tar'") != 0)
    GTEST_SKIP() << "GNU tar is not installed";
  GnuComparison comparison;
  std::vector<std::pair<uint64_t, RandomArchive>> batch;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + Archives(); ++seed) {
    RandomArchive archive = MakeRandomArchive(seed, "a" + std::to_string(seed) + "/");
    if (archive.has_global) {
      comparison.Batch({{seed, std::move(archive)}});  // or its records would hold for those behind it
    } else {
      batch.emplace_back(seed, std::move(archive));
    }
    if (batch.size() == kBatch) {
      comparison.Batch(batch);
      batch.clear();
    }
    if (HasFatalFailure()) return;
  }
  comparison.Batch(batch);
  RecordProperty("paths", std::to_string(comparison.paths()));
  for (const auto& [reason, count] : comparison.explained()) {
    std::printf("explained %llu times: %s\n", static_cast<unsigned long long>(count), reason.c_str());
  }
  EXPECT_GT(comparison.paths(), Archives());
}

}  // namespace
}  // namespace tarn::property

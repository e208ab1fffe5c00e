// An archive as the index knows it, made member by member: bytes, identity, rows. No tar is written or read:
// the layers above the index see rows and offsets alone.
#ifndef TARN_TESTS_SUPPORT_FAKE_ARCHIVE_H_
#define TARN_TESTS_SUPPORT_FAKE_ARCHIVE_H_

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tarn/digest/archive_digester.h"
#include "tarn/index/records.h"
#include "tarn/io/filesystem.h"

namespace tarn::testing_support {

class FakeArchive {
 public:
  FakeArchive() { directories.emplace_back(); }

  // A member with everything but its place; gives its ordinal. Parents are made up as needed.
  uint32_t Add(const std::string& path, index::MemberRecord member) {
    const auto ordinal = static_cast<uint32_t>(members.size());
    const uint32_t directory = DirectoryOf(io::DirName(path));
    member.directory = directory;
    member.name = io::BaseName(path);
    members.push_back(member);
    index::DentryRecord dentry{member.type, ordinal, ordinal, tar::kNoDirectory};
    if (member.type == tar::MemberType::kDirectory) {
      dentry.child_directory = DirectoryOf(path);
      directories[dentry.child_directory].ordinal = ordinal;
    } else if (!dentries.contains({directory, member.name})) {
      directories[directory].entries++;
    }
    dentries[{directory, member.name}] = dentry;
    return ordinal;
  }

  uint32_t AddFile(const std::string& path, std::string_view contents, uint32_t mode = 0644) {
    index::MemberRecord member;
    member.mode = mode;
    member.header_offset = bytes.size();
    bytes.append(512, 'H');
    member.data_offset = bytes.size();
    member.logical_size = member.stored_size = contents.size();
    if (!contents.empty()) member.extents = {{static_cast<int64_t>(bytes.size()), contents.size()}};
    bytes += contents;
    bytes.append((512 - bytes.size() % 512) % 512, '\0');
    return Add(path, std::move(member));
  }
  uint32_t AddDirectory(const std::string& path, uint32_t mode = 0755) {
    index::MemberRecord member;
    member.type = tar::MemberType::kDirectory;
    member.mode = mode;
    return Add(path, std::move(member));
  }
  uint32_t AddSymlink(const std::string& path, const std::string& target) {
    index::MemberRecord member;
    member.type = tar::MemberType::kSymlink;
    member.mode = 0777;
    member.link = target;
    return Add(path, std::move(member));
  }
  uint32_t AddHardLink(const std::string& path, uint32_t target_ordinal) {
    index::MemberRecord member;
    member.type = tar::MemberType::kHardLink;
    member.links = 0;
    const uint32_t ordinal = Add(path, std::move(member));
    index::DentryRecord& dentry = dentries.at({members[ordinal].directory, members[ordinal].name});
    dentry.type = members[target_ordinal].type;
    dentry.target_ordinal = target_ordinal;
    members[target_ordinal].links++;
    return ordinal;
  }

  // After the last member: identity, checksums, counts.
  void Finish() {
    digest::ArchiveDigester digester;
    digester.Update(std::as_bytes(std::span(bytes.data(), bytes.size())));
    digest::ArchiveDigester::Sum sum = digester.Finish();
    id = sum.id;
    chunks = std::move(sum.chunks);
    facts.members = members.size();
    facts.dentries = dentries.size();
    facts.directories = static_cast<uint32_t>(directories.size());
    facts.end_offset = bytes.size();
  }

  std::string bytes;
  ArchiveId id;
  std::vector<uint64_t> chunks;
  index::ArchiveFacts facts;
  std::vector<index::MemberRecord> members;
  std::vector<index::DirectoryRecord> directories;
  std::map<std::pair<uint32_t, std::string>, index::DentryRecord> dentries;

 private:
  uint32_t DirectoryOf(std::string_view path) {
    if (path.empty()) return tar::kRootDirectory;
    const uint32_t parent = DirectoryOf(io::DirName(path));
    const std::string name(io::BaseName(path));
    const auto known = dentries.find({parent, name});
    if (known != dentries.end()) return known->second.child_directory;
    const auto number = static_cast<uint32_t>(directories.size());
    index::DirectoryRecord record;
    record.parent = parent;
    record.name = name;
    directories.push_back(std::move(record));
    directories[parent].entries++;
    directories[parent].subdirectories++;
    dentries[{parent, name}] = {tar::MemberType::kDirectory, tar::kNoOrdinal, tar::kNoOrdinal, number};
    return number;
  }
};

}  // namespace tarn::testing_support

#endif  // TARN_TESTS_SUPPORT_FAKE_ARCHIVE_H_

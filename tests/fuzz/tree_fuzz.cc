// The tree of any members: lines of the input are "TYPE NAME>LINK". What is shown is shown once, in order,
// and every member is either counted as shown, replaced or not shown.
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/tar/tree_builder.h"
#include "tests/fuzz/fuzz_target.h"

using tarn::Status;
using namespace tarn::tar;  // NOLINT(google-build-using-namespace)

namespace {

class Checker final : public TreeVisitor {
 public:
  explicit Checker(const std::vector<Member>& members) : members_(members) {}

  Status OnDentry(const Dentry& dentry) override {
    const std::pair<uint32_t, std::string> key(dentry.directory, dentry.name);
    FUZZ_REQUIRE(dentries_ == 0 || last_ < key);
    last_ = key;
    ++dentries_;
    FUZZ_REQUIRE(!dentry.name.empty() && dentry.name.size() <= 255 && dentry.name != "." &&
                 dentry.name != "..");
    FUZZ_REQUIRE(dentry.name.find('/') == std::string_view::npos);
    FUZZ_REQUIRE(dentry.name.find('\0') == std::string_view::npos);
    if (dentry.type == MemberType::kDirectory) {
      FUZZ_REQUIRE(shown_directories_.insert(dentry.child_directory).second);
      return Status::Ok();
    }
    FUZZ_REQUIRE(dentry.own_ordinal < members_.size() && dentry.target_ordinal < members_.size());
    FUZZ_REQUIRE(members_[dentry.target_ordinal].type == dentry.type && dentry.type != MemberType::kHardLink);
    ++names_[dentry.target_ordinal];
    return Status::Ok();
  }
  Status OnFate(const MemberFate& fate) override {
    FUZZ_REQUIRE(fates_.empty() || fates_.rbegin()->first < fate.ordinal);
    FUZZ_REQUIRE(fate.links != 1 && fate.ordinal < members_.size());
    fates_[fate.ordinal] = fate.links;
    if (fate.links > 0) FUZZ_REQUIRE(names_[fate.ordinal] == fate.links);
    return Status::Ok();
  }
  Status OnDirectory(const DirectoryFacts& facts) override {
    FUZZ_REQUIRE(facts.number == directories_++);
    FUZZ_REQUIRE(facts.number == 0 ? facts.parent == 0 : facts.parent < facts.number);
    FUZZ_REQUIRE(facts.subdirectories <= facts.entries);
    if (facts.number != 0 && facts.entries > 0) FUZZ_REQUIRE(shown_directories_.count(facts.number) == 1);
    entries_ += facts.entries;
    return Status::Ok();
  }
  void CheckTotals(const TreeBuilder::Counts& counts) const {
    FUZZ_REQUIRE(counts.dentries == dentries_ && entries_ == dentries_);
    FUZZ_REQUIRE(counts.directories == directories_);
    for (const auto& [ordinal, names] : names_) {
      const auto fate = fates_.find(ordinal);
      FUZZ_REQUIRE(fate == fates_.end() ? names == 1 : names == fate->second);
    }
  }

 private:
  const std::vector<Member>& members_;
  std::pair<uint32_t, std::string> last_;
  uint64_t dentries_ = 0;
  uint64_t entries_ = 0;
  uint32_t directories_ = 0;
  std::set<uint32_t> shown_directories_;
  std::map<uint32_t, uint32_t> names_;  // by target
  std::map<uint32_t, uint32_t> fates_;
};

std::vector<Member> MembersOf(std::string_view text) {
  std::vector<Member> members;
  while (!text.empty() && members.size() < 500) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    Member member;
    member.ordinal = members.size();
    member.header_offset = 512 * members.size();
    member.type = static_cast<MemberType>(static_cast<unsigned char>(line[0]) % 8);
    const std::string_view rest = line.substr(1);
    const size_t arrow = rest.find('>');
    member.name = rest.substr(0, arrow);
    if (arrow != std::string_view::npos) member.link = rest.substr(arrow + 1);
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<Member> members = MembersOf({reinterpret_cast<const char*>(data), size});
  FindingList findings;
  TreeOptions options;
  options.directories = 2000;
  options.memory_bytes = size_t{1} << 20;
  TreeBuilder builder(options, &findings);
  Placement placement;
  for (const Member& member : members) {
    FUZZ_REQUIRE(builder.Add(member, &placement).ok());
    FUZZ_REQUIRE(placement.directory != kNoDirectory || placement.name == member.name);
  }
  Checker checker(members);
  FUZZ_REQUIRE(builder.Finish(&checker).ok());
  checker.CheckTotals(builder.counts());
  return 0;
}

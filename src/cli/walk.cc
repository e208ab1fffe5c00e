// tarn walk ARCHIVE: every member of a tar as its headers have it, and what is odd about the archive.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <iterator>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "tarn/base/bytes.h"
#include "tarn/io/forward_reader.h"
#include "tarn/io/random_access_file.h"
#include "tarn/tar/finding.h"
#include "tarn/tar/header_walker.h"
#include "tarn/tar/member.h"
#include "tarn/tar/tree_builder.h"

namespace tarn::cli {
namespace {

constexpr size_t kTreeMemory = size_t{24} << 20;
constexpr size_t kFlushBytes = size_t{64} << 10;

// A JSON string of a name: EscapeName's spelling, so plain ASCII.
void AppendJsonName(std::string* out, std::string_view bytes) {
  out->push_back('"');
  for (const char c : EscapeName(bytes)) {
    if (c == '"' || c == '\\') out->push_back('\\');
    out->push_back(c);
  }
  out->push_back('"');
}

// Lines are gathered and written in pieces; a listing may have millions.
class Listing {
 public:
  explicit Listing(std::ostream* out) : out_(out) {}
  virtual ~Listing() = default;

  virtual void OnMember(const tar::Member& member) = 0;
  virtual void OnFinding(const tar::Finding& finding) = 0;
  virtual void OnEnd(uint64_t members, const tar::FindingList& findings, uint64_t end_offset) = 0;

  void Flush() {
    out_->write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

 protected:
  void EndLine() {
    text_.push_back('\n');
    if (text_.size() >= kFlushBytes) Flush();
  }
  std::string text_;

 private:
  std::ostream* const out_;
};

class JsonListing final : public Listing {
 public:
  using Listing::Listing;

  void OnMember(const tar::Member& member) override {
    fmt::format_to(std::back_inserter(text_), R"({{"member": {{"ordinal": {}, "name": )", member.ordinal);
    // The slashes that only say "directory" are said by the type.
    std::string_view name = member.name;
    if (member.type == tar::MemberType::kDirectory) {
      while (!name.empty() && name.back() == '/') name.remove_suffix(1);
    }
    AppendJsonName(&text_, name);
    fmt::format_to(std::back_inserter(text_),
                   R"(, "type": "{}", "mode": {}, "uid": {}, "gid": {}, "logical_size": {}, "mtime": {}, )"
                   R"("mtime_ns": {}, "link": )",
                   tar::MemberTypeName(member.type), member.mode, member.uid, member.gid, member.logical_size,
                   member.mtime, member.mtime_ns);
    AppendJsonName(&text_, member.link);
    fmt::format_to(std::back_inserter(text_), R"(, "uname": )");
    AppendJsonName(&text_, member.user_name);
    text_ += R"(, "gname": )";
    AppendJsonName(&text_, member.group_name);
    fmt::format_to(std::back_inserter(text_),
                   R"(, "stored_size": {}, "header_offset": {}, "data_offset": {}, "extents": [)",
                   member.stored_size, member.header_offset, member.data_offset);
    for (size_t i = 0; i < member.extents.size(); ++i) {
      fmt::format_to(std::back_inserter(text_), "{}[{}, {}]", i == 0 ? "" : ", ",
                     member.extents[i].archive_offset, member.extents[i].length);
      if (text_.size() >= kFlushBytes) Flush();
    }
    text_ += "]}}";
    EndLine();
  }

  void OnFinding(const tar::Finding& finding) override {
    fmt::format_to(std::back_inserter(text_),
                   R"({{"finding": {{"code": "{}", "severity": "{}", "offset": {}, "member": )",
                   tar::FindingCodeName(finding.code), tar::SeverityName(finding.severity), finding.offset);
    AppendJsonName(&text_, finding.member);
    text_ += R"(, "detail": )";
    AppendJsonName(&text_, finding.detail);
    text_ += "}}";
    EndLine();
  }

  void OnEnd(uint64_t members, const tar::FindingList& findings, uint64_t end_offset) override {
    const uint64_t count = findings.warnings() + findings.errors();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"archive": {{"members": {}, "findings": {}, "end_offset": {}, "clean": {}}}}})",
                   members, count, end_offset, count == 0);
    EndLine();
    Flush();
  }
};

class PlainListing final : public Listing {
 public:
  using Listing::Listing;

  void OnMember(const tar::Member& member) override {
    const std::string owner = fmt::format(
        "{}/{}", member.user_name.empty() ? std::to_string(member.uid) : EscapeName(member.user_name),
        member.group_name.empty() ? std::to_string(member.gid) : EscapeName(member.group_name));
    const bool device =
        member.type == tar::MemberType::kCharDevice || member.type == tar::MemberType::kBlockDevice;
    const std::string size = device ? fmt::format("{},{}", member.device_major, member.device_minor)
                                    : std::to_string(member.logical_size);
    fmt::format_to(std::back_inserter(text_), "{:>12} {:>12} {}{} {:<17} {:>12} {} {}", member.header_offset,
                   member.data_offset, TypeLetter(member.type), Permissions(member.mode), owner, size,
                   Time(member.mtime), EscapeName(member.name));
    if (member.type == tar::MemberType::kSymlink) text_ += " -> " + EscapeName(member.link);
    if (member.type == tar::MemberType::kHardLink) text_ += " link to " + EscapeName(member.link);
    EndLine();
  }

  void OnFinding(const tar::Finding& finding) override {
    fmt::format_to(std::back_inserter(text_), "{}: {} at {}", tar::SeverityName(finding.severity),
                   tar::FindingCodeName(finding.code), finding.offset);
    if (!finding.member.empty()) text_ += " ('" + EscapeName(finding.member) + "')";
    text_ += ": " + finding.detail;
    EndLine();
  }

  void OnEnd(uint64_t members, const tar::FindingList& findings, uint64_t end_offset) override {
    fmt::format_to(std::back_inserter(text_), "{} members, {} errors, {} warnings, {} bytes", members,
                   findings.errors(), findings.warnings(), end_offset);
    EndLine();
    Flush();
  }

 private:
  static char TypeLetter(tar::MemberType type) {
    constexpr std::string_view kLetters = "-dlhcbpC";  // as GNU tar -tv, by value of MemberType
    return kLetters[static_cast<size_t>(type)];
  }
  static std::string Permissions(uint32_t mode) {
    std::string text = "rwxrwxrwx";
    for (size_t i = 0; i < text.size(); ++i) {
      if ((mode & (0400U >> i)) == 0) text[i] = '-';
    }
    if ((mode & 04000) != 0) text[2] = text[2] == 'x' ? 's' : 'S';
    if ((mode & 02000) != 0) text[5] = text[5] == 'x' ? 's' : 'S';
    if ((mode & 01000) != 0) text[8] = text[8] == 'x' ? 't' : 'T';
    return text;
  }
  static std::string Time(int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    if (gmtime_r(&time, &parts) == nullptr) return std::to_string(seconds);
    char text[64];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
  }
};

// The walk asks the tree only for its findings.
class NoVisitor final : public tar::TreeVisitor {
 public:
  Status OnDentry(const tar::Dentry&) override { return Status::Ok(); }
  Status OnFate(const tar::MemberFate&) override { return Status::Ok(); }
  Status OnDirectory(const tar::DirectoryFacts&) override { return Status::Ok(); }
};

struct WalkArguments {
  std::string archive;
  std::string scratch;
  bool json = false;
  bool ignore_zeros = false;
};

// Gives whether the archive has no error finding.
Result<bool> Walk(const WalkArguments& arguments, Listing* listing) {
  TARN_ASSIGN_OR_RETURN(const std::unique_ptr<io::RandomAccessFile> file, io::OpenFile(arguments.archive));
  TARN_ASSIGN_OR_RETURN(const io::FileStat stat, file->Stat());
  io::WindowReader reader(file.get(), stat.identity.size);
  tar::FindingList findings;
  tar::WalkOptions options;
  options.ignore_zeros = arguments.ignore_zeros;
  tar::HeaderWalker walker(&reader, &findings, options);
  tar::TreeOptions tree_options;
  tree_options.scratch_directory = arguments.scratch;
  tree_options.memory_bytes = kTreeMemory;
  tar::TreeBuilder tree(tree_options, &findings);

  tar::Member member;
  tar::Placement placement;
  while (true) {
    TARN_ASSIGN_OR_RETURN(const bool more, walker.Next(&member));
    if (!more) break;
    listing->OnMember(member);
    TARN_RETURN_IF_ERROR(tree.Add(member, &placement));
  }
  NoVisitor visitor;
  TARN_RETURN_IF_ERROR(tree.Finish(&visitor));
  for (const tar::Finding& finding : findings.kept()) listing->OnFinding(finding);
  listing->OnEnd(walker.members(), findings, walker.end_offset());
  return findings.errors() == 0;
}

}  // namespace

int RunWalk(const Program& program) {
  const std::unique_ptr<CLI::App> app = MakeCommandLine(
      "walk", "List the members of an archive as its headers have them, and what is odd about it.");
  WalkArguments arguments;
  arguments.scratch = program.Environment("TMPDIR").value_or("/tmp");
  app->add_option("ARCHIVE", arguments.archive, "Tar file")->required();
  app->add_flag("--json", arguments.json, "One JSON object a line: members, findings, a summary");
  app->add_flag("--ignore-zeros", arguments.ignore_zeros,
                "Read on behind end-of-archive markers, as for archives joined with cat");
  if (const std::optional<int> code = ParseCommandLine(app.get(), program); code) return *code;

  std::unique_ptr<Listing> listing;
  if (arguments.json) {
    listing = std::make_unique<JsonListing>(program.out);
  } else {
    listing = std::make_unique<PlainListing>(program.out);
  }
  const Result<bool> sound = Walk(arguments, listing.get());
  listing->Flush();
  program.out->flush();
  if (!sound.ok()) return program.Fail("tarn walk", sound.status());
  return static_cast<int>(*sound ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace tarn::cli

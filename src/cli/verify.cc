// tarn verify --reference: walks archives with Tarn's reader and with libarchive, and reports every
// difference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/random_access_file.h"
#include "tarn/tar/reference.h"

namespace tarn::cli {
namespace {

constexpr std::string_view kSuffix = ".tar";

struct VerifyArguments {
  std::vector<std::string> paths;
  bool reference = false;
  bool headers_only = false;
  bool json = false;
};

// The archives that `path` names: itself, or every *.tar below it, sorted.
Result<std::vector<std::string>> ArchivesOf(const std::string& path) {
  std::vector<std::string> found;
  if (!io::IsDirectory(path)) {
    found.push_back(path);
    return found;
  }
  TARN_ASSIGN_OR_RETURN(const std::shared_ptr<io::Source> source, io::OpenSource(path));
  std::vector<std::string> directories{""};
  while (!directories.empty()) {
    const std::string directory = std::move(directories.back());
    directories.pop_back();
    TARN_ASSIGN_OR_RETURN(const std::vector<io::DirectoryItem> items, source->List(directory));
    for (const io::DirectoryItem& item : items) {
      const std::string inside = io::JoinPath(directory, item.name);
      if (item.type == io::FileType::kDirectory) directories.push_back(inside);
      const bool tar = std::string_view(item.name).size() > kSuffix.size() && item.name.ends_with(kSuffix);
      if (item.type == io::FileType::kRegular && tar) found.push_back(io::JoinPath(path, inside));
    }
  }
  std::sort(found.begin(), found.end());
  if (found.empty()) {
    return Status(ErrorCode::kNotFound, "no file named *.tar below '" + path + "'")
        .WithHint("name an archive, or a directory that holds some");
  }
  return found;
}

void Print(const std::string& path, const tar::ReferenceReport& report, const VerifyArguments& arguments,
           std::ostream* out) {
  if (arguments.json) {
    for (const tar::Difference& difference : report.differences) {
      *out << nlohmann::json{{"difference",
                              {{"archive", EscapeName(path)},
                               {"offset", difference.offset},
                               {"member", EscapeName(difference.member)},
                               {"field", difference.field},
                               {"ours", difference.ours},
                               {"theirs", difference.theirs},
                               {"reason", difference.reason}}}}
                  .dump()
           << '\n';
    }
    *out << nlohmann::json{{"archive",
                            {{"path", EscapeName(path)},
                             {"members", report.members},
                             {"reference_members", report.reference_members},
                             {"explained", report.explained},
                             {"unexplained", report.unexplained}}}}
                .dump()
         << '\n';
    return;
  }
  for (const tar::Difference& difference : report.differences) {
    *out << fmt::format("{}: '{}' at {}: {}: tarn has '{}', {} '{}'; {}\n", EscapeName(path),
                        EscapeName(difference.member), difference.offset, difference.field, difference.ours,
                        tar::ReferenceName(), difference.theirs,
                        difference.reason.empty() ? "unexplained" : difference.reason);
  }
  *out << fmt::format("{}: {} members, {} of {}, {} differences explained, {} unexplained\n",
                      EscapeName(path), report.members, report.reference_members, tar::ReferenceName(),
                      report.explained, report.unexplained);
}

// Gives whether nothing is unexplained.
Result<bool> VerifyArchive(const std::string& path, const VerifyArguments& arguments, std::ostream* out) {
  TARN_ASSIGN_OR_RETURN(const std::unique_ptr<io::RandomAccessFile> file, io::OpenFile(path));
  TARN_ASSIGN_OR_RETURN(const io::FileStat stat, file->Stat());
  tar::ReferenceOptions options;
  options.compare_content = !arguments.headers_only;
  TARN_ASSIGN_OR_RETURN(const tar::ReferenceReport report,
                        tar::CompareWithReference(*file, stat.identity.size, options));
  Print(path, report, arguments, out);
  return report.unexplained == 0;
}

}  // namespace

int RunVerify(const Program& program) {
  const std::unique_ptr<CLI::App> app =
      MakeCommandLine("verify", "Hold archives against a second, independent reader.");
  VerifyArguments arguments;
  app->add_option("PATH", arguments.paths, "Tar files, or directories whose *.tar files are meant")
      ->required();
  app->add_flag("--reference", arguments.reference,
                "Walk each archive with libarchive too and report differences")
      ->required();
  app->add_flag("--headers-only", arguments.headers_only, "Compare headers, not the bytes of files");
  app->add_flag("--json", arguments.json, "One JSON object a line: differences, a summary of each archive");
  if (const std::optional<int> code = ParseCommandLine(app.get(), program); code) return *code;

  bool sound = true;
  for (const std::string& path : arguments.paths) {
    const Result<std::vector<std::string>> archives = ArchivesOf(path);
    if (!archives.ok()) return program.Fail("tarn verify", archives.status());
    for (const std::string& archive : *archives) {
      const Result<bool> same = VerifyArchive(archive, arguments, program.out);
      if (!same.ok()) return program.Fail("tarn verify", same.status());
      sound = sound && *same;
    }
  }
  program.out->flush();
  return static_cast<int>(sound ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace tarn::cli

// tarn verify NAME: whether the archives of a generation are where they were published, as they were.
// tarn verify --reference PATH: walks archives with Tarn's reader and with libarchive, and reports every
// difference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/dataset_path.h"
#include "cli/published_files.h"
#include "tarn/base/bytes.h"
#include "tarn/index/generation_reader.h"
#include "tarn/io/filesystem.h"
#include "tarn/io/random_access_file.h"
#include "tarn/tar/reference.h"

namespace tarn::cli {
namespace {

constexpr std::string_view kSuffix = ".tar";

struct VerifyArguments {
  std::vector<std::string> paths;  // or datasets
  PlaceOptions places;
  bool reference = false;
  bool headers_only = false;
  bool full = false;
  unsigned jobs = 1;
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

// ---- Generations

void Print(const std::string& generation, const FileVerdict& verdict, const VerifyArguments& arguments,
           std::ostream* out) {
  if (arguments.json) {
    *out << nlohmann::ordered_json{{"generation", generation},
                                   {"path", EscapeName(verdict.path)},
                                   {"archive_id", verdict.id.ToString()},
                                   {"state", FileStateName(verdict.state)},
                                   {"found", verdict.found}}
                .dump()
         << '\n';
  } else if (verdict.state != FileState::kAsPublished) {
    *out << fmt::format("{}:{}: {}: expected {}, {}\n", generation, EscapeName(verdict.path),
                        FileStateName(verdict.state), verdict.id.ToString(), verdict.found);
  }
}

// Gives whether every file is what was published, as far as was asked. A touched file is, and so is one of
// which the index root keeps a copy: they are served.
Result<bool> VerifyGeneration(const Config& config, const std::string& name, const VerifyArguments& arguments,
                              std::ostream* out) {
  const auto reference = index::DatasetReference::Parse(name);
  if (!reference.ok()) {
    return Status(reference.status())
        .WithHint("NAME, NAME@N or NAME@DIGEST; an archive is held against libarchive with --reference");
  }
  TARN_ASSIGN_OR_RETURN(const auto root, OpenIndexRoot(config, arguments.places));
  TARN_ASSIGN_OR_RETURN(const uint32_t number, root->Resolve(*reference));
  TARN_ASSIGN_OR_RETURN(const auto reader,
                        index::GenerationReader::Open(root->GenerationPath(reference->name, number)));
  TARN_ASSIGN_OR_RETURN(const auto sources, OpenSources(config, arguments.places));
  const std::string generation = fmt::format("{}@{}", reference->name, number);
  std::map<FileState, uint64_t> counts;
  uint64_t files = 0;
  TARN_ASSIGN_OR_RETURN(const auto kept, io::OpenSource(root->path()));
  TARN_RETURN_IF_ERROR(VerifyPublishedFiles(*reader, sources,
                                            {.full = arguments.full, .jobs = arguments.jobs, .kept = kept},
                                            [&](const FileVerdict& verdict) {
                                              ++files;
                                              ++counts[verdict.state];
                                              Print(generation, verdict, arguments, out);
                                            }));
  if (!arguments.json) {
    *out << fmt::format("{}: {} files{}\n", generation, files, arguments.full ? ", every byte read" : "");
    for (const auto& [state, count] : counts)
      *out << fmt::format("  {:<14}{}\n", FileStateName(state), count);
  }
  return counts[FileState::kAsPublished] + counts[FileState::kTouched] + counts[FileState::kKept] == files;
}

Result<bool> VerifyAll(const Program& program, const VerifyArguments& arguments) {
  bool sound = true;
  for (const std::string& path : arguments.paths) {
    if (!arguments.reference) {
      TARN_ASSIGN_OR_RETURN(const bool same, VerifyGeneration(Config(program), path, arguments, program.out));
      sound = sound && same;
      continue;
    }
    TARN_ASSIGN_OR_RETURN(const std::vector<std::string> archives, ArchivesOf(path));
    for (const std::string& archive : archives) {
      TARN_ASSIGN_OR_RETURN(const bool same, VerifyArchive(archive, arguments, program.out));
      sound = sound && same;
    }
  }
  return sound;
}

}  // namespace

int RunVerify(const Program& program) {
  const std::unique_ptr<CLI::App> app = MakeCommandLine(
      "verify", "Say whether the files of a dataset are where and what they were published as.");
  VerifyArguments arguments;
  arguments.jobs = std::max(1U, std::thread::hardware_concurrency());
  app->add_option("NAME", arguments.paths,
                  "NAME, NAME@N or NAME@DIGEST; with --reference: tar files, or directories that hold some")
      ->required();
  AddIndexOption(app.get(), &arguments.places);
  AddSourceOption(app.get(), &arguments.places);
  CLI::Option* const full = app->add_flag(
      "--full", arguments.full, "Read every byte, also of files whose size and time are as published");
  CLI::Option* const jobs = app->add_option("--jobs", arguments.jobs, "Files looked at at the same time")
                                ->check(CLI::Range(1U, 1024U))
                                ->type_name("N");
  CLI::Option* const reference =
      app->add_flag("--reference", arguments.reference,
                    "No dataset: walk each archive with libarchive too and report differences")
          ->excludes(full)
          ->excludes(jobs);
  app->add_flag("--headers-only", arguments.headers_only, "Compare headers, not the bytes of files")
      ->needs(reference);
  app->add_flag("--json", arguments.json, "One JSON object a line");
  if (const std::optional<int> code = ParseCommandLine(app.get(), program); code) return *code;

  const Result<bool> sound = VerifyAll(program, arguments);
  program.out->flush();
  if (!sound.ok()) return program.Fail("tarn verify", sound.status());
  return static_cast<int>(*sound ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace tarn::cli

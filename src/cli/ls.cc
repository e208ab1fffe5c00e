// tarn ls PATH...: what a directory of a dataset holds.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <ctime>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/dataset_path.h"
#include "tarn/base/bytes.h"
#include "tarn/io/filesystem.h"

namespace tarn::cli {
namespace {

struct LsArguments {
  std::vector<std::string> paths;
  PlaceOptions places;
  bool long_lines = false;
  bool recursive = false;
  bool json = false;
  bool null = false;
};

std::string Permissions(uint32_t mode) {
  std::string text = "-rwxrwxrwx";
  switch (mode & S_IFMT) {
    case S_IFDIR:
      text[0] = 'd';
      break;
    case S_IFLNK:
      text[0] = 'l';
      break;
    case S_IFCHR:
      text[0] = 'c';
      break;
    case S_IFBLK:
      text[0] = 'b';
      break;
    case S_IFIFO:
      text[0] = 'p';
      break;
    default:
      break;
  }
  for (size_t i = 0; i < 9; ++i) {
    if ((mode & (0400U >> i)) == 0) text[i + 1] = '-';
  }
  if ((mode & S_ISVTX) != 0) text[9] = text[9] == 'x' ? 't' : 'T';
  return text;
}

std::string Time(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return std::to_string(seconds);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}

class Lister {
 public:
  Lister(const LsArguments& arguments, std::ostream* out) : arguments_(arguments), out_(out) {}

  // `heading`: what several arguments are told apart by.
  Status List(const DatasetPaths::Target& target, const std::string& argument, bool heading);

 private:
  Status Print(const View& view, std::string_view name, const NodeFacts& facts);
  Result<std::string> LongLine(const View& view, std::string_view name, const NodeFacts& facts) const;
  Result<nlohmann::ordered_json> JsonLine(const View& view, std::string_view name,
                                          const NodeFacts& facts) const;

  const LsArguments& arguments_;
  std::ostream* const out_;
};

Result<std::string> Lister::LongLine(const View& view, std::string_view name, const NodeFacts& facts) const {
  const bool device = S_ISCHR(facts.mode) || S_ISBLK(facts.mode);
  std::string line = fmt::format(
      "{} {:>3} {:>5} {:>5} {:>12} {} {}", Permissions(facts.mode), facts.links, facts.uid, facts.gid,
      device ? fmt::format("{},{}", major(facts.device), minor(facts.device)) : std::to_string(facts.size),
      Time(facts.mtime), arguments_.null ? std::string(name) : EscapeName(name));
  if (facts.IsSymlink()) {
    TARN_ASSIGN_OR_RETURN(const std::string target, view.ReadLink(facts));
    line += " -> " + (arguments_.null ? target : EscapeName(target));
  }
  return line;
}

Result<nlohmann::ordered_json> Lister::JsonLine(const View& view, std::string_view name,
                                                const NodeFacts& facts) const {
  nlohmann::ordered_json line;
  line["name"] = EscapeName(name);
  line.update(BasicFacts(facts));
  if (facts.IsSymlink()) {
    TARN_ASSIGN_OR_RETURN(const std::string target, view.ReadLink(facts));
    line["link"] = EscapeName(target);
  }
  return line;
}

Status Lister::Print(const View& view, std::string_view name, const NodeFacts& facts) {
  std::string line;
  if (arguments_.json) {
    TARN_ASSIGN_OR_RETURN(const nlohmann::ordered_json json, JsonLine(view, name, facts));
    line = json.dump();
  } else if (arguments_.long_lines) {
    TARN_ASSIGN_OR_RETURN(line, LongLine(view, name, facts));
  } else {
    line = arguments_.null ? std::string(name) : EscapeName(name);
  }
  line += arguments_.null && !arguments_.json ? '\0' : '\n';
  out_->write(line.data(), static_cast<std::streamsize>(line.size()));
  return out_->good() ? Status::Ok() : Status(ErrorCode::kIo, "cannot write to the standard output");
}

Status Lister::List(const DatasetPaths::Target& target, const std::string& argument, bool heading) {
  const View& view = *target.view;
  TARN_ASSIGN_OR_RETURN(const NodeFacts top, view.Find(target.path, !arguments_.long_lines));
  if (!top.IsDirectory()) return Print(view, argument, top);
  if (heading && !arguments_.json && !arguments_.null) *out_ << EscapeName(argument) << ":\n";
  // Directories that are still to be listed, the next one last; each with its name below the argument.
  std::vector<std::pair<std::string, NodeFacts>> waiting = {{"", top}};
  while (!waiting.empty()) {
    const auto [below, directory] = std::move(waiting.back());
    waiting.pop_back();
    std::vector<std::pair<std::string, NodeFacts>> found;
    Status status;
    TARN_RETURN_IF_ERROR(view.List(directory, [&](std::string_view name, const NodeFacts& facts) {
      if (!status.ok()) return;
      std::string shown = io::JoinPath(below, name);
      status = Print(view, shown, facts);
      if (arguments_.recursive && facts.IsDirectory()) found.emplace_back(std::move(shown), facts);
    }));
    TARN_RETURN_IF_ERROR(std::move(status));
    waiting.insert(waiting.end(), std::make_move_iterator(found.rbegin()),
                   std::make_move_iterator(found.rend()));
  }
  return Status::Ok();
}

}  // namespace

int RunLs(const Program& program) {
  const auto app =
      MakeCommandLine("tarn ls", "List directories of a dataset, names in order of their bytes.");
  LsArguments arguments;
  app->add_option("PATH", arguments.paths, "NAME[@GENERATION]:PATH, or a path below a mount")->required();
  AddIndexOption(app.get(), &arguments.places);
  AddSourceOption(app.get(), &arguments.places);
  app->add_flag("-l,--long", arguments.long_lines, "Type, mode, links, owner, size and time (UTC) too");
  app->add_flag("-R,--recursive", arguments.recursive, "Everything below, with its path from PATH");
  app->add_flag("-0,--null", arguments.null, "Names as they are, each ended by a NUL, for xargs -0");
  app->add_flag("--json", arguments.json, "One JSON object a line");
  if (const auto code = ParseCommandLine(app.get(), program)) return *code;

  DatasetPaths paths(program, arguments.places, DatasetPaths::Sources::kIfNamed);
  Lister lister(arguments, program.out);
  int code = static_cast<int>(ExitCode::kOk);
  for (const std::string& argument : arguments.paths) {
    const auto target = paths.Open(argument);
    Status status = target.status();
    if (status.ok()) status = lister.List(*target, argument, arguments.paths.size() > 1);
    program.out->flush();
    if (!status.ok()) code = program.Fail("tarn ls", status);
  }
  return code;
}

}  // namespace tarn::cli

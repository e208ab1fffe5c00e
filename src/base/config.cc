#include "tarn/base/config.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace tarn {
namespace {

constexpr char kSystemFile[] = "/etc/tarn/tarn.conf";

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The file that the environment leads to; empty when there is none. A file named by TARN_CONFIG has to exist,
// which shows when it is read.
std::string FindFile(const Program& program) {
  if (const auto named = program.Environment("TARN_CONFIG")) return *named;
  std::vector<std::string> candidates;
  if (const auto xdg = program.Environment("XDG_CONFIG_HOME")) {
    candidates.push_back(*xdg + "/tarn/config");
  } else if (const auto home = program.Environment("HOME")) {
    candidates.push_back(*home + "/.config/tarn/config");
  }
  candidates.emplace_back(kSystemFile);
  for (const std::string& candidate : candidates) {
    std::error_code error;
    if (std::filesystem::exists(candidate, error)) return candidate;
  }
  return {};
}

Status BadLine(const std::string& origin, const std::string& problem) {
  return Status(ErrorCode::kInvalidArgument, "configuration " + origin + ": " + problem)
      .WithHint("lines are 'key = value' with the keys index and source; '#' starts a comment");
}

bool IsAbsolute(std::string_view value) {
  return value.starts_with('/') || value.find("://") != std::string_view::npos;
}

Status NobodySays(std::string_view what, std::string_view option, std::string_view variable,
                  const std::string& path) {
  std::string message = "no " + std::string(what) + " is named";
  if (!path.empty()) message += " (" + path + " names none)";
  return Status(ErrorCode::kInvalidArgument, std::move(message))
      .WithHint("give " + std::string(option) + ", set " + std::string(variable) + ", or write it to " +
                (path.empty() ? kSystemFile : path));
}

}  // namespace

std::string Setting::Describe() const {
  return "'" + value + "' (from " + origin + ")";
}

Status Setting::Explain(Status status) const {
  return std::move(status).WithContext("'" + value + "' from " + origin);
}

Config::Config(const Program& program)
    : environment_index_(program.Environment("TARN_INDEX")),
      environment_source_(program.Environment("TARN_SOURCE")),
      path_(FindFile(program)),
      file_(path_.empty() ? Result<File>(File()) : Read(path_)) {}

Result<Setting> Config::Index(const std::optional<std::string>& option) const {
  if (option) return Setting{*option, "--index"};
  if (environment_index_) return Setting{*environment_index_, "TARN_INDEX"};
  if (!file_.ok()) return file_.status();
  if (file_->index) return *file_->index;
  return NobodySays("index root", "--index", "TARN_INDEX", path_);
}

Result<std::vector<Setting>> Config::Sources(const std::vector<std::string>& options) const {
  std::vector<Setting> sources;
  for (const std::string& option : options) sources.push_back({option, "--source"});
  if (!sources.empty()) return sources;
  if (environment_source_) return std::vector<Setting>{{*environment_source_, "TARN_SOURCE"}};
  if (!file_.ok()) return file_.status();
  if (!file_->sources.empty()) return file_->sources;
  return NobodySays("source", "--source", "TARN_SOURCE", path_);
}

Result<Config::File> Config::Read(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  // An empty file sets failbit of `text`, which is no failure of reading.
  if (in.is_open()) text << in.rdbuf();
  if (!in.is_open() || in.bad()) {
    return Status::FromErrno(errno != 0 ? errno : EIO, "cannot read the configuration file '" + path + "'")
        .WithHint("TARN_CONFIG names another file");
  }
  return Parse(path, text.str());
}

Result<Config::File> Config::Parse(const std::string& path, std::string_view text) {
  File file;
  for (unsigned number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const std::string origin = path + ":" + std::to_string(number);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return BadLine(origin, "expected 'key = value', found '" + std::string(line) + "'");
    }
    TARN_RETURN_IF_ERROR(ParseLine(Trim(line.substr(0, equals)),
                                   Setting{std::string(Trim(line.substr(equals + 1))), origin}, &file));
  }
  return file;
}

Status Config::ParseLine(std::string_view key, Setting setting, File* file) {
  if (key != "index" && key != "source") {
    std::string problem = "unknown key '" + std::string(key) + "'";
    if (const auto meant = NearestMatch(key, {"index", "source"}))
      problem += ", did you mean '" + *meant + "'?";
    return BadLine(setting.origin, problem);
  }
  if (!IsAbsolute(setting.value)) {
    return BadLine(setting.origin,
                   "expected an absolute path for " + std::string(key) + ", found '" + setting.value + "'");
  }
  if (key == "source") {
    file->sources.push_back(std::move(setting));
  } else if (file->index) {
    return BadLine(setting.origin, "index is named a second time; first at " + file->index->origin);
  } else {
    file->index = std::move(setting);
  }
  return Status::Ok();
}

}  // namespace tarn

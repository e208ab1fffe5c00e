#include "fuse/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command_line.h"
#include "fuse/mount_options.h"

namespace tarn::fuse {
namespace {

constexpr const char* kName = "tarn-mount";
constexpr const char* kDescription =
    "Shows datasets of tar archives as files, read-only, at the directory MNT.\n"
    "\n"
    "  tarn-mount MNT --index ROOT --source DIR                      mounts; returns when the mount answers\n"
    "  tarn-mount MNT --index ROOT --source DIR --dataset NAME[@N]   one dataset alone\n"
    "  tarn-mount unmount MNT                                        unmounts\n"
    "  mount -t fuse.tarn NAME[@N]|none MNT -o index=ROOT,source=DIR the same through mount(8)\n";
constexpr const char* kFooter =
    "\nWhere the command line names no index root or no source, TARN_INDEX, TARN_SOURCE or the "
    "configuration\n"
    "file do. SIGINT or SIGTERM unmount and end the server.\n";

// The command line as it stands, before anything is made of it.
struct RawOptions {
  std::string mountpoint;
  std::optional<std::string> index;
  std::vector<std::string> sources;
  std::optional<std::string> dataset;
  dataset::AccessMode access = dataset::AccessMode::kArchive;
  std::optional<uint32_t> uid;
  std::optional<uint32_t> gid;
  std::string umask = "0";
  dataset::VerifyMode verify = dataset::VerifyMode::kStat;
  double identity_interval = 1.0;
  std::vector<std::string> searched;
  WatchMode watch = WatchMode::kShared;
  double retry_for = 30;
  uint64_t check_rate = uint64_t{64} << 20;
  std::optional<std::string> runtime_directory;
  std::optional<std::string> index_cache;
  bool no_index_cache = false;
  uint64_t index_cache_size = MountCommand().index_cache_bytes;
  int allow_other = 0;  // how often it was asked for; negative: refused
  bool no_exec = false;
  bool foreground = false;
  unsigned threads = SessionOptions().max_workers;
  double source_deadline = 300;
  uint64_t read_ahead = dataset::ReadAheadOptions().max_bytes;
  double unmount_grace = 10;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  std::string log_file;
};

// Checks that say in the help nothing of their own: the type's name says it already.
template <typename T>
CLI::Validator Words(std::vector<std::pair<std::string, T>> words) {
  CLI::CheckedTransformer check(std::move(words), CLI::ignore_case);
  check.description("");
  return check;
}

template <typename T>
CLI::Validator Between(T least, T most) {
  CLI::Range check(least, most);
  check.description("");
  return check;
}

void AddDatasetOptions(CLI::App* app, RawOptions* raw) {
  app->add_option("MNT", raw->mountpoint, "An empty directory")->type_name("")->required();
  app->add_option("--index", raw->index, "The index root")->type_name("ROOT");
  app->add_option("--source", raw->sources, "Where the datasets' bytes are; may be given more than once")
      ->type_name("DIR")
      ->expected(1)
      ->take_all();
  app->add_option(
         "--dataset", raw->dataset,
         "Show this one alone, at MNT itself: its newest generation, generation N, or the one with the "
         "digest; without it, every dataset of the index root as MNT/NAME and MNT/NAME@N")
      ->type_name("NAME[@N|@DIGEST]");
  app->add_option("--verify", raw->verify,
                  "stat: archives whose size and mtime are as published are served as they are; chunk: every "
                  "chunk is checked before its bytes leave")
      ->type_name("stat|chunk")
      ->transform(Words<dataset::VerifyMode>(
          {{"stat", dataset::VerifyMode::kStat}, {"chunk", dataset::VerifyMode::kChunk}}));
  app->add_option("--identity-interval", raw->identity_interval,
                  "Seconds after which an archive is looked at again before it is read; default 1")
      ->type_name("SECONDS")
      ->check(Between(0.0, 86400.0));
  app->add_option(
         "--search", raw->searched,
         "Look below DIR, too, for archives that are nowhere where they were published; may be given "
         "more than once")
      ->type_name("DIR")
      ->expected(1)
      ->take_all();
  app->add_option(
         "--watch", raw->watch,
         "How archives are known that nobody reads here. shared: by what 'tarn-index watch' wrote to "
         "the index root; local: by looking, slowly; none; default shared")
      ->type_name("shared|local|none")
      ->transform(Words<WatchMode>(
          {{"shared", WatchMode::kShared}, {"local", WatchMode::kLocal}, {"none", WatchMode::kNone}}));
  app->add_option("--check-rate", raw->check_rate,
                  "Bytes a second that are read to find out whether archives with another mtime are what was "
                  "published; 0: only what readers ask for is checked; default 64M")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false).description(""));
}

void AddAccessOptions(CLI::App* app, RawOptions* raw) {
  app->add_option(
         "--access", raw->access,
         "archive: whoever may read an archive may read its members; member: owner and mode of the tar; "
         "open: everyone may read; default archive")
      ->type_name("archive|member|open")
      ->transform(Words<dataset::AccessMode>({{"archive", dataset::AccessMode::kArchive},
                                              {"member", dataset::AccessMode::kMember},
                                              {"open", dataset::AccessMode::kOpen}}));
  app->add_option("--uid", raw->uid, "Show this user as the owner of everything")->type_name("UID");
  app->add_option("--gid", raw->gid, "Show this group as the group of everything")->type_name("GID");
  app->add_option("--umask", raw->umask, "Permission bits to take away, octal")->type_name("OCTAL");
  app->add_flag("--allow-other,!--no-allow-other", raw->allow_other,
                "Let other users use the mount; root's mounts do unless told otherwise, and a user's need "
                "'user_allow_other' in /etc/fuse.conf");
  app->add_flag("--no-exec", raw->no_exec, "Programs in the mount cannot be run");
}

void AddIndexCacheOptions(CLI::App* app, RawOptions* raw) {
  CLI::Option* const directory = app->add_option("--index-cache", raw->index_cache,
                                                 "Keep copies of the mounted generations of the index in DIR "
                                                 "on this machine, and read these; '' for "
                                                 "none; default /var/cache/tarn, or $XDG_CACHE_HOME/tarn, if "
                                                 "the index is on a network file system")
                                     ->type_name("DIR");
  app->add_flag("--no-index-cache", raw->no_index_cache, "Read the index root itself, wherever it is")
      ->excludes(directory);
  app->add_option("--index-cache-size", raw->index_cache_size,
                  "Most bytes of these copies; what was not used for longest goes first; default 8G")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false).description(""));
}

void AddServerOptions(CLI::App* app, RawOptions* raw) {
  app->add_flag("--foreground,-f", raw->foreground, "Stay in the foreground and log to standard error");
  app->add_option("--threads", raw->threads,
                  "Most requests answered at once; threads are started when they are needed; one source gets "
                  "at most half of them; default 128")
      ->type_name("N")
      ->check(Between(1u, 1024u));
  app->add_option("--read-ahead", raw->read_ahead,
                  "Most bytes read ahead of one reader that goes front to back; 0: none; default 8M")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false).description(""));
  app->add_option(
         "--source-deadline", raw->source_deadline,
         "Seconds that a request waits for a source before it fails with EIO; 0: for ever; default 300")
      ->type_name("SECONDS")
      ->check(Between(0.0, 31536000.0));
  app->add_option("--retry-for", raw->retry_for,
                  "Seconds for which reads are tried again while a source answers with an error (EIO, ESTALE "
                  "...); default 30")
      ->type_name("SECONDS")
      ->check(Between(0.0, 31536000.0));
  app->add_option("--runtime-dir", raw->runtime_directory,
                  "Keep for the next server what was found out about archives; '' for nothing; default "
                  "/run/tarn, or $XDG_RUNTIME_DIR/tarn")
      ->type_name("DIR");
  app->add_option("--unmount-grace", raw->unmount_grace,
                  "Seconds that programs with open files have to finish after SIGTERM; default 10")
      ->type_name("SECONDS")
      ->check(Between(0.0, 86400.0));
  app->add_option("--log-file", raw->log_file, "Append the log to FILE; otherwise it goes to the system log")
      ->type_name("FILE");
  app->add_option("--log-format", raw->log_format, "text or json")
      ->type_name("text|json")
      ->transform(Words<LogFormat>({{"text", LogFormat::kText}, {"json", LogFormat::kJson}}));
  app->add_option("--log-level", raw->log_level, "Lines below it are not written; default info")
      ->type_name("debug|info|warning|error")
      ->transform(Words<LogLevel>({{"debug", LogLevel::kDebug},
                                   {"info", LogLevel::kInfo},
                                   {"warning", LogLevel::kWarning},
                                   {"error", LogLevel::kError}}));
}

// Parses `arguments` in place of the program's own; an exit code when there is nothing more to do.
std::optional<int> Parse(CLI::App* app, const Program& program, std::vector<std::string> arguments) {
  Program with_arguments = program;
  with_arguments.arguments = std::move(arguments);
  return cli::ParseCommandLine(app, with_arguments);
}

Result<uint32_t> ParseUmask(const std::string& text) {
  if (!text.empty() && text.size() <= 5 && text.find_first_not_of("01234567") == std::string::npos) {
    const auto bits = static_cast<uint32_t>(std::stoul(text, nullptr, 8));
    if (bits <= 0777) return bits;
  }
  return Status(ErrorCode::kInvalidArgument,
                "--umask: expected octal permission bits from 0 to 777, found '" + text + "'");
}

// The server leaves its directory, so that a file system it was started in can be unmounted.
void MakeAbsolute(std::string* path) {
  if (path->empty() || path->front() == '/' || path->find("://") != std::string::npos) return;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(*path, error);
  if (!error) *path = absolute.lexically_normal().string();
}

// Where files go that live as long as the machine is up; empty when there is no such place.
std::string DefaultRuntimeDirectory(const Program& program) {
  if (geteuid() == 0) return "/run/tarn";
  const std::optional<std::string> users = program.Environment("XDG_RUNTIME_DIR");
  return users ? *users + "/tarn" : std::string();
}

// Where files go that may be made again; empty when there is no such place.
std::string DefaultIndexCache(const Program& program) {
  if (geteuid() == 0) return "/var/cache/tarn";
  if (const auto users = program.Environment("XDG_CACHE_HOME")) return *users + "/tarn";
  const std::optional<std::string> home = program.Environment("HOME");
  return home ? *home + "/.cache/tarn" : std::string();
}

Result<MountCommand> ToCommand(const Program& program, const RawOptions& raw) {
  MountCommand command;
  command.mountpoint = raw.mountpoint;
  const Config config(program);
  TARN_ASSIGN_OR_RETURN(command.index, config.Index(raw.index));
  TARN_ASSIGN_OR_RETURN(command.sources, config.Sources(raw.sources));
  if (raw.dataset) {
    TARN_ASSIGN_OR_RETURN(command.dataset, index::DatasetReference::Parse(*raw.dataset));
  }
  MakeAbsolute(&command.mountpoint);
  MakeAbsolute(&command.index.value);
  for (Setting& source : command.sources) MakeAbsolute(&source.value);

  command.tree.access = raw.access;
  command.tree.uid = raw.uid;
  command.tree.gid = raw.gid;
  TARN_ASSIGN_OR_RETURN(command.tree.umask, ParseUmask(raw.umask));
  command.verify = raw.verify;
  command.identity_interval = std::chrono::milliseconds(static_cast<int64_t>(raw.identity_interval * 1000));
  for (const std::string& directory : raw.searched) command.searched.push_back({directory, "--search"});
  for (Setting& directory : command.searched) MakeAbsolute(&directory.value);
  command.watch = raw.watch;
  command.retry_for = std::chrono::milliseconds(static_cast<int64_t>(raw.retry_for * 1000));
  command.check_bytes_per_second = raw.check_rate;
  command.runtime_directory = raw.runtime_directory.value_or(DefaultRuntimeDirectory(program));
  MakeAbsolute(&command.runtime_directory);
  command.index_cache = raw.no_index_cache ? std::optional<std::string>("") : raw.index_cache;
  if (command.index_cache) MakeAbsolute(&*command.index_cache);
  command.default_index_cache = DefaultIndexCache(program);
  command.index_cache_bytes = raw.index_cache_size;
  command.read_ahead.max_bytes = raw.read_ahead;
  command.allow_other = raw.allow_other != 0 ? raw.allow_other > 0 : geteuid() == 0;
  command.no_exec = raw.no_exec;
  command.foreground = raw.foreground;
  command.session.max_workers = raw.threads;
  command.session.initial_workers = std::min(command.session.initial_workers, raw.threads);
  command.session.deadline =
      std::chrono::milliseconds(static_cast<int64_t>(std::ceil(raw.source_deadline * 1000)));
  command.unmount_grace = std::chrono::milliseconds(static_cast<int64_t>(raw.unmount_grace * 1000));
  command.log = {.level = raw.log_level, .format = raw.log_format, .program = kName};
  command.log_file = raw.log_file;
  MakeAbsolute(&command.log_file);
  return command;
}

Command ParseUnmount(const Program& program) {
  UnmountCommand command;
  const auto app = cli::MakeCommandLine("tarn-mount unmount",
                                        "Unmounts what Tarn has mounted at MNT; its server then ends.");
  app->add_option("MNT", command.mountpoint, "Where it is mounted")->type_name("")->required();
  app->add_flag("--lazy", command.lazy,
                "Take a mount that is in use out of the tree; it ends when its last user is gone");
  if (const auto code = Parse(app.get(), program, {program.arguments.begin() + 1, program.arguments.end()})) {
    return Answered{*code};
  }
  return command;
}

}  // namespace

bool IsMountHelper(std::string_view program_name) {
  const size_t slash = program_name.rfind('/');
  return program_name.substr(slash == std::string_view::npos ? 0 : slash + 1).starts_with("mount.fuse");
}

Result<Command> ParseCommand(const Program& program, bool mount_helper) {
  const std::vector<std::string>& arguments = program.arguments;
  if (!mount_helper && !arguments.empty() && arguments.front() == "unmount") return ParseUnmount(program);
  RawOptions raw;
  const auto app = cli::MakeCommandLine(kName, kDescription);
  app->footer(kFooter);
  AddDatasetOptions(app.get(), &raw);
  AddAccessOptions(app.get(), &raw);
  AddServerOptions(app.get(), &raw);
  AddIndexCacheOptions(app.get(), &raw);
  // Taken apart before; here for --help alone.
  std::vector<std::string> ignored;
  app->add_option("-o", ignored, "Options in the form of mount(8): access=member,allow_other,...")
      ->type_name("OPTION[,OPTION...]");
  if (const auto code = Parse(app.get(), program, ExpandMountOptions(arguments, mount_helper))) {
    return Command(Answered{*code});
  }
  TARN_ASSIGN_OR_RETURN(MountCommand command, ToCommand(program, raw));
  return Command(std::move(command));
}

}  // namespace tarn::fuse

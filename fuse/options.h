// The command line of tarn-mount, in the three forms it comes in:
//
//     tarn-mount MNT --index ROOT --source DIR [--dataset NAME[@N|@digest]] [options]
//     mount.fuse.tarn NAME[@N|@digest]|none MNT [-o index=ROOT,source=DIR,...]     as mount(8) calls it
//     tarn-mount unmount MNT
//
// Every long option can be given as a mount option (`-o access=member`), and the options that every mount has
// (ro, nosuid, _netdev, x-systemd.* ...) are taken for what they are.
#ifndef TARN_FUSE_OPTIONS_H_
#define TARN_FUSE_OPTIONS_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fuse/archive_watch.h"
#include "fuse/session.h"
#include "tarn/base/config.h"
#include "tarn/base/log.h"
#include "tarn/base/program.h"
#include "tarn/base/result.h"
#include "tarn/dataset/archive_bytes.h"
#include "tarn/dataset/file_tree.h"
#include "tarn/index/index_root.h"

namespace tarn::fuse {

struct MountCommand {
  std::string mountpoint;
  Setting index;
  std::vector<Setting> sources;
  std::optional<index::DatasetReference> dataset;    // nothing: all of them
  std::chrono::milliseconds catalog_interval{2000};  // between two looks at which there are

  dataset::FileTreeOptions tree;
  dataset::VerifyMode verify = dataset::VerifyMode::kStat;
  std::chrono::milliseconds identity_interval{1000};
  std::vector<Setting> searched;           // directories in which archives are looked for that are gone
  std::chrono::milliseconds retry_for{0};  // how long a source that fails is tried again
  uint64_t check_bytes_per_second = 0;     // behind readers, of archives that were touched; 0: none
  WatchMode watch = WatchMode::kShared;
  std::string runtime_directory;  // empty: nothing is kept for a successor
  // Where copies of generations are kept; empty: nowhere. Nothing: in the default, where the index is on a
  // network file system.
  std::optional<std::string> index_cache;
  std::string default_index_cache;  // empty: there is no such place
  uint64_t index_cache_bytes = uint64_t{8} << 30;
  dataset::ReadAheadOptions read_ahead;

  bool allow_other = false;
  bool no_exec = false;
  bool foreground = false;
  SessionOptions session;
  std::chrono::milliseconds unmount_grace{10000};  // for those with open files, after a signal

  LogOptions log;
  std::string log_file;  // empty: standard error in the foreground, the system log otherwise
};

struct UnmountCommand {
  std::string mountpoint;
  bool lazy = false;
};

// Nothing is left to do: --help or --version was printed, or the command line is wrong and it was said how.
struct Answered {
  int exit_code = 0;
};

using Command = std::variant<MountCommand, UnmountCommand, Answered>;

// Whether the program was called under the name mount(8) calls it by.
bool IsMountHelper(std::string_view program_name);

// Reads the command line; index and sources come from the environment or the configuration file where it does
// not name them. kInvalidArgument when what it says does not make sense, with what is expected.
Result<Command> ParseCommand(const Program& program, bool mount_helper);

}  // namespace tarn::fuse

#endif  // TARN_FUSE_OPTIONS_H_

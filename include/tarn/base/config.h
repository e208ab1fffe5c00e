// Configuration: where the index root and the sources are, when the command line does not say.
//
// A setting is looked for in three places, and the first that has it wins:
//
//     1. the command line              --index, --source
//     2. the environment               TARN_INDEX, TARN_SOURCE
//     3. one configuration file        $TARN_CONFIG, else $XDG_CONFIG_HOME/tarn/config
//     (~/.config/tarn/config),
//                                      else /etc/tarn/tarn.conf: the first that exists, alone
//
// Every value carries its origin, so that an error can say which of them was wrong. The file is lines of
// `key = value`:
//
//     # The index root and the source roots of this cluster.
//     index  = /mnt/tarn-index
//     source = /mnt/datasets
//     source = /mnt/archive/datasets
//
// A line that starts with '#' is a comment; blanks around key and value do not count; the value is taken as
// it stands, without quotes or expansion. `index` stands once, `source` as often as there are sources, in the
// order in which they are tried. Paths are absolute: a file means the same whoever reads it from wherever.
#ifndef TARN_BASE_CONFIG_H_
#define TARN_BASE_CONFIG_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/program.h"
#include "tarn/base/result.h"

namespace tarn {

// A value and where it came from: "--index", "TARN_INDEX" or "/etc/tarn/tarn.conf:3".
struct Setting {
  std::string value;
  std::string origin;

  bool operator==(const Setting&) const = default;

  // "'/mnt/index' (from TARN_INDEX)": for messages.
  std::string Describe() const;
  // Says where the value came from in front of what went wrong with it. An ok Status stays ok.
  Status Explain(Status status) const;
};

class Config {
 public:
  // Finds and reads the configuration file that `program`'s environment leads to. A file that cannot be read
  // or is not well formed is an error of the settings that would have come from it, and of no other: a
  // command line that says everything never fails for a file.
  explicit Config(const Program& program);

  // The index root: `option` if the command line has it, then TARN_INDEX, then the file. kInvalidArgument,
  // with what helps, when nobody says.
  Result<Setting> Index(const std::optional<std::string>& option) const;
  // The source roots: `options` if the command line has any, then TARN_SOURCE (one), then all of the file.
  // kInvalidArgument when nobody says; at least one otherwise.
  Result<std::vector<Setting>> Sources(const std::vector<std::string>& options) const;

  // The file that was read, or would have been; empty when there is none.
  const std::string& path() const { return path_; }

 private:
  struct File {
    std::optional<Setting> index;
    std::vector<Setting> sources;
  };
  static Result<File> Read(const std::string& path);
  static Result<File> Parse(const std::string& path, std::string_view text);
  static Status ParseLine(std::string_view key, Setting setting, File* file);

  std::optional<std::string> environment_index_;
  std::optional<std::string> environment_source_;
  std::string path_;
  Result<File> file_;
};

}  // namespace tarn

#endif  // TARN_BASE_CONFIG_H_

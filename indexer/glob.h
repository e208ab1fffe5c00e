// Which files of a dataset's directory take part: --include, --exclude, --archive-glob.
//
// A pattern without '/' is held against the last component of a path, one with '/' against the whole path
// relative to the dataset. `*` and `?` stop at '/', `**` does not, `[a-z]` and `[!a-z]` name sets of bytes, a
// backslash takes the next byte as it is. Names are bytes.
#ifndef TARN_INDEXER_GLOB_H_
#define TARN_INDEXER_GLOB_H_

#include <string>
#include <string_view>
#include <vector>

namespace tarn::indexer {

bool GlobMatches(std::string_view pattern, std::string_view path);

struct Selection {
  std::vector<std::string> include;       // none: everything
  std::vector<std::string> exclude;       // beats include; an excluded directory is not entered
  std::vector<std::string> archive_glob;  // beside *.tar

  bool Enters(std::string_view directory) const;
  bool Selects(std::string_view file) const;
  // Whether the name says that the file is an archive; its first block has the last word.
  bool NamesArchive(std::string_view file) const;
};

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_GLOB_H_

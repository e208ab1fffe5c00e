// Which name each file of a dataset has in the tree that a reader sees.
//
//   - Directories and loose files are shown under their own names.
//   - An archive is shown as a directory: its name without ".tar"; as it is, when it does not end so or
//   nothing
//     but dots would be left.
//   - Where that name is taken the archive is shown as "x.tar.members", and a note says so. Archives give way
//     to directories and loose files, those that lose a suffix to those that do not, and the later path to
//     the earlier.
#ifndef TARN_DATASET_SHOWN_NAMES_H_
#define TARN_DATASET_SHOWN_NAMES_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/base/result.h"

namespace tarn::dataset {

// The longest name a file system can show (NAME_MAX).
inline constexpr size_t kMaxNameBytes = 255;

// The name of an archive called `file_name` where nothing else wants it.
std::string_view ArchiveDirectoryName(std::string_view file_name);

// Names archives of one directory in turn. `taken` holds what is there already and is added to.
// kUnsupported: the name that is free is longer than kMaxNameBytes. A note is added for an archive whose
// first choice was taken.
Result<std::string> NameArchive(std::string_view path, std::set<std::string, std::less<>>* taken,
                                std::vector<std::string>* notes);

}  // namespace tarn::dataset

#endif  // TARN_DATASET_SHOWN_NAMES_H_

// The scan: what lies in a dataset's directory.
//
// Directories are listed recursively; every file that takes part is stat'ed. Symbolic links are followed to
// files, never out of the source root, and never to directories, so there are no circles. Nothing is opened.
#ifndef TARN_INDEXER_SCANNER_H_
#define TARN_INDEXER_SCANNER_H_

#include <string>
#include <vector>

#include "indexer/glob.h"
#include "indexer/left_out.h"
#include "tarn/base/result.h"
#include "tarn/io/random_access_file.h"

namespace tarn::indexer {

struct ScannedFile {
  std::string path;  // relative to the dataset's directory
  io::FileStat stat;
};

struct Scan {
  std::vector<ScannedFile> files;  // in order of path bytes
  std::vector<LeftOut> left_out;   // what could not be listed or looked at
  std::vector<std::string> notes;  // one line each: what is passed over by rule
};

// Scans `dataset`, the path of the dataset's directory in `source`. Fails when that directory itself cannot
// be listed, or when a signal asked to stop.
Result<Scan> ScanDataset(const io::Source& source, const std::string& dataset, const Selection& selection);

}  // namespace tarn::indexer

#endif  // TARN_INDEXER_SCANNER_H_
